// Rules of operators on small matrices and tables: determinants, running products and the weights of mel filters.
#include "compiler/graph/SizeMath.h"
#include "compiler/import/rules/Parts.h"
#include <cmath>
#include <functional>

using namespace mlir;

namespace fathom::importer {
namespace {

namespace size = graph::size;

// Gaussian elimination with pivots, one column an iteration, for all matrices at once.
class Determinant {
public:
  explicit Determinant(Node &node) : node(node), i64(node.builder().getI64Type()), f64(node.builder().getF64Type()) {}

  LogicalResult run() {
    graph::Sizes sizes = graph::sizesOf(node.input(0));
    if (sizes.size() < 2 || !isa<FloatType>(node.elementType(0)))
      return node.error(ErrorCode::BadShape) << "Det needs square matrices of floats, but has " << node.inputText(0);
    auto rows = graph::constantSize(sizes[sizes.size() - 2]), columns = graph::constantSize(sizes.back());
    if (rows && columns && *rows != *columns)
      return node.error(ErrorCode::BadShape) << "Det needs square matrices, but has " << node.inputText(0);
    graph::Sizes outer(ArrayRef(sizes).drop_back(2));
    batch = graph::product(outer, node.context());
    AffineExpr one = getAffineConstantExpr(1, node.context());
    length = sizes.back();
    if (!batch)
      return node.error(ErrorCode::UnsupportedShape) << "the sizes of Det are too complex";
    Value matrices = reshapeTo(node, castAs(node, node.input(0), f64, "wide"), {batch, length, length}, "matrices");
    Value ones = node.emit("Expand", {node.scalar(1, f64, "one"), node.sizesValue({batch, one, one}, false, "sizes")},
                           {}, "start");
    if (!matrices || !ones)
      return failure();
    Value trip = node.sizesValue({length}, /*isScalar=*/true, "length");
    auto steps = node.loop(trip, Value(), {matrices, ones},
                           [&](Value i, Value condition, ValueRange carried) { return step(i, condition, carried); });
    if (failed(steps))
      return failure();
    return node.finish(castAs(node, reshapeTo(node, (*steps)[1], outer, "determinants"), node.elementType(0), ""));
  }

private:
  Value op(StringRef name, Value a, Value b) { return node.emit(name, {a, b}, {}, "step"); }
  Value choose(Value condition, Value a, Value b) { return node.emit("Where", {condition, a, b}, {}, "step"); }

  FailureOr<SmallVector<Value>> step(Value i, Value condition, ValueRange carried) {
    Value matrices = carried[0], zero = node.scalar(0, f64, "zero");
    AffineExpr one = getAffineConstantExpr(1, node.context());
    Value at = reshape(node, i, {1}, "at"),
          numbers = reshapeTo(node, countUp(node, length, "numbers"), {length, one}, "rows");
    auto column = [&](Value of) { return node.emit("Gather", {of, at}, node.attr("axis", int64_t(2)), "column"); };
    // The largest element of the column from the diagonal on.
    Value isBelow = op("GreaterOrEqual", numbers, at), sizes = node.emit("Abs", column(matrices), {}, "sizes");
    Value best = node.emit("ArgMax", choose(isBelow, sizes, node.scalar(-1, f64, "above")),
                           node.attr("axis", int64_t(1)), "best");
    Value isPivot = op("Equal", numbers, best), isTop = op("Equal", numbers, at);
    Value pivotRow = node.emit("ReduceSum", {choose(isPivot, matrices, zero), node.ints({1}, "axis")}, {}, "pivot_row");
    Value topRow = node.emit("Gather", {matrices, at}, node.attr("axis", int64_t(1)), "top_row");
    Value swapped = choose(isTop, pivotRow, choose(isPivot, topRow, matrices));
    Value pivot = column(pivotRow), isZero = op("Equal", pivot, zero);
    Value divisor = choose(isZero, node.scalar(1, f64, "one"), pivot);
    Value factors = choose(op("Greater", numbers, at), op("Div", column(swapped), divisor), zero);
    Value next = op("Sub", swapped, op("Mul", factors, pivotRow));
    Value signs = choose(op("Equal", best, at), node.scalar(1, f64, "one"), node.scalar(-1, f64, "minus_one"));
    Value product = op("Mul", carried[1], op("Mul", pivot, signs));
    if (!next || !product)
      return failure();
    return SmallVector<Value>{condition, next, product};
  }

  Node &node;
  Type i64, f64;
  AffineExpr batch, length;
};

LogicalResult det(Node &node) { return Determinant(node).run(); }

// The products along an axis, one position after the other; null after a report.
Value productsAlong(Node &node, int64_t axis, bool isExclusive, bool isReverse, StringRef suffix) {
  graph::Sizes outer = graph::sizesOf(node.input(0));
  AffineExpr length = outer[axis];
  outer.erase(outer.begin() + axis);
  Value last = node.sizesValue({size::add(length, -1)}, /*isScalar=*/true, "last");
  Value ones = node.emit("Expand", {node.scalar(1, node.elementType(0), "one"), node.sizesValue(outer, false, "sizes")},
                         {}, "start");
  if (!ones)
    return {};
  auto body = [&](Value i, Value condition, ValueRange carried) -> FailureOr<SmallVector<Value>> {
    Value at = isReverse ? node.emit("Sub", {last, i}, {}, "at") : i;
    Value slice = node.emit("Gather", {node.input(0), at}, node.attr("axis", axis), "slice");
    Value product = node.emit("Mul", {carried[0], slice}, {}, "product");
    if (!product)
      return failure();
    return SmallVector<Value>{condition, product,
                              isExclusive ? node.emit("Identity", carried[0], {}, "before") : product};
  };
  Value trip = node.sizesValue({length}, /*isScalar=*/true, "length");
  auto products = node.loop(trip, Value(), ones, body);
  if (failed(products))
    return {};
  Value stacked = (*products)[1];
  if (isReverse)
    stacked = node.emit("Slice",
                        {stacked, node.ints({-1}, "from"), node.ints({INT64_MIN}, "to"), node.ints({0}, "axis"),
                         node.ints({-1}, "step")},
                        {}, "reversed");
  SmallVector<int64_t> perm = llvm::to_vector(llvm::seq<int64_t>(1, node.rank(0)));
  perm.insert(perm.begin() + axis, 0);
  return stacked ? transpose(node, stacked, perm, suffix) : Value();
}

LogicalResult cumProd(Node &node) {
  bool isExclusive = node.intAttr("exclusive", 0), isReverse = node.intAttr("reverse", 0);
  int64_t rank = node.rank(0);
  auto axisType = node.inputType(1);
  if (!isa<IntegerType>(axisType.getElementType()) || !axisType.hasStaticShape() || axisType.getNumElements() != 1)
    return node.error(ErrorCode::BadShape) << "the axis of CumProd is " << node.inputText(1) << ", not one integer";
  if (auto known = graph::constantElementsOf(node.input(1))) {
    std::optional<int64_t> axis = graph::normalizeAxis(known->front(), rank);
    if (!axis)
      return node.error(ErrorCode::BadAttribute)
             << "axis " << known->front() << " is out of range for a tensor of rank " << rank;
    return node.finish(productsAlong(node, *axis, isExclusive, isReverse, ""));
  }
  if (rank == 0)
    return node.error(ErrorCode::BadShape) << "CumProd needs an input with an axis";
  // Looking the axis up wraps a negative one and refuses one out of range. Then it is one of a few.
  Type i64 = node.builder().getI64Type();
  Value all = node.ints(llvm::to_vector(llvm::seq<int64_t>(0, rank)), "axes");
  Value place = reshape(node, castAs(node, node.input(1), i64, "axis"), {}, "axis");
  Value given = node.emit("Gather", {all, place}, node.attr("axis", int64_t(0)), "axis");
  using Values = FailureOr<SmallVector<Value>>;
  auto along = [&](int64_t axis) -> Values {
    Value products = productsAlong(node, axis, isExclusive, isReverse, "products");
    if (!products)
      return failure();
    return SmallVector<Value>{products};
  };
  std::function<Values(int64_t)> from = [&](int64_t axis) -> Values {
    if (axis == rank - 1)
      return along(axis);
    Value isIt = node.emit("Equal", {given, node.scalar(double(axis), i64, "candidate")}, {}, "is_axis");
    if (!isIt)
      return failure();
    return node.branch(isIt, [&](bool condition) { return condition ? along(axis) : from(axis + 1); });
  };
  Values made = from(0);
  return failed(made) ? failure() : node.finish(node.emit("Identity", made->front()));
}

// Triangles over the bins of a spectrum, between frequencies that are evenly spaced on the mel scale.
LogicalResult melWeightMatrix(Node &node) {
  Type i64 = node.builder().getI64Type(), f64 = node.builder().getF64Type();
  Type element = node.hasAttr("output_datatype") ? node.typeAttr("output_datatype") : node.builder().getF32Type();
  if (!element)
    return failure();
  auto op = [&](StringRef name, Value a, Value b) { return node.emit(name, {a, b}, {}, "mel"); };
  auto with = [&](StringRef name, Value a, double b) { return withNumber(node, name, a, b, "mel"); };
  auto given = [&](unsigned index, Type type) {
    return castAs(node, reshape(node, node.input(index), {}, "given"), type, "given");
  };
  auto sizeOf = [&](Value integer, StringRef name) -> AffineExpr {
    Value pinned = node.pinned(integer, name);
    std::optional<graph::Elements> known = pinned ? graph::elementsOf(pinned) : std::nullopt;
    return known ? known->front() : AffineExpr();
  };
  Value transform = given(1, i64);
  AffineExpr filters = sizeOf(given(0, i64), "filters"),
             bins = sizeOf(with("Add", with("Div", transform, 2), 1), "bins");
  if (!filters || !bins)
    return failure();
  auto mel = [&](Value hertz) {
    Value log = node.emit("Log", with("Add", with("Div", hertz, 700), 1), {}, "log");
    return with("Mul", log, 2595 / std::log(10.0));
  };
  Value low = mel(given(3, f64)), high = mel(given(4, f64));
  AffineExpr edges = size::add(filters, 2);
  Value numbers = castAs(node, countUp(node, edges, "edges"), f64, "edges");
  Value count = castAs(node, node.sizesValue({edges}, /*isScalar=*/true, "count"), f64, "count");
  Value mels = op("Add", op("Mul", numbers, op("Div", op("Sub", high, low), count)), low);
  Value hertz = with("Mul", with("Sub", node.emit("Exp", with("Mul", mels, std::log(10.0) / 2595), {}, "exp"), 1), 700);
  // Frequencies as whole bins.
  Value scaled = op("Mul", castAs(node, with("Add", transform, 1), f64, "wide"), hertz);
  Value places = castAs(node, node.emit("Floor", op("Div", scaled, given(2, f64)), {}, "places"), i64, "places");
  auto from = [&](int64_t first) {
    Value start = node.ints({first}, "first"), end = node.sizesValue({size::add(filters, first)}, false, "end");
    return node.emit("Slice", {places, start, end}, {}, "edge");
  };
  AffineExpr one = getAffineConstantExpr(1, node.context());
  Value lower = from(0), centre = from(1), upper = from(2), zero = node.scalar(0, f64, "zero");
  Value bin = reshapeTo(node, countUp(node, bins, "bins"), {bins, one}, "bins");
  auto ratio = [&](Value part, Value whole) {
    return op("Div", castAs(node, part, f64, "part"), castAs(node, with("Max", whole, 1), f64, "whole"));
  };
  auto choose = [&](Value condition, Value a, Value b) { return node.emit("Where", {condition, a, b}, {}, "weight"); };
  Value rise = op("Sub", centre, lower), fall = op("Sub", upper, centre);
  Value isRising = op("And", op("GreaterOrEqual", bin, lower), op("LessOrEqual", bin, centre));
  Value isFalling = op("And", op("GreaterOrEqual", bin, centre), op("Less", bin, upper));
  Value slope = choose(with("Equal", rise, 0), node.scalar(1, f64, "one"), ratio(op("Sub", bin, lower), rise));
  Value weights = choose(isRising, slope, zero);
  weights = choose(isFalling, ratio(op("Sub", upper, bin), fall), weights);
  return node.finish(castAs(node, weights, element, ""));
}

} // namespace

ArrayRef<Rule> matrixRules() {
  static constexpr Rule rules[] = {
      {"Det", 1, 1, det}, {"CumProd", 2, 2, cumProd}, {"MelWeightMatrix", 5, 5, melWeightMatrix}};
  return rules;
}

} // namespace fathom::importer
