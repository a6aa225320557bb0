// Operators whose axes or steps are only known when the model runs, while the rank of their result is known before: the
// sizes that follow from the axes are computed by ordinary ops and pinned to symbols.
#include "compiler/graph/Graph.h"
#include "compiler/graph/SizeMath.h"
#include "compiler/import/rules/Parts.h"

using namespace mlir;

namespace fathom::importer {
namespace {

// `count` numbers from `first` on as a column.
Value numbers(Node &node, int64_t first, int64_t count) {
  auto type = RankedTensorType::get({count, 1}, node.builder().getI64Type());
  SmallVector<int64_t> values = llvm::to_vector(llvm::seq<int64_t>(first, first + count));
  return node.constant(DenseElementsAttr::get(type, ArrayRef<int64_t>(values)), "numbers");
}

class RuntimeAxes {
public:
  // Axes of a tensor of this rank.
  RuntimeAxes(Node &node, Value axes, int64_t rank) : node(node), rank(rank), i64(node.builder().getI64Type()) {
    SmallVector<int64_t> all = llvm::to_vector(llvm::seq<int64_t>(0, rank));
    given = castAs(node, axes, i64, "axes");
    if (given && cast<RankedTensorType>(given.getType()).getRank() == 0)
      given = reshape(node, given, {1}, "axes");
    // Looking them up wraps negative ones and refuses those out of range.
    given = node.emit("Gather", {node.ints(all, "dimensions"), given}, {}, "axes");
  }

  // Of all dimensions whether they are among the axes, as a vector of bools.
  Value flags() {
    Value column = numbers(node, 0, rank);
    Value hits = castAs(node, node.emit("Equal", {column, given}, {}, "hits"), i64, "hits");
    Value count = node.emit("ReduceSum", {hits, node.ints({1}, "axis")}, node.attr("keepdims", int64_t(0)), "count");
    return node.emit("Greater", {count, node.scalar(0, i64, "zero")}, {}, "flags");
  }
  // Where a dimension stands among the axes.
  Value isAxis(int64_t dim) { return node.emit("Equal", {given, node.ints({dim}, "dimension")}, {}, "is_axis"); }

private:
  Node &node;
  int64_t rank;
  Type i64;
  Value given;
};

// Whether the second input can only be read when the model runs; what is wrong with it the op says best.
bool areAxesOpen(Node &node) {
  return node.hasInput(1) && node.rank(1) <= 1 && isa<IntegerType>(node.elementType(1)) &&
         !graph::elementsOf(node.input(1));
}

// How many axes are given, which decides about the result's rank; nullopt after a report.
std::optional<int64_t> countAxes(Node &node) {
  auto type = node.inputType(1);
  if (type.getRank() == 0)
    return 1;
  if (type.getRank() == 1 && type.hasStaticShape())
    return type.getDimSize(0);
  auto diagnostic = node.error(ErrorCode::UnsupportedShape)
                    << node.type() << ": how many axes there are is only known when the model runs";
  diagnostic.attachNote() << "hint: give the axes' tensor a fixed length, from which the result's rank follows";
  return std::nullopt;
}

Value count(Node &node, Value flags) {
  Value ones = castAs(node, flags, node.builder().getI64Type(), "ones");
  return node.emit("CumSum", {ones, node.scalar(0, node.builder().getI64Type(), "axis")}, {}, "numbers");
}

// The tensor with those of its dimensions left out, all of size 1, that the flags mark; `left` remain.
Value withoutDims(Node &node, Value value, Value flags, int64_t left, StringRef suffix) {
  if (left == 0 || !value)
    return value ? reshape(node, value, {}, suffix) : Value();
  Type i64 = node.builder().getI64Type();
  Value kept = node.emit("Not", flags, {}, "kept");
  Value isNumber = node.emit("Equal", {numbers(node, 1, left), kept ? count(node, kept) : Value()}, {}, "is_number");
  Value isPlace = node.emit("And", {isNumber, kept}, {}, "is_place");
  Value own = node.sizesValue(graph::sizesOf(value), false, "own");
  Value placed = node.emit("Where", {isPlace, own, node.scalar(0, i64, "zero")}, {}, "placed");
  Value sizes = node.emit("ReduceSum", {placed, node.ints({1}, "axis")}, node.attr("keepdims", int64_t(0)), "sizes");
  Value pinned = node.pinned(sizes, "kept");
  std::optional<graph::Elements> known = pinned ? graph::elementsOf(pinned) : std::nullopt;
  return known ? reshapeTo(node, value, *known, suffix) : Value();
}

// Bounds, of one element each, of a slice along a dimension.
struct Bounds {
  Value start, end, step;
};

// The slice along one dimension whose bounds are only known when the model runs.
Value sliceAlong(Node &node, Value value, int64_t dim, Bounds bounds) {
  AffineExpr size = graph::sizesOf(value)[dim];
  auto op = [&](StringRef name, Value a, Value b) { return node.emit(name, {a, b}, {}, "bound"); };
  auto choose = [&](Value condition, Value a, Value b) { return node.emit("Where", {condition, a, b}, {}, "bound"); };
  Value zero = node.ints({0}, "zero"), one = node.ints({1}, "one"), minusOne = node.ints({-1}, "minus_one");
  Value length = node.sizesValue({size}, false, "size");
  // A larger step takes one element as this one does.
  constexpr int64_t largest = int64_t(1) << 60;
  Value step = op("Max", op("Min", bounds.step, node.ints({largest}, "largest")), node.ints({-largest}, "least"));
  Value isForward = op("Greater", step, zero), isNothing = op("Equal", step, zero);
  Value high = choose(isForward, length, op("Sub", length, one));
  auto clamp = [&](Value at, Value low) {
    Value wrapped = choose(op("Less", at, zero), op("Add", at, length), at);
    return op("Min", op("Max", wrapped, low), high);
  };
  Value start = clamp(bounds.start, zero), end = clamp(bounds.end, choose(isForward, zero, minusOne));
  Value span = op("Max", choose(isForward, op("Sub", end, start), op("Sub", start, end)), zero);
  Value stride = op("Max", node.emit("Abs", step, {}, "stride"), one);
  Value count = op("Div", op("Add", span, op("Sub", stride, one)), stride);
  // A negative size is refused, and so a step of zero.
  Value pinned = node.pinned(choose(isNothing, minusOne, count), "length");
  std::optional<graph::Elements> known = pinned ? graph::elementsOf(pinned) : std::nullopt;
  if (!known)
    return {};
  Value places = op("Add", op("Mul", countUp(node, known->front(), "numbers"), step), start);
  return node.emit("Gather", {value, places}, node.attr("axis", dim), "slice");
}

} // namespace

LogicalResult squeezeOnes(Node &node) {
  SmallVector<int64_t> axes;
  for (int64_t axis = 0; axis < node.rank(0); ++axis) {
    FailureOr<bool> isSqueezed = node.isSqueezed(axis);
    if (failed(isSqueezed))
      return failure();
    if (*isSqueezed)
      axes.push_back(axis);
  }
  return node.finishAs("Squeeze", {node.input(0), node.ints(axes, "axes")});
}

LogicalResult squeezeDynamic(Node &node) {
  if (!node.hasInput(1))
    return squeezeOnes(node);
  if (!areAxesOpen(node))
    return copyNode(node);
  std::optional<int64_t> axes = countAxes(node);
  if (!axes)
    return failure();
  if (*axes > node.rank(0))
    return node.error(ErrorCode::BadShape) << *axes << " axes of a tensor of rank " << node.rank(0);
  Value flags = RuntimeAxes(node, node.input(1), node.rank(0)).flags();
  return node.finish(withoutDims(node, node.input(0), flags, node.rank(0) - *axes, ""));
}

LogicalResult unsqueezeDynamic(Node &node) {
  if (!areAxesOpen(node))
    return copyNode(node);
  std::optional<int64_t> axes = countAxes(node);
  if (!axes)
    return failure();
  int64_t rank = node.rank(0) + *axes;
  Value flags = RuntimeAxes(node, node.input(1), rank).flags();
  Value sizes = node.ints(SmallVector<int64_t>(rank, 1), "ones");
  if (node.rank(0) > 0 && flags) {
    // Every other dimension is the next one of the input.
    Value next = count(node, node.emit("Not", flags, {}, "kept"));
    next = withNumber(node, "Max", withNumber(node, "Sub", next, 1, "next"), 0, "next");
    Value own = node.sizesValue(graph::sizesOf(node.input(0)), false, "own");
    sizes = node.emit("Where", {flags, sizes, node.emit("Gather", {own, next}, {}, "moved")}, {}, "sizes");
  }
  Value pinned = node.pinned(sizes, "size");
  std::optional<graph::Elements> known = pinned ? graph::elementsOf(pinned) : std::nullopt;
  return known ? node.finish(reshapeTo(node, node.input(0), *known, "")) : failure();
}

// One axis after the other, each where it is among those given. The rank stays until the end.
LogicalResult reduceDynamic(Node &node) {
  if (!areAxesOpen(node))
    return copyNode(node);
  RankedTensorType type = node.inputType(1);
  if (type.getRank() == 1 && type.getDimSize(0) == 0)
    return node.finishAs(node.type(), node.input(0));
  bool keepsDims = node.intAttr("keepdims", 1), isNothing = node.intAttr("noop_with_empty_axes", 0);
  std::optional<int64_t> axes = keepsDims ? 0 : countAxes(node);
  if (!axes)
    return failure();
  int64_t rank = node.rank(0);
  if (*axes > rank)
    return node.error(ErrorCode::BadShape) << *axes << " axes of a tensor of rank " << rank;
  Value flags = RuntimeAxes(node, node.input(1), rank).flags();
  if (!flags)
    return failure();
  if (type.getRank() == 1 && !isNothing && graph::size::lowerBound(graph::sizesOf(type)[0], node.symbols()) == 0) {
    // No axes are all axes.
    Value given = node.sizesValue({graph::sizesOf(type)[0]}, false, "given");
    flags = node.emit("Or", {flags, node.emit("Equal", {given, node.ints({0}, "zero")}, {}, "all")}, {}, "flags");
  }
  StringRef name = node.type();
  Value value = node.input(0);
  if (name == "ReduceL1")
    value = node.emit("Abs", value, {}, "terms");
  // Of integers in double precision, as where axes are known.
  Type element = node.elementType(0), wide = isa<FloatType>(element) ? element : Type(node.builder().getF64Type());
  if (name == "ReduceL2")
    value = castAs(node, value, wide, "wide");
  if (name == "ReduceL2" || name == "ReduceSumSquare")
    value = node.emit("Mul", {value, value}, {}, "terms");
  bool isSum = llvm::is_contained({"ReduceL1", "ReduceL2", "ReduceSumSquare", "ReduceLogSum", "ReduceMean"}, name);
  for (int64_t d = 0; d < rank && value; ++d) {
    Value flag = node.emit("Gather", {flags, node.scalar(d, node.builder().getI64Type(), "dimension")}, {}, "flag");
    if (!flag)
      return failure();
    auto either = node.branch(flag, [&](bool isReduced) -> FailureOr<SmallVector<Value>> {
      Value made = isReduced ? node.emit(isSum ? "ReduceSum" : name, {value, node.ints({d}, "axis")}, {}, "reduced")
                             : node.emit("Identity", value, {}, "kept");
      if (!made)
        return failure();
      return SmallVector<Value>{made};
    });
    value = failed(either) ? Value() : either->front();
  }
  if (value && name == "ReduceMean") {
    Value own = node.sizesValue(graph::sizesOf(node.input(0)), false, "own");
    Value counted = node.emit("Where", {flags, own, node.ints({1}, "one")}, {}, "counted");
    Value product = node.emit("ReduceProd", counted, node.attr("keepdims", int64_t(0)), "count");
    value = node.emit("Div", {value, castAs(node, product, node.elementType(0), "count")}, {}, "mean");
  }
  if (value && name == "ReduceL2")
    value = castAs(node, node.emit("Sqrt", value, {}, "root"), element, "cut");
  if (value && name == "ReduceLogSum")
    value = node.emit("Log", value, {}, "log");
  return node.finish(keepsDims ? value : withoutDims(node, value, flags, rank - *axes, ""));
}

LogicalResult sliceByRuntimeAxes(Node &node) {
  Type i64 = node.builder().getI64Type();
  auto list = [&](unsigned index, StringRef name) {
    return castAs(node, node.rank(index) ? node.input(index) : reshape(node, node.input(index), {1}, name), i64, name);
  };
  for (unsigned i = 1; i < node.numInputs(); ++i)
    if (node.hasInput(i) && (node.rank(i) > 1 || !isa<IntegerType>(node.elementType(i))))
      return node.error(ErrorCode::BadShape) << "input " << i << " of Slice must be a list of integers";
  Value starts = list(1, "starts"), ends = list(2, "ends");
  if (!starts || !ends)
    return failure();
  Value axes = node.hasInput(3) ? node.input(3) : countUp(node, graph::sizesOf(starts)[0], "axes");
  if (!axes)
    return failure();
  Value steps = node.hasInput(4) ? list(4, "steps") : Value(), result = node.input(0);
  int64_t rank = node.rank(0);
  RuntimeAxes given(node, axes, rank);
  auto constants = graph::constantElementsOf(axes);
  for (int64_t d = 0; d < rank && result; ++d) {
    auto isAxis = [&](int64_t axis) { return graph::normalizeAxis(axis, rank) == d; };
    if (constants && llvm::none_of(*constants, isAxis))
      continue;
    Value hits = given.isAxis(d), zero = node.ints({0}, "zero");
    auto sumOf = [&](Value values) {
      return node.emit("ReduceSum", node.emit("Where", {hits, values, zero}, {}, "chosen"), {}, "bound");
    };
    Value isSliced = node.emit("Greater", {sumOf(node.ints({1}, "one")), zero}, {}, "is_sliced");
    auto bound = [&](Value values, int64_t otherwise) {
      return node.emit("Where", {isSliced, sumOf(values), node.ints({otherwise}, "otherwise")}, {}, "bound");
    };
    Bounds bounds{bound(starts, 0), bound(ends, INT64_MAX), steps ? bound(steps, 1) : node.ints({1}, "step")};
    result = sliceAlong(node, result, d, bounds);
  }
  return node.finish(result);
}

} // namespace fathom::importer
