// The rule of GridSample: coordinates and weights by elementwise ops, pixels by gathers of whole rows of channels.
#include "compiler/graph/SizeMath.h"
#include "compiler/import/node/Normalize.h"

using namespace mlir;

namespace fathom::importer {
namespace {

class GridSample {
public:
  explicit GridSample(Node &node) : node(node) {}

  LogicalResult run() {
    std::string mode = node.stringAttr("mode", "linear").str();
    padding = node.stringAttr("padding_mode", "zeros").str();
    isAligned = node.intAttr("align_corners", 0);
    if (StringRef(mode).starts_with("bi")) // the names before operator set 20
      mode = mode.substr(2);
    if (!llvm::is_contained({"linear", "nearest", "cubic"}, StringRef(mode)) ||
        !llvm::is_contained({"zeros", "border", "reflection"}, StringRef(padding)))
      return node.error(ErrorCode::BadAttribute) << "mode '" << mode << "', padding_mode '" << padding << "'";
    rank = node.rank(0) - 2;
    graph::Sizes grid = graph::sizesOf(node.input(1));
    if (rank < 1 || node.rank(1) != rank + 2 || graph::constantSize(grid.back()).value_or(rank) != rank)
      return node.error(ErrorCode::BadShape)
             << "a grid of type " << node.inputText(1) << " does not go with an input of type " << node.inputText(0);
    number = node.elementType(1);
    if (!isa<FloatType>(number) || (mode != "nearest" && !isa<FloatType>(node.elementType(0))))
      return node.error(ErrorCode::BadType) << mode << " GridSample of " << graph::elementText(node.elementType(0))
                                            << " by " << number << " is not defined";
    findPlaces(mode == "nearest");
    gatherRows();
    Value sum = mode == "nearest" ? pixel(places) : mode == "linear" ? linear() : cubic();
    // [N, points..., C] to [N, C, points...]
    SmallVector<int64_t> perm{0, rank + 1};
    for (int64_t d = 1; d <= rank; ++d)
      perm.push_back(d);
    return node.finish(node.emit("Transpose", sum, node.attr("perm", node.builder().getDenseI64ArrayAttr(perm))));
  }

private:
  Value op(StringRef name, Value a, Value b) { return node.emit(name, {a, b}, {}, "sample"); }
  Value op(StringRef name, Value a) { return node.emit(name, a, {}, "sample"); }
  Value constant(double value) { return node.scalar(value, number, "number"); }
  Value cast(Value value, Type type) {
    return node.emit("Cast", value, node.attr("to", TypeAttr::get(type)), "sample");
  }
  AffineExpr sizeOf(int64_t dim) { return graph::sizesOf(node.input(0))[2 + dim]; }
  // The number of pixels along a spatial dimension, plus something.
  Value length(int64_t dim, double more) {
    if (std::optional<int64_t> size = graph::constantSize(sizeOf(dim)))
      return constant(*size + more);
    return op("Add", cast(node.sizesValue({sizeOf(dim)}, /*isScalar=*/true, "size"), number), constant(more));
  }
  Value low() { return constant(isAligned ? 0 : -0.5); }
  Value high(int64_t dim) { return length(dim, isAligned ? -1 : -0.5); }
  Value clamped(Value x, int64_t dim) { return node.emit("Clip", {x, constant(0), length(dim, -1)}, {}, "sample"); }

  // Folds a coordinate into the image, to and fro between its borders.
  Value reflected(Value x, int64_t dim) {
    Value range = op("Max", length(dim, isAligned ? -1 : 0), constant(1));
    Value distance = op("Abs", op("Sub", x, low())), turns = op("Floor", op("Div", distance, range));
    Value rest = op("Sub", distance, op("Mul", turns, range)), half = op("Mul", turns, constant(0.5));
    Value isEven = op("Equal", half, op("Floor", half));
    return node.emit("Where", {isEven, op("Add", low(), rest), op("Sub", high(dim), rest)}, {}, "sample");
  }

  // Where the points lie in pixels, one tensor [N, points...] for each spatial dimension. What lies outside is dealt
  // with pixel by pixel, as ONNX Runtime does.
  void findPlaces(bool isNearest) {
    for (int64_t d = 0; d < rank; ++d) {
      Value index = node.scalar(rank - 1 - d, node.builder().getI64Type(), "index"); // the last dimension comes first
      Value x = node.emit("Gather", {node.input(1), index}, node.attr("axis", -1), "coordinate");
      x = op("Add", x, constant(1));
      x = isAligned ? op("Mul", x, op("Mul", length(d, -1), constant(0.5)))
                    : op("Sub", op("Mul", x, op("Mul", length(d, 0), constant(0.5))), constant(0.5));
      places.push_back(isNearest ? op("Round", x) : x);
    }
  }

  // The image as [N, pixels, C].
  void gatherRows() {
    SmallVector<int64_t> perm{0};
    for (int64_t d = 0; d < rank; ++d)
      perm.push_back(2 + d);
    perm.push_back(1);
    rows = node.emit("Transpose", node.input(0), node.attr("perm", node.builder().getDenseI64ArrayAttr(perm)), "rows");
    graph::Sizes sizes = graph::sizesOf(node.input(0));
    AffineExpr pixels = graph::product(ArrayRef(sizes).drop_front(2), node.context());
    rows = !pixels ? Value()
                   : node.emit("Reshape", {rows, node.sizesValue({sizes[0], pixels, sizes[1]}, false, "sizes")},
                               node.attr("allowzero", 1), "rows");
  }

  // The pixels [N, points..., C] at whole coordinates, some of which may lie outside.
  Value pixel(ArrayRef<Value> at) {
    Type i64 = node.builder().getI64Type();
    Value index, inside;
    for (int64_t d = 0; d < rank; ++d) {
      Value x = at[d];
      if (padding == "zeros") {
        Value isIn = op("And", op("GreaterOrEqual", x, constant(0)), op("LessOrEqual", x, length(d, -1)));
        inside = d ? op("And", inside, isIn) : isIn;
      } else if (padding == "reflection") {
        x = reflected(x, d);
      }
      x = cast(clamped(x, d), i64);
      index = d ? op("Add", op("Mul", index, node.sizesValue({sizeOf(d)}, /*isScalar=*/true, "size")), x) : x;
    }
    Value last = node.ints({-1}, "axis");
    index = node.emit("Unsqueeze", {index, last}, {}, "index");
    Value pixels = node.emit("GatherND", {rows, index}, node.attr("batch_dims", 1), "pixels");
    if (!inside)
      return pixels;
    Value zero = node.scalar(0, node.elementType(0), "zero");
    return node.emit("Where", {node.emit("Unsqueeze", {inside, last}, {}, "inside"), pixels, zero}, {}, "pixels");
  }

  // Whole coordinates below the points, and what the points are above them.
  std::pair<SmallVector<Value>, SmallVector<Value>> split() {
    SmallVector<Value> floors, rests;
    for (Value x : places) {
      floors.push_back(op("Floor", x));
      rests.push_back(op("Sub", x, floors.back()));
    }
    return {floors, rests};
  }

  Value weighted(Value pixels, Value factor) {
    if (number != node.elementType(0))
      factor = cast(factor, node.elementType(0));
    return op("Mul", pixels, node.emit("Unsqueeze", {factor, node.ints({-1}, "axis")}, {}, "weight"));
  }

  // The sum over two pixels along every dimension, one after the other.
  Value linear() {
    auto [floors, rests] = split();
    Value sum;
    for (int64_t i = 0; i < int64_t(1) << rank; ++i) {
      SmallVector<Value> at;
      Value factor;
      for (int64_t d = 0; d < rank; ++d) {
        bool isUpper = i >> d & 1;
        at.push_back(op("Add", floors[d], constant(isUpper)));
        Value along = isUpper ? rests[d] : op("Sub", constant(1), rests[d]);
        factor = d ? op("Mul", factor, along) : along;
      }
      Value part = weighted(pixel(at), factor);
      sum = i ? op("Add", sum, part) : part;
    }
    return sum;
  }

  // One of four numbers for each of the 4^rank pixels around a point, by their place along dimension `dim`.
  Value ofTaps(ArrayRef<double> values, int64_t dim) {
    SmallVector<APFloat> numbers;
    for (int64_t i = 0; i < int64_t(1) << (2 * rank); ++i) {
      bool isInexact;
      numbers.emplace_back(values[i >> (2 * (rank - 1 - dim)) & 3])
          .convert(cast<FloatType>(number).getFloatSemantics(), APFloat::rmNearestTiesToEven, &isInexact);
    }
    auto type = RankedTensorType::get(int64_t(numbers.size()), number);
    return node.constant(DenseElementsAttr::get(type, numbers), "taps");
  }

  // The sum over four pixels along every dimension: these are a dimension of their own, [N, points..., 4^rank], as
  // 16 or 64 pixels one by one would be as many times the code.
  Value cubic() {
    auto [floors, rests] = split();
    SmallVector<Value> at;
    Value factor;
    Value axis = node.ints({1 + rank}, "axis");
    for (int64_t d = 0; d < rank; ++d) {
      Value steps = ofTaps({-1, 0, 1, 2}, d);
      auto ofPoints = [&](Value x) { return node.emit("Unsqueeze", {x, axis}, {}, "points"); };
      at.push_back(op("Add", ofPoints(floors[d]), steps));
      // Keys' function of the distance to the pixel by Horner's rule: one polynomial for the two pixels that are
      // nearer than 1, another one for the others.
      constexpr double a = -0.75, near[] = {a + 2, -(a + 3), 0, 1}, far[] = {a, -5 * a, 8 * a, -4 * a};
      Value x = op("Abs", op("Sub", ofPoints(rests[d]), steps)), along;
      for (int i = 0; i < 4; ++i) {
        Value coefficient = ofTaps({far[i], near[i], near[i], far[i]}, d);
        along = i ? op("Add", op("Mul", along, x), coefficient) : coefficient;
      }
      factor = d ? op("Mul", factor, along) : along;
    }
    return node.emit("ReduceSum", {weighted(pixel(at), factor), axis}, node.attr("keepdims", 0), "sum");
  }

  Node &node;
  std::string padding;
  bool isAligned = false;
  int64_t rank = 0;
  Type number;
  SmallVector<Value> places;
  Value rows;
};

LogicalResult gridSample(Node &node) { return GridSample(node).run(); }

} // namespace

ArrayRef<Rule> gridSampleRules() {
  static constexpr Rule rules[] = {{"GridSample", 2, 2, gridSample}};
  return rules;
}

} // namespace fathom::importer
