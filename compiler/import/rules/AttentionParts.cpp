// The pieces of graph that all operators of attention are made of.
#include "compiler/import/rules/AttentionParts.h"
#include "compiler/graph/SizeMath.h"
#include <cmath>

using namespace mlir;

namespace fathom::importer {

std::optional<graph::Sizes> sizesOfRank(Node &node, Value value, int64_t rank, StringRef name) {
  int64_t given = cast<RankedTensorType>(value.getType()).getRank();
  if (given == rank)
    return graph::sizesOf(value);
  node.error(ErrorCode::BadShape) << name << " of " << node.type() << " must have rank " << rank << ", but has "
                                  << given;
  return std::nullopt;
}

Value splitHeads(Node &node, Value input, int64_t heads, StringRef suffix) {
  std::optional<graph::Sizes> sizes = sizesOfRank(node, input, 3, suffix);
  if (!sizes)
    return {};
  std::optional<int64_t> columns = graph::constantSize((*sizes)[2]);
  std::string text = node.text(input.getType());
  if (!columns && heads >= 1) {
    hint(node.error(ErrorCode::UnsupportedShape)
             << suffix << " of " << node.type() << " is " << text
             << ", whose columns must be known to be divided among " << heads << " heads",
         "give the last size with --dim");
    return {};
  }
  if (heads < 1 || *columns % heads != 0) {
    node.error(ErrorCode::BadShape) << suffix << " of " << node.type() << " is " << text
                                    << ", whose columns cannot be divided among " << heads << " heads";
    return {};
  }
  return reshapeTo(node, input, {(*sizes)[0], (*sizes)[1], constant(node, heads), constant(node, *columns / heads)},
                   suffix);
}

// Each pair of columns (x, y) becomes (x cos - y sin, y cos + x sin). The pairs are a dimension of two, which reversed
// gives every column its partner: nothing is copied, and the signs are in the table, where they fold.
Value rotate(Node &node, Value input, const Rotation &rotation, bool areHeadsFirst, StringRef suffix) {
  graph::Sizes sizes = graph::sizesOf(input);
  std::optional<graph::Sizes> table = sizesOfRank(node, rotation.cos, 2, "cos_cache");
  std::optional<int64_t> half = table ? graph::constantSize((*table)[1]) : std::nullopt,
                         columns = graph::constantSize(sizes[3]);
  if (!table)
    return {};
  if (!half || !columns) {
    hint(node.error(ErrorCode::UnsupportedShape)
             << "the columns of a head and of the sine and cosine tables of " << node.type()
             << " must be known, but they are " << node.text(input.getType()) << " and "
             << node.text(rotation.cos.getType()),
         "give the last sizes with --dim");
    return {};
  }
  if (graph::sizesOf(rotation.sin) != *table || *half < 1 || 2 * *half > *columns) {
    node.error(ErrorCode::BadShape) << "the sine and cosine tables of " << node.type()
                                    << " must be matrices of the same size, with at most half the columns of a head";
    return {};
  }
  Value part = 2 * *half == *columns ? input : importer::part(node, input, 3, 0, 2 * *half, "rotated_columns");
  int64_t two = rotation.isInterleaved ? 4 : 3, one = rotation.isInterleaved ? 3 : 4;
  graph::Sizes paired(ArrayRef(sizes).take_front(3));
  paired.resize(5);
  paired[two] = constant(node, 2), paired[one] = constant(node, *half);
  Value pairs = reshapeTo(node, part, paired, "pairs");
  Value swapped = node.emit("Slice",
                            {pairs, node.ints({-1}, "last"), node.ints({INT64_MIN}, "first"), node.ints({two}, "axis"),
                             node.ints({-1}, "step")},
                            {}, "swapped");
  // The rows of a table at the positions, of shape (batch, 1, sequence, ...) or (batch, sequence, 1, ...).
  auto rows = [&](Value table, StringRef name) {
    Value chosen = node.emit("Gather", {table, rotation.positions}, node.attr("axis", int64_t(0)), name);
    return node.emit("Unsqueeze", {chosen, node.ints({areHeadsFirst ? 1 : 2}, "head_axis")}, {}, name);
  };
  Value axis = node.ints({two - 2}, "pair_axis");
  Value cos = node.emit("Unsqueeze", {rotation.cos, axis}, {}, "cos");
  Value sin = node.emit("Unsqueeze", {rotation.sin, axis}, {}, "sin");
  Value signedSin =
      node.emit("Concat", {node.emit("Neg", sin, {}, "minus_sin"), sin}, node.attr("axis", two - 2), "signed_sin");
  Value straight = node.emit("Mul", {pairs, rows(cos, "cos_rows")}, {}, "straight");
  Value crossed = node.emit("Mul", {swapped, rows(signedSin, "sin_rows")}, {}, "crossed");
  Value turned = node.emit("Add", {straight, crossed}, {}, "turned");
  if (2 * *half == *columns)
    return reshapeTo(node, turned, sizes, suffix);
  graph::Sizes narrow = sizes;
  narrow[3] = constant(node, 2 * *half);
  return node.emit("Concat",
                   {reshapeTo(node, turned, narrow, "rotated"),
                    importer::part(node, input, 3, 2 * *half, *columns, "other_columns")},
                   node.attr("axis", int64_t(3)), suffix);
}

// shares * values. A product packs the values first, which for few rows takes longer than the rest and amounts to a
// copy of the cache; a sum reads them where they lie.
static Value mix(Node &node, Value shares, Value values) {
  constexpr int64_t fewRows = 8;
  AffineExpr count = graph::sizesOf(shares)[2];
  auto asProduct = [&] { return node.emit("MatMul", {shares, values}, {}, "mixed"); };
  auto asSum = [&] {
    Value each = node.emit("Unsqueeze", {shares, node.ints({4}, "column")}, {}, "each");
    Value terms =
        node.emit("Mul", {each, node.emit("Unsqueeze", {values, node.ints({2}, "row")}, {}, "of_all")}, {}, "terms");
    return node.emit("ReduceSum", {terms, node.ints({3}, "positions")}, node.attr("keepdims", int64_t(0)), "mixed");
  };
  if (std::optional<int64_t> known = graph::constantSize(count))
    return *known <= fewRows ? asSum() : asProduct();
  if (graph::size::isAtLeast(count, constant(node, fewRows + 1), node.symbols()))
    return asProduct();
  Value areFew = node.emit(
      "LessOrEqual",
      {node.sizesValue({count}, true, "row_count"), node.scalar(fewRows, node.builder().getI64Type(), "few_rows")}, {},
      "are_few");
  auto either = node.branch(areFew, [&](bool isFew) -> FailureOr<SmallVector<Value>> {
    Value made = isFew ? asSum() : asProduct();
    if (!made)
      return failure();
    return SmallVector<Value>{made};
  });
  return failed(either) ? Value() : either->front();
}

Value attend(Node &node, const Attention &a, StringRef suffix) {
  graph::Sizes query = graph::sizesOf(a.query), key = graph::sizesOf(a.key), value = graph::sizesOf(a.value);
  std::optional<int64_t> heads = graph::constantSize(query[2]), groups = graph::constantSize(key[1]),
                         columns = graph::constantSize(query[3]), wide = graph::constantSize(value[3]);
  if (!heads || !groups || !columns || !wide || *groups < 1 || *heads % *groups != 0) {
    node.error(ErrorCode::BadShape) << node.type() << " needs a known number of heads, a multiple of that of the keys";
    return {};
  }
  AffineExpr batch = query[0], sequence = query[1], length = key[2], group = constant(node, *heads / *groups);
  // The heads of a group share keys, so that they are rows of one product.
  Value rows = reshapeTo(node, a.query, {batch, sequence, key[1], group, query[3]}, "grouped");
  double scale = a.scale != 0 ? a.scale : 1 / std::sqrt(double(*columns));
  rows = withNumber(node, "Mul", rows, scale, "scaled");
  // Queries are the columns of this product: those are packed first, and the keys, of which there are many more, are
  // read where they lie.
  AffineExpr count = graph::size::mul(group, sequence);
  rows = rows ? transpose(node, rows, {0, 2, 4, 3, 1}, "by_head") : Value();
  rows = reshapeTo(node, rows, {batch, key[1], query[3], count}, "columns");
  Value scores = node.emit("MatMul", {a.key, rows}, {}, "products");
  scores = scores ? transpose(node, scores, {0, 1, 3, 2}, "by_query") : Value();
  scores = reshapeTo(node, scores, {batch, key[1], group, sequence, length}, "scores");
  if (a.softcap > 0) {
    scores = node.emit("Tanh", withNumber(node, "Div", scores, a.softcap, "relative"), {}, "tanh");
    scores = withNumber(node, "Mul", scores, a.softcap, "capped");
  }
  if (a.bias)
    scores = node.emit("Add", {scores, a.bias}, {}, "biased");
  if (a.visible && scores)
    scores = node.emit("Where", {a.visible, scores, node.scalar(-INFINITY, elementOf(scores), "hidden")}, {}, "masked");
  if (a.sink && scores) {
    Value sinks =
        reshapeTo(node, a.sink, {constant(node, 1), key[1], group, constant(node, 1), constant(node, 1)}, "sink");
    Value sizes = node.sizesValue({batch, key[1], group, sequence, constant(node, 1)}, false, "sink_sizes");
    sinks = node.emit("Expand", {sinks, sizes}, {}, "sinks");
    scores = node.emit("Concat", {scores, sinks}, node.attr("axis", int64_t(4)), "with_sink");
  }
  Value shares = node.emit("Softmax", scores, node.attr("axis", int64_t(-1)), "shares");
  if (a.sink && shares)
    shares = node.emit(
        "Slice", {shares, node.ints({0}, "from"), node.sizesValue({length}, false, "length"), node.ints({4}, "axis")},
        {}, "kept");
  shares = reshapeTo(node, shares, {batch, key[1], count, length}, "share_rows");
  Value mixed = shares ? mix(node, shares, a.value) : Value();
  mixed = reshapeTo(node, mixed, {batch, query[2], sequence, value[3]}, "heads");
  mixed = mixed ? transpose(node, mixed, {0, 2, 1, 3}, "by_position") : Value();
  return reshapeTo(node, mixed, {batch, sequence, constant(node, *heads * *wide)}, suffix);
}

} // namespace fathom::importer
