// ConcatFromSequence and SplitToSequence of any number of parts: a tensor seen as [outer, axis, inner], and where each
// of its values lies when the parts along the axis are stored one after another.
#include "compiler/graph/Graph.h"
#include "compiler/graph/SizeMath.h"
#include "compiler/import/node/Normalize.h"
#include "compiler/import/rules/Parts.h"
#include "compiler/import/sequence/Sequence.h"

using namespace mlir;

namespace fathom::importer {
namespace {

Value add(Node &node, Value a, Value b, StringRef suffix) { return node.emit("Add", {a, b}, {}, suffix); }
Value sub(Node &node, Value a, Value b, StringRef suffix) { return node.emit("Sub", {a, b}, {}, suffix); }
Value mul(Node &node, Value a, Value b, StringRef suffix) { return node.emit("Mul", {a, b}, {}, suffix); }
Value unsqueeze(Node &node, Value value, ArrayRef<int64_t> axes, StringRef suffix) {
  return node.emit("Unsqueeze", {value, node.ints(axes, "axes")}, {}, suffix);
}
Value boolVector(Node &node, ArrayRef<bool> values, StringRef suffix) {
  auto type = RankedTensorType::get({int64_t(values.size())}, node.builder().getI1Type());
  return node.constant(DenseElementsAttr::get(type, values), suffix);
}
Value sum(Node &node, Value value, ArrayRef<int64_t> axes, StringRef suffix) {
  return node.emit("ReduceSum", {value, node.ints(axes, "axes")}, node.attr("keepdims", int64_t(0)), suffix);
}

// For every index along the axis, where the part that it lies in begins and how long that is.
struct Parts {
  Value begin, length;
};
Parts partsAlong(Node &node, Value lengths, AffineExpr size) {
  Value ends = node.emit("CumSum", {lengths, node.ints({0}, "axis")}, {}, "ends");
  Value isBehind = node.emit("LessOrEqual",
                             {ends ? unsqueeze(node, ends, {1}, "ends") : Value(),
                              unsqueeze(node, countUp(node, size, "along"), {0}, "along")},
                             {}, "is_behind");
  Value owner =
      isBehind ? sum(node, castAs(node, isBehind, node.builder().getI64Type(), "behind"), {0}, "owner") : Value();
  Value begins = sub(node, ends, lengths, "begins");
  return {node.emit("Gather", {begins, owner}, {}, "begin"), node.emit("Gather", {lengths, owner}, {}, "length")};
}

struct Extent {
  AffineExpr outer, axis, inner;
};
std::optional<Extent> extentOf(Node &node, ArrayRef<AffineExpr> sizes, int64_t axis) {
  Extent extent{graph::product(sizes.take_front(axis), node.context()), sizes[axis],
                graph::product(sizes.drop_front(axis + 1), node.context())};
  if (extent.outer && extent.inner)
    return extent;
  node.error(ErrorCode::UnsupportedShape) << "the sizes of " << node.type() << " are too complex";
  return std::nullopt;
}

// Moves dimension `from` to `to`.
Value moveAxis(Node &node, Value value, int64_t from, int64_t to, StringRef suffix) {
  int64_t rank = cast<RankedTensorType>(value.getType()).getRank();
  SmallVector<int64_t> perm;
  for (int64_t d = 0; d < rank; ++d)
    if (d != from)
      perm.push_back(d);
  perm.insert(perm.begin() + to, from);
  return node.emit("Transpose", value, node.attr("perm", node.builder().getDenseI64ArrayAttr(perm)), suffix);
}

Value concatList(Node &node, graph::ListedOp list, int64_t axis, bool isNewAxis) {
  SmallVector<Value> parts(list.getElements());
  if (isNewAxis)
    for (Value &part : parts)
      part = unsqueeze(node, part, {axis}, "part");
  return node.emit("Concat", parts, node.attr("axis", axis));
}

} // namespace

Value concatSequence(Node &node, Value sequence, int64_t axis, bool isNewAxis) {
  if (isEmptyList(node, sequence))
    return {};
  AffineExpr length = lengthOf(node, sequence);
  std::optional<int64_t> rank = rankOf(node, sequence);
  if (!rank) {
    node.error(ErrorCode::UnsupportedShape) << "how many dimensions the sequence's elements have is not known here";
    return {};
  }
  std::optional<int64_t> where = graph::normalizeAxis(axis, *rank + isNewAxis);
  if (!where) {
    node.error(ErrorCode::BadAttribute) << "axis " << axis << " is out of range for elements of rank " << *rank;
    return {};
  }
  if (auto list = sequence.getDefiningOp<graph::ListedOp>())
    return concatList(node, list, *where, isNewAxis);
  Packed parts = pack(node, sequence, *rank);
  if (!parts)
    return {};
  assertNotNegative(node, graph::size::add(length, -1), "the sequence is empty");
  Value zero = node.scalar(0, node.builder().getI64Type(), "zero");
  Value first = node.emit("Gather", {parts.shapes, zero}, {}, "first");
  // All rows are like the first, but for the axis, which is checked where it is not known.
  SmallVector<int64_t> known = commonSizes(sequence, *rank);
  SmallVector<bool> free = llvm::map_to_vector(known, [](int64_t size) { return size >= 0; });
  if (!isNewAxis) {
    known[*where] = differs;
    free[*where] = true;
  }
  if (llvm::is_contained(free, false)) {
    Value mask = boolVector(node, free, "is_free");
    Value agrees = node.emit("Or", {node.emit("Equal", {parts.shapes, first}, {}, "equal"), mask}, {}, "agrees");
    Value different =
        agrees ? castAs(node, node.emit("Not", agrees, {}, "differs"), node.builder().getI64Type(), "differs")
               : Value();
    Value count = different ? node.pinned(sum(node, different, {0, 1}, "different"), "different") : Value();
    if (!count)
      return {};
    assertNotNegative(node, graph::size::mul(graph::elementsOf(count)->front(), -1),
                      "the elements of the sequence differ in sizes that must be the same");
  }
  Value lengths, target = first;
  if (!isNewAxis) {
    lengths = node.emit("Gather", {parts.shapes, node.scalar(*where, node.builder().getI64Type(), "column")},
                        node.attr("axis", int64_t(1)), "lengths");
    SmallVector<bool> isAxis(*rank, false);
    isAxis[*where] = true;
    Value mask = boolVector(node, isAxis, "is_axis");
    target = node.emit("Where", {mask, lengths ? sum(node, lengths, {0}, "sum") : Value(), first}, {}, "target");
  }
  std::optional<graph::Sizes> sizes = sizesFrom(node, target, known);
  if (!sizes)
    return {};
  if (isNewAxis) {
    sizes->insert(sizes->begin(), length);
    Value stacked = reshapeTo(node, parts.data, *sizes, *where ? "stacked" : "");
    return stacked && *where ? moveAxis(node, stacked, 0, *where, "") : stacked;
  }
  if (*where == 0)
    return reshapeTo(node, parts.data, *sizes, "");
  std::optional<Extent> extent = extentOf(node, *sizes, *where);
  if (!extent)
    return {};
  auto [begin, own] = partsAlong(node, lengths, extent->axis);
  if (!begin || !own)
    return {};
  begin = unsqueeze(node, begin, {1}, "begin"), own = unsqueeze(node, own, {1}, "own");
  Value outer = unsqueeze(node, countUp(node, extent->outer, "outer"), {1, 2}, "outer"),
        along = unsqueeze(node, countUp(node, extent->axis, "along"), {1}, "along"),
        inner = countUp(node, extent->inner, "inner"), width = sizeScalar(node, extent->inner, "width");
  // The part begins behind all those before it, and has a stretch along the axis for every outer index.
  Value before = mul(node, begin, sizeScalar(node, extent->outer, "rows"), "before");
  Value stretch = add(node, mul(node, outer, own, "stretch"), sub(node, along, begin, "inside"), "stretch");
  Value source = add(node, mul(node, add(node, before, stretch, "source"), width, "source"), inner, "source");
  return reshapeTo(node, node.emit("Gather", {parts.data, source}, {}, "joined"), *sizes, "");
}

Value unstack(Node &node, Value tensor, int64_t axis, ArrayRef<AffineExpr> part) {
  graph::Sizes sizes = graph::sizesOf(tensor);
  AffineExpr total = graph::product(sizes, node.context()), rank = getAffineConstantExpr(part.size(), node.context());
  if (!total) {
    node.error(ErrorCode::UnsupportedShape) << "the sizes of " << node.type() << " are too complex";
    return {};
  }
  Value front = axis ? moveAxis(node, tensor, axis, 0, "front") : tensor;
  auto known = llvm::map_to_vector(part, [](AffineExpr size) { return graph::constantSize(size).value_or(differs); });
  Value rows = node.sizesValue({sizes[axis], rank}, false, "rows");
  Value shapes = node.emit("Expand", {node.sizesValue(part, false, "row"), rows}, {}, "shapes");
  return packed(node, reshapeTo(node, front, {total}, "data"), shapes, known);
}

Value splitInto(Node &node, Value tensor, Value lengths, int64_t axis) {
  graph::Sizes sizes = graph::sizesOf(tensor);
  std::optional<Extent> extent = extentOf(node, sizes, axis);
  if (!extent || !lengths)
    return {};
  AffineExpr row = graph::size::mul(extent->outer, extent->inner), total = graph::product(sizes, node.context());
  AffineExpr count = graph::sizesOf(lengths)[0], rank = getAffineConstantExpr(sizes.size(), node.context());
  if (!row || !total) {
    node.error(ErrorCode::UnsupportedShape) << "the sizes of " << node.type() << " are too complex";
    return {};
  }
  // One row for every part: the tensor's sizes, but for the axis.
  SmallVector<bool> isAxis(sizes.size(), false);
  isAxis[axis] = true;
  Value shapes = node.emit("Where",
                           {boolVector(node, isAxis, "is_axis"), unsqueeze(node, lengths, {1}, "own"),
                            node.sizesValue(sizes, false, "sizes")},
                           {}, "shapes");
  shapes = reshapeTo(node, shapes, {count, rank}, "shapes");
  SmallVector<int64_t> known = constantSizesOf(tensor);
  known[axis] = differs;
  if (axis == 0)
    return packed(node, reshapeTo(node, tensor, {total}, "data"), shapes, known);
  auto [begin, own] = partsAlong(node, lengths, extent->axis);
  if (!begin || !own)
    return {};
  begin = unsqueeze(node, begin, {1}, "begin"), own = unsqueeze(node, own, {1}, "own");
  Value width = sizeScalar(node, extent->inner, "width");
  Value along = unsqueeze(node, countUp(node, extent->axis, "along"), {1}, "along");
  // Where the value lies inside its part, and from that its three indices.
  Value inside = add(node, mul(node, sub(node, along, begin, "inside"), sizeScalar(node, row, "row"), "inside"),
                     countUp(node, row, "within"), "inside");
  Value one = node.scalar(1, node.builder().getI64Type(), "one");
  Value wide = node.emit("Max", {width, one}, {}, "wide"), deep = node.emit("Max", {own, one}, {}, "deep");
  Value stretch = node.emit("Div", {inside, wide}, {}, "stretch");
  Value inner = node.emit("Mod", {inside, wide}, {}, "inner");
  Value outer = node.emit("Div", {stretch, deep}, {}, "outer");
  Value at = add(node, node.emit("Mod", {stretch, deep}, {}, "at"), begin, "at");
  Value source = add(node, mul(node, outer, sizeScalar(node, extent->axis, "size"), "source"), at, "source");
  source = add(node, mul(node, source, width, "source"), inner, "source");
  Value flat = reshapeTo(node, tensor, {total}, "flat");
  return packed(node, reshapeTo(node, node.emit("Gather", {flat, source}, {}, "parts"), {total}, "data"), shapes,
                known);
}

} // namespace fathom::importer
