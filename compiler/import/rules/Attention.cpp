// Rules of Attention and RotaryEmbedding of ONNX's own domain.
#include "compiler/graph/SizeMath.h"
#include "compiler/import/rules/AttentionParts.h"
#include <cmath>

using namespace mlir;

namespace fathom::importer {
namespace {

class OnnxAttention {
public:
  explicit OnnxAttention(Node &node) : node(node) {}

  LogicalResult run() {
    isFlat = node.rank(0) == 3;
    int64_t heads = node.intAttr("q_num_heads", 0), groups = node.intAttr("kv_num_heads", 0);
    query = headsFirst(0, heads), key = headsFirst(1, groups), value = headsFirst(2, groups);
    if (!query || !key || !value)
      return failure();
    if (node.hasInput(4) != node.hasInput(5) || (node.hasInput(4) && node.hasInput(6)))
      return node.error(ErrorCode::BadGraph) << "past_key and past_value go together, and not with nonpad_kv_seqlen";
    if (node.hasInput(4)) {
      past = graph::sizesOf(node.input(4)).size() == 4 ? graph::sizesOf(node.input(4))[2] : AffineExpr();
      key = node.emit("Concat", {node.input(4), key}, node.attr("axis", 2), "present_key");
      value = node.emit("Concat", {node.input(5), value}, node.attr("axis", 2), "present_value");
      if (!past || !key || !value)
        return failure();
    }
    graph::Sizes q = graph::sizesOf(query), k = graph::sizesOf(key), v = graph::sizesOf(value);
    batch = q[0], sequence = q[2], length = k[2];
    AffineExpr shared = graph::size::exactDiv(q[1], k[1]);
    std::optional<int64_t> columns = graph::constantSize(q[3]);
    if (!shared && graph::constantSize(q[1]) && graph::constantSize(k[1]))
      return node.error(ErrorCode::BadShape) << node.type() << " has a query " << node.inputText(0) << " and a key "
                                             << node.inputText(1) << ", whose heads do not divide those of the query";
    if (!shared || !columns)
      return hint(node.error(ErrorCode::UnsupportedShape)
                      << node.type() << " needs known numbers of heads and columns, but its query is "
                      << node.inputText(0) << " and its key " << node.inputText(1),
                  "give these sizes with --dim");
    double scale = node.hasAttr("scale") ? node.floatAttr("scale", 0) : 1 / std::sqrt(double(*columns));
    double softcap = node.floatAttr("softcap", 0);
    int64_t mode = node.intAttr("qk_matmul_output_mode", 0);
    Type element = node.elementType(0), precise = node.typeAttr("softmax_precision");
    if (failed(findMask()))
      return failure();

    // The heads that share keys are rows of one product.
    AffineExpr rows = graph::size::mul(shared, sequence);
    Value scaled = withNumber(node, "Mul", query, scale, "scaled");
    Value scores = node.emit(
        "MatMul",
        {reshapeTo(node, scaled, {batch, k[1], rows, q[3]}, "rows"), transpose(node, key, {0, 1, 3, 2}, "columns")}, {},
        "products");
    SmallVector<Value> stages{reshapeTo(node, scores, {batch, q[1], sequence, length}, "scores")};
    auto last = [&] { return stages.back(); };
    stages.push_back(
        softcap > 0 ? withNumber(node, "Mul",
                                 node.emit("Tanh", withNumber(node, "Div", last(), softcap, "capped"), {}, "capped"),
                                 softcap, "capped")
                    : last());
    Value masked = bias ? node.emit("Add", {last(), bias}, {}, "biased") : last();
    if (visible)
      masked = node.emit("Where", {visible, masked, node.scalar(-INFINITY, element, "hidden")}, {}, "masked");
    stages.push_back(masked);
    Value shares = precise && precise != element ? castAs(node, last(), precise, "precise") : last();
    shares = node.emit("Softmax", shares, node.attr("axis", -1), "shares");
    if (precise && precise != element)
      shares = castAs(node, shares, element, "shares");
    // Who sees nothing takes nothing.
    Value zero = node.scalar(0, element, "zero");
    if (visible)
      shares = node.emit("Where", {visible, shares, zero}, {}, "shares");
    if (bias) {
      Value isHidden = node.emit("Equal", {bias, node.scalar(-INFINITY, element, "hidden")}, {}, "is_hidden");
      shares = node.emit("Where", {isHidden, zero, shares}, {}, "shares");
    }
    stages.push_back(shares);
    if (mode < 0 || mode > 3)
      return node.error(ErrorCode::BadAttribute) << "qk_matmul_output_mode " << mode;
    Value mixed =
        node.emit("MatMul", {reshapeTo(node, shares, {batch, k[1], rows, length}, "shares"), value}, {}, "mixed");
    Value result = reshapeTo(node, mixed, {batch, q[1], sequence, v[3]}, isFlat ? "heads" : "");
    if (isFlat) {
      AffineExpr wide = graph::size::mul(q[1], v[3]);
      result = result ? transpose(node, result, {0, 2, 1, 3}, "by_position") : Value();
      result = reshapeTo(node, result, {batch, sequence, wide}, "");
    }
    return node.finish({result, key, value, stages[mode]});
  }

private:
  // An input as [batch, heads, sequence, columns]; null after a report.
  Value headsFirst(unsigned index, int64_t heads) {
    if (!isFlat)
      return sizesOfRank(node, node.input(index), 4, "an input") ? node.input(index) : Value();
    if (!sizesOfRank(node, node.input(index), 3, "an input"))
      return {};
    Value split = splitHeads(node, node.input(index), heads, "split");
    return split ? transpose(node, split, {0, 2, 1, 3}, "by_head") : Value();
  }

  void see(Value condition) { visible = visible ? node.emit("And", {visible, condition}, {}, "visible") : condition; }

  // What is added to the scores, and which of them count.
  LogicalResult findMask() {
    int64_t isCausal = node.intAttr("is_causal", 0), left = node.intAttr("left_window_size", -1),
            right = node.intAttr("right_window_size", -1);
    if (left < -1 || right < -1)
      return node.error(ErrorCode::BadAttribute) << "a window of size " << std::min(left, right);
    if (node.hasInput(3)) {
      Value mask = padded(node.input(3));
      bool isBool = node.elementType(3).isInteger(1);
      if (!isBool && node.elementType(3) != node.elementType(0))
        return node.error(ErrorCode::BadType) << "attn_mask is of type " << graph::elementText(node.elementType(3));
      (isBool ? visible : bias) = mask;
      if (!mask)
        return failure();
    }
    Value lengths;
    if (node.hasInput(6)) {
      AffineExpr one = getAffineConstantExpr(1, node.context());
      lengths = reshapeTo(node, castAs(node, node.input(6), node.builder().getI64Type(), "lengths"),
                          {batch, one, one, one}, "lengths");
    }
    if (!isCausal && left < 0 && right < 0 && !lengths)
      return success();
    Value keys = countUp(node, length, "keys");
    if (lengths)
      see(node.emit("Less", {keys, lengths}, {}, "is_filled"));
    if (isCausal || left >= 0 || right >= 0) {
      // The position of a query among the keys.
      Value place = node.emit("Unsqueeze", {countUp(node, sequence, "queries"), node.ints({1}, "axis")}, {}, "queries");
      if (past)
        place = node.emit("Add", {place, node.sizesValue({past}, /*isScalar=*/true, "past")}, {}, "place");
      if (lengths)
        place = node.emit(
            "Add",
            {place, node.emit("Sub", {lengths, node.sizesValue({sequence}, /*isScalar=*/true, "count")}, {}, "before")},
            {}, "place");
      if (isCausal)
        see(node.emit("LessOrEqual", {keys, place}, {}, "is_before"));
      if (right >= 0)
        see(node.emit("LessOrEqual", {keys, withNumber(node, "Add", place, right, "to")}, {}, "is_before"));
      if (left >= 0)
        see(node.emit("GreaterOrEqual", {keys, withNumber(node, "Sub", place, left, "from")}, {}, "is_near"));
    }
    return success(visible != nullptr);
  }

  // A mask that says nothing about the last keys hides them.
  Value padded(Value mask) {
    graph::Sizes sizes = graph::sizesOf(mask);
    AffineExpr missing = sizes.empty() ? AffineExpr() : graph::size::sub(length, sizes.back());
    if (!missing || graph::isConstant(missing, 0) || graph::size::lowerBound(missing, node.symbols()).value_or(-1) < 0)
      return mask;
    SmallVector<AffineExpr> pads(2 * sizes.size(), getAffineConstantExpr(0, node.context()));
    pads.back() = missing;
    Type element = cast<RankedTensorType>(mask.getType()).getElementType();
    Value fill = node.scalar(element.isInteger(1) ? 0 : -INFINITY, element, "fill");
    return node.emit("Pad", {mask, node.sizesValue(pads, false, "pads"), fill}, {}, "padded");
  }

  Node &node;
  bool isFlat = false;
  Value query, key, value, bias, visible;
  AffineExpr batch, sequence, length, past;
};

LogicalResult attention(Node &node) { return OnnxAttention(node).run(); }

// Without positions the tables have a row for every token already.
LogicalResult rotaryEmbedding(Node &node) {
  int64_t heads = node.intAttr("num_heads", 0), dim = node.intAttr("rotary_embedding_dim", 0);
  Rotation rotation{node.input(1), node.input(2), node.input(3), node.intAttr("interleaved", 0) != 0};
  bool areHeadsFirst = node.rank(0) == 4;
  std::optional<graph::Sizes> sizes = sizesOfRank(node, node.input(0), areHeadsFirst ? 4 : 3, "the input");
  std::optional<graph::Sizes> table = sizesOfRank(node, rotation.cos, node.hasInput(3) ? 2 : 3, "cos_cache");
  if (!sizes || !table)
    return failure();
  std::optional<int64_t> half = graph::constantSize(table->back());
  if (dim > 0 && half && 2 * *half != dim)
    return node.error(ErrorCode::BadShape)
           << "rotary_embedding_dim is " << dim << ", but cos_cache has " << *half << " columns, not half of it";
  if (!node.hasInput(3)) {
    AffineExpr tokens = graph::size::mul((*table)[0], (*table)[1]);
    for (Value *each : {&rotation.cos, &rotation.sin})
      *each = reshapeTo(node, *each, {tokens, table->back()}, "table");
    rotation.positions = reshapeTo(node, countUp(node, tokens, "tokens"), {(*table)[0], (*table)[1]}, "positions");
  }
  Value input = areHeadsFirst ? node.input(0) : splitHeads(node, node.input(0), heads, "split");
  if (!input || !rotation.cos || !rotation.sin || !rotation.positions)
    return failure();
  Value rotated = rotate(node, input, rotation, areHeadsFirst, areHeadsFirst ? "" : "rotated");
  return node.finish(areHeadsFirst ? rotated : reshapeTo(node, rotated, *sizes, ""));
}

} // namespace

ArrayRef<Rule> attentionRules() {
  static constexpr Rule rules[] = {{"Attention", 3, 7, attention}, {"RotaryEmbedding", 3, 4, rotaryEmbedding}};
  return rules;
}

} // namespace fathom::importer
