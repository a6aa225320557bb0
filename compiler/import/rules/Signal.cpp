// Rules of the Fourier transforms, which become products with matrices of cosines and sines.
#include "compiler/graph/Graph.h"
#include "compiler/graph/SizeMath.h"
#include "compiler/import/rules/Parts.h"
#include <numbers>

using namespace mlir;

namespace fathom::importer {
namespace {

class Fourier {
public:
  explicit Fourier(Node &node) : node(node), f64(node.builder().getF64Type()), i64(node.builder().getI64Type()) {}

  LogicalResult dft() {
    isInverse = node.intAttr("inverse", 0), isOneSided = node.intAttr("onesided", 0);
    if (node.rank(0) < 2)
      return node.error(ErrorCode::BadShape)
             << "the input of DFT has type " << node.inputText(0) << " where a last size of 1 or 2 is needed";
    auto known = node.hasInput(2) ? graph::constantElementsOf(node.input(2)) : std::nullopt;
    std::optional<int64_t> parts = graph::constantSize(graph::sizesOf(node.input(0)).back());
    if (parts != 1 && parts != 2)
      return node.error(ErrorCode::UnsupportedShape)
             << "the last size of an input of type " << node.inputText(0) << " is not known to be 1 or 2";
    if (node.hasInput(1) && !(givenLength = sizeFrom(node.input(1), "length")))
      return failure();
    if (node.hasInput(2) && !known)
      return node.finish(alongRuntimeAxis(*parts));
    int64_t given = node.opset() < 20 ? node.intAttr("axis", 1) : -2;
    if (known && known->size() == 1)
      given = known->front();
    std::optional<int64_t> axis = graph::normalizeAxis(given, node.rank(0));
    if (!axis || *axis == node.rank(0) - 1)
      return node.error(ErrorCode::BadAttribute) << "axis " << given << " of an input of rank " << node.rank(0);
    return node.finish(transformed(*axis, *parts, ""));
  }

  LogicalResult stft() {
    bool isOneSided = node.intAttr("onesided", 1);
    graph::Sizes sizes = graph::sizesOf(node.input(0));
    std::optional<int64_t> parts = sizes.size() == 3 ? graph::constantSize(sizes[2]) : std::optional<int64_t>(1);
    if (sizes.size() < 2 || sizes.size() > 3 || (parts != 1 && parts != 2))
      return node.error(parts ? ErrorCode::BadShape : ErrorCode::UnsupportedShape)
             << "a signal of type " << node.inputText(0) << " is not known to be [batch, length, 1 or 2]";
    AffineExpr step = sizeFrom(node.input(1), "step"), length;
    if (node.hasInput(3))
      length = sizeFrom(node.input(3), "frame");
    else if (node.hasInput(2) && node.rank(2) == 1)
      length = graph::sizesOf(node.input(2))[0];
    if (!step || !length)
      return node.error(ErrorCode::BadGraph) << "STFT needs a window or the length of a frame, and a step";
    // How many frames fit is computed as data, which may be any numbers.
    auto scalar = [&](AffineExpr size) { return node.sizesValue({size}, /*isScalar=*/true, "size"); };
    Value rest = op("Max", op("Sub", scalar(sizes[1]), scalar(length)), node.scalar(-1, i64, "none"));
    Value stride = op("Max", scalar(step), node.scalar(1, i64, "least"));
    Value frames = op("Div", op("Add", rest, stride), stride);
    AffineExpr count = constantFrames(sizes[1], length, step);
    if (!count) {
      Value pinned = node.pinned(frames, "frames");
      std::optional<graph::Elements> known = pinned ? graph::elementsOf(pinned) : std::nullopt;
      if (!known)
        return failure();
      count = known->front();
    }
    Value starts = op("Mul", countUp(node, count, "frames"), scalar(step));
    Value places = op("Add", node.emit("Unsqueeze", {starts, node.ints({1}, "axis")}, {}, "starts"),
                      countUp(node, length, "within"));
    Value framed = node.emit("Gather", {node.input(0), places}, node.attr("axis", 1), "frames");
    if (node.hasInput(2)) {
      Value window = *parts == 1 && sizes.size() == 2
                         ? node.input(2)
                         : node.emit("Unsqueeze", {node.input(2), node.ints({1}, "axis")}, {}, "window");
      framed = op("Mul", framed, window);
    }
    AffineExpr columns = isOneSided ? half(length) : length;
    Value rows = reshapeTo(node, framed, {sizes[0], count, graph::size::mul(length, *parts)}, "rows");
    Value product = node.emit("MatMul", {rows, waves(length, length, columns, *parts, false, false)}, {}, "products");
    return node.finish(
        reshapeTo(node, product, {sizes[0], count, columns, getAffineConstantExpr(2, node.context())}, ""));
  }

private:
  Value op(StringRef name, Value a, Value b) { return node.emit(name, {a, b}, {}, "wave"); }
  static AffineExpr half(AffineExpr length) { return graph::size::add(graph::size::floorDiv(length, 2), 1); }

  AffineExpr constantFrames(AffineExpr total, AffineExpr length, AffineExpr step) {
    auto t = graph::constantSize(total), l = graph::constantSize(length), s = graph::constantSize(step);
    if (!t || !l || !s || *s < 1)
      return {};
    return getAffineConstantExpr(*t < *l ? 0 : 1 + (*t - *l) / *s, node.context());
  }

  // An integer as a size; null after a report.
  AffineExpr sizeFrom(Value integer, StringRef name) {
    Value pinned = node.pinned(castAs(node, reshape(node, integer, {}, name), i64, name), name);
    std::optional<graph::Elements> known = pinned ? graph::elementsOf(pinned) : std::nullopt;
    return known ? known->front() : AffineExpr();
  }

  // The transform along one axis.
  Value transformed(int64_t axis, int64_t parts, StringRef suffix) {
    graph::Sizes sizes = graph::sizesOf(node.input(0));
    int64_t rank = sizes.size();
    bool isReal = isInverse && isOneSided; // the other half is known, and the result is real
    AffineExpr given = sizes[axis], length = isReal ? graph::size::mul(graph::size::add(given, -1), 2) : given;
    if (givenLength)
      length = givenLength;
    AffineExpr columns = isOneSided && !isInverse ? half(length) : length;
    // The transformed dimension and the parts of a number come last: [others..., given * parts].
    SmallVector<int64_t> perm, back(rank);
    for (int64_t d = 0; d < rank; ++d)
      if (d != axis && d != rank - 1)
        perm.push_back(d);
    perm.append({axis, rank - 1});
    for (auto [i, d] : llvm::enumerate(perm))
      back[d] = i;
    graph::Sizes rows;
    for (int64_t d : ArrayRef(perm).drop_back(2))
      rows.push_back(sizes[d]);
    graph::Sizes full = rows;
    rows.push_back(graph::size::mul(given, parts));
    full.append({columns, getAffineConstantExpr(isReal ? 1 : 2, node.context())});
    Value input = reshapeTo(node, transpose(node, node.input(0), perm, "last"), rows, "rows");
    Value matrix = waves(given, length, columns, parts, isInverse, isReal);
    Value product = node.emit("MatMul", {input, matrix}, {}, "transformed");
    Value result = reshapeTo(node, product, full, "parts");
    return result ? transpose(node, result, back, suffix) : Value();
  }

  // A branch for every axis that it may be.
  Value alongRuntimeAxis(int64_t parts) {
    int64_t rank = node.rank(0);
    Value given = castAs(node, reshape(node, node.input(2), {}, "axis"), i64, "axis");
    Value wrapped = withNumber(node, "Add", given, rank, "wrapped");
    Value axis = node.emit("Where", {withNumber(node, "Less", given, 0, "is_negative"), wrapped, given}, {}, "axis");
    // No axis is below 0 or the last one.
    Value pinned = node.pinned(axis, "axis");
    std::optional<graph::Elements> symbol = pinned ? graph::elementsOf(pinned) : std::nullopt;
    if (!symbol)
      return {};
    AffineExpr slack = graph::size::sub(getAffineConstantExpr(rank - 2, node.context()), symbol->front());
    node.requireSizes({slack}, "the axis is out of range");
    return fromAxis(0, pinned, parts);
  }

  Value fromAxis(int64_t first, Value axis, int64_t parts) {
    if (first == node.rank(0) - 2)
      return transformed(first, parts, "along");
    Value isFirst = withNumber(node, "Equal", axis, first, "is_axis");
    if (!isFirst)
      return {};
    auto either = node.branch(isFirst, [&](bool isThen) -> FailureOr<SmallVector<Value>> {
      Value made = isThen ? transformed(first, parts, "along") : fromAxis(first + 1, axis, parts);
      if (!made)
        return failure();
      return SmallVector<Value>{made};
    });
    return failed(either) ? Value() : either->front();
  }

  // The matrix [given * parts, columns * 2] of a transform of `length`, of which `given` numbers are there; that to
  // real numbers has one column each.
  Value waves(AffineExpr given, AffineExpr length, AffineExpr columns, int64_t parts, bool isInverse, bool isReal) {
    Value row = node.emit("Unsqueeze", {countUp(node, given, "row"), node.ints({1}, "axis")}, {}, "row");
    Value size = node.sizesValue({length}, /*isScalar=*/true, "length");
    // Turns are counted in integers, which loses nothing.
    Value turns =
        op("Mod", op("Mul", row, countUp(node, columns, "column")), op("Max", size, node.scalar(1, i64, "one")));
    Value period = castAs(node, size, f64, "period");
    Value angle =
        op("Div", withNumber(node, "Mul", castAs(node, turns, f64, "turns"), 2 * std::numbers::pi, "wave"), period);
    Value cos = node.emit("Cos", angle, {}, "cos"), sin = node.emit("Sin", angle, {}, "sin");
    if (!isInverse)
      sin = node.emit("Neg", sin, {}, "sin");
    AffineExpr used = isReal ? half(length) : length;
    Value factor;
    if (isReal) {
      // All but the first and the middle stand for their mirror image, too.
      Value zero = node.scalar(0, i64, "zero"), twice = op("Mul", row, node.scalar(2, i64, "two"));
      Value isAlone = op("Or", op("Equal", row, zero), op("Equal", twice, size));
      factor = node.emit("Where", {isAlone, node.scalar(1, f64, "one"), node.scalar(2, f64, "two")}, {}, "factor");
    }
    if (isInverse)
      factor = factor ? op("Div", factor, period) : op("Div", node.scalar(1, f64, "one"), period);
    // What lies beyond the length does not count.
    if (!graph::size::isAtLeast(used, given, node.symbols())) {
      Value counts = op("Less", row, node.sizesValue({used}, /*isScalar=*/true, "used"));
      factor = node.emit("Where", {counts, factor ? factor : node.scalar(1, f64, "one"), node.scalar(0, f64, "zero")},
                         {}, "factor");
    }
    if (factor)
      cos = op("Mul", cos, factor), sin = op("Mul", sin, factor);
    // Rows of the real part give (cos, sin), those of the imaginary part (-sin, cos).
    auto stacked = [&](Value a, Value b, int64_t axis) {
      Value at = node.ints({axis}, "axis");
      SmallVector<Value> both{node.emit("Unsqueeze", {a, at}, {}, "part"), node.emit("Unsqueeze", {b, at}, {}, "part")};
      return node.emit("Concat", both, node.attr("axis", axis), "parts");
    };
    Value minus = node.emit("Neg", sin, {}, "minus"), matrix;
    if (isReal)
      matrix = parts == 1 ? cos : stacked(cos, minus, 1);
    else
      matrix = parts == 1 ? stacked(cos, sin, 2) : stacked(stacked(cos, sin, 2), stacked(minus, cos, 2), 1);
    matrix =
        reshapeTo(node, matrix, {graph::size::mul(given, parts), graph::size::mul(columns, isReal ? 1 : 2)}, "matrix");
    return castAs(node, matrix, node.elementType(0), "matrix");
  }

  Node &node;
  Type f64, i64;
  bool isInverse = false, isOneSided = false;
  AffineExpr givenLength; // null: the axis has the length
};

LogicalResult dft(Node &node) { return Fourier(node).dft(); }
LogicalResult stft(Node &node) { return Fourier(node).stft(); }

} // namespace

ArrayRef<Rule> signalRules() {
  static constexpr Rule rules[] = {{"DFT", 1, 3, dft}, {"STFT", 2, 4, stft}};
  return rules;
}

} // namespace fathom::importer
