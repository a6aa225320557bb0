// Rules of quantised operators: scales shaped to broadcast, integer products as 32-bit ones, the rest as dequantise,
// compute, quantise.
#include "compiler/graph/Shape.h"
#include "compiler/graph/SmallTypes.h"
#include "compiler/graph/TypeText.h"
#include "compiler/import/rules/Small.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>

using namespace mlir;

namespace fathom::importer {

static Value castTo(Node &node, Value value, Type element, StringRef suffix) {
  return node.emit("Cast", value, node.attr("to", TypeAttr::get(element)), suffix);
}

// A scale or zero point of one element for each index of an axis, shaped to broadcast against it: `trailing` axes
// follow that one.
static Value alongAxis(Node &node, Value value, int64_t trailing, StringRef suffix) {
  auto type = value ? dyn_cast<RankedTensorType>(value.getType()) : nullptr;
  if (!type || type.getRank() != 1 || trailing <= 0)
    return value;
  SmallVector<int64_t> sizes(trailing + 1, 1);
  sizes[0] = -1;
  return reshape(node, value, sizes, suffix);
}

static LogicalResult checkPrecision(Node &node) {
  if (node.intAttr("precision", 0) != 0)
    return node.error(ErrorCode::UnsupportedAttribute) << "the precision of " << node.type() << " cannot be chosen";
  return success();
}

// How many axes follow the one that has scales of its own.
static std::optional<int64_t> axesAfter(Node &node, int64_t given) {
  int64_t rank = node.rank(0);
  // Before 13 there was no axis; for one scale it has no meaning, and its default may lie outside the rank.
  if (node.rank(1) == 0)
    return 0;
  std::optional<int64_t> axis = graph::normalizeAxis(given, rank);
  if (!axis) {
    graph::Sizes sizes = graph::sizesOf(node.input(1));
    if (sizes.size() == 1 && graph::isConstant(sizes[0], 1))
      return 0;
    node.error(ErrorCode::BadAttribute) << "axis " << given << " of " << node.type() << " for rank " << rank;
    return std::nullopt;
  }
  return rank - 1 - *axis;
}

// A scale or zero point of one element for each block of an axis, as one for each element of the input.
static Value perElement(Node &node, Value value, int64_t axis, int64_t block, StringRef suffix) {
  auto type = value ? dyn_cast<RankedTensorType>(value.getType()) : nullptr;
  if (!type || type.getRank() == 0)
    return value;
  Type i64 = node.builder().getI64Type();
  Value length = node.sizesValue({graph::sizesOf(node.input(0))[axis]}, /*isScalar=*/true, "length");
  Value numbers = node.emit("Range", {node.scalar(0, i64, "first"), length, node.scalar(1, i64, "by")}, {}, "numbers");
  Value blocks = node.emit("Div", {numbers, node.scalar(block, i64, "block")}, {}, "blocks");
  return node.emit("Gather", {value, blocks}, node.attr("axis", axis), suffix);
}

// The scale and the zero point so that they broadcast to the input; false after a report.
static bool shapeScales(Node &node, Value &scale, Value &zero) {
  int64_t block = node.intAttr("block_size", 0), given = node.intAttr("axis", 1), rank = node.rank(0);
  if (block == 0) {
    std::optional<int64_t> trailing = axesAfter(node, given);
    if (!trailing)
      return false;
    scale = alongAxis(node, scale, *trailing, "scale"), zero = alongAxis(node, zero, *trailing, "zero");
    return scale && zero;
  }
  std::optional<int64_t> axis = graph::normalizeAxis(given, rank);
  auto mayFit = [&](Value value) {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    return !type || type.getRank() == 0 || type.getRank() == rank;
  };
  if (!axis || block < 0 || node.rank(1) != rank || !mayFit(zero)) {
    node.error(ErrorCode::BadAttribute) << "block_size " << block << " along axis " << given << " of " << node.type()
                                        << " for an input of rank " << rank
                                        << "; the scale must have that rank as well";
    return false;
  }
  scale = perElement(node, scale, *axis, block, "scale"), zero = perElement(node, zero, *axis, block, "zero");
  return scale && zero;
}

static Type elementIfAny(Value value) {
  auto type = value ? dyn_cast<RankedTensorType>(value.getType()) : nullptr;
  return type ? type.getElementType() : Type();
}

// What a small type has to be before ordinary ops read it: integers are numbers of 8 bits, floats become f32.
static Value readable(Node &node, Value value, StringRef suffix) {
  Type element = elementIfAny(value);
  if (!element || !graph::isSmall(element))
    return value;
  return isa<IntegerType>(element) ? asNumbers(node, value)
                                   : castSmall(node, value, node.builder().getF32Type(), {}, suffix);
}

// A quotient as a small type. Zero points of floats are zero, so that nothing depends on them.
static Value quantizeToSmall(Node &node, Value scale, Value zero, Type small, bool saturates) {
  Value input = node.input(0);
  if (isa<FloatType>(small)) {
    Value quotient = node.emit("Div", {input, castTo(node, scale, elementIfAny(input), "scale.wide")}, {}, "quotient");
    return castSmall(node, quotient, small, {saturates, "up"}, "");
  }
  // The limits of 8 bits are beyond those of fewer.
  int width = small.getIntOrFloatBitWidth();
  bool isSigned = small.isSignlessInteger();
  Type wide = isSigned ? Type(node.builder().getI8Type()) : graph::storageOf(small);
  Value bytes = node.emit("QuantizeLinear", {input, scale, asNumbers(node, zero)}, {}, "wide");
  Value low = node.scalar(isSigned ? -std::ldexp(1.0, width - 1) : 0, wide, "low");
  Value high = node.scalar(std::ldexp(1.0, isSigned ? width - 1 : width) - 1, wide, "high");
  Value limited = node.emit("Clip", {bytes, low, high}, {}, "limited");
  Value result = fromNumbers(node, limited, small);
  return result ? node.emit("Identity", result) : Value();
}

// Numbers are divided in the type of their scale. Either may be int32, which divides as f32.
static void divideAsFloats(Node &node) {
  auto isInt32 = [](Type type) { return type && type.isSignlessInteger(32); };
  if (isInt32(elementIfAny(node.input(1))))
    node.setInput(1, castTo(node, node.input(1), node.builder().getF32Type(), "scale.float"));
  Type given = elementIfAny(node.input(0)), precise = elementIfAny(node.input(1));
  if (given && isa_and_nonnull<FloatType>(precise) && given != precise && (isInt32(given) || isa<FloatType>(given)))
    node.setInput(0, castTo(node, node.input(0), precise, "precise"));
}

static LogicalResult quantize(Node &node) {
  if (failed(checkPrecision(node)))
    return failure();
  bool saturates = node.intAttr("saturate", 1) != 0;
  node.setInput(1, readable(node, node.input(1), "scale.wide"));
  divideAsFloats(node);
  Value scale = node.input(1), zero = node.input(2);
  // Without a zero point the op makes uint8; another type is told by a zero of it.
  if (node.hasAttr("output_dtype")) {
    int64_t given = node.intAttr("output_dtype", 0);
    Type type = given == 0 ? Type() : node.elementTypeOf(given, "output_dtype");
    if (given != 0 && !type)
      return failure();
    if (type && !node.hasInput(2))
      zero = node.scalar(0, type, "zero_point");
    else if (type && type != node.elementType(2))
      return node.error(ErrorCode::BadAttribute) << "output_dtype is not the type of the zero point";
  }
  if (!shapeScales(node, scale, zero))
    return failure();
  if (Type small = elementIfAny(zero); small && graph::isSmall(small))
    return node.finish(quantizeToSmall(node, scale, zero, small, saturates));
  return node.finish(node.emit("QuantizeLinear", {node.input(0), scale, zero}));
}

static LogicalResult dequantize(Node &node) {
  Type element = node.elementType(0), given;
  if (int64_t number = node.intAttr("output_dtype", 0)) {
    given = node.elementTypeOf(number, "output_dtype");
    if (!given)
      return failure();
    if (!isa<FloatType>(given) || graph::isSmall(given))
      return node.error(ErrorCode::BadAttribute)
             << "output_dtype of DequantizeLinear must be a float of 16 bits or more";
  } else if (graph::isSmall(node.elementType(1))) {
    return node.error(ErrorCode::BadType) << "DequantizeLinear with a scale of "
                                          << graph::elementText(node.elementType(1)) << " needs an output_dtype";
  }
  Type result = given ? given : node.elementType(1);
  bool isSmallFloat = graph::isSmall(element) && isa<FloatType>(element);
  node.setInput(0, readable(node, node.input(0), "wide"));
  node.setInput(1, readable(node, node.input(1), "scale.wide"));
  if (node.hasInput(2))
    node.setInput(2, readable(node, node.input(2), "zero.wide"));
  if (!node.hasInput(0) || !node.hasInput(1))
    return failure();
  Value scale = node.input(1), zero = node.input(2);
  if (!shapeScales(node, scale, zero))
    return failure();
  // Zero points of floats are zero.
  if (isSmallFloat) {
    Type wide = result.isF64() ? result : Type(node.builder().getF32Type());
    Value product = node.emit("Mul", {castTo(node, node.input(0), wide, "number"), castTo(node, scale, wide, "factor")},
                              {}, "product");
    return node.finish(castTo(node, product, result, ""));
  }
  if (result != elementIfAny(scale)) {
    // Neither type may lose anything of the other.
    Type wide = result.isF64() ? result : Type(node.builder().getF32Type());
    scale = castTo(node, scale, wide, "factor");
  }
  Value numbers =
      node.emit("DequantizeLinear", {node.input(0), scale, zero}, {}, elementIfAny(scale) == result ? "" : "numbers");
  return node.finish(elementIfAny(scale) == result ? numbers : castTo(node, numbers, result, ""));
}

// ONNX's own definition of the operator.
static LogicalResult dynamicQuantize(Node &node) {
  Builder &builder = node.builder();
  if (!node.elementType(0).isF32())
    return node.error(ErrorCode::BadType) << "DynamicQuantizeLinear takes float";
  Type f32 = builder.getF32Type(), ui8 = builder.getIntegerType(8, /*isSigned=*/false);
  SmallVector<NamedAttribute> toScalar{node.attr("keepdims", int64_t(0))};
  Value input = node.input(0), zero = node.scalar(0, f32, "zero"), top = node.scalar(255, f32, "top");
  Value low = node.emit("Min", {node.emit("ReduceMin", input, toScalar, "min"), zero}, {}, "low");
  Value high = node.emit("Max", {node.emit("ReduceMax", input, toScalar, "max"), zero}, {}, "high");
  Value range = node.emit("Sub", {high, low}, {}, "range");
  // Nothing but zeros has any scale: 1, as in ONNX Runtime.
  Value isZero = node.emit("Equal", {range, zero}, {}, "is_zero");
  Value scale = node.emit("Where", {isZero, node.scalar(1, f32, "one"), node.emit("Div", {range, top}, {}, "scale")},
                          {}, "scale");
  Value start = node.emit("Sub", {zero, node.emit("Div", {low, scale}, {}, "steps")}, {}, "start");
  Value rounded = node.emit("Round", node.emit("Clip", {start, zero, top}, {}, "clipped"), {}, "rounded");
  Value zeroPoint = castTo(node, rounded, ui8, "zero_point");
  return node.finish({node.emit("QuantizeLinear", {input, scale, zeroPoint}), scale, zeroPoint});
}

// The input as i32, less its zero point.
static Value centred(Node &node, unsigned index, unsigned zeroIndex, int64_t trailing, StringRef name) {
  Type i32 = node.builder().getI32Type();
  Value wide = castTo(node, node.input(index), i32, (name + ".i32").str());
  if (!node.hasInput(zeroIndex))
    return wide;
  Value zero = alongAxis(node, node.input(zeroIndex), trailing, (name + ".zero").str());
  return node.emit("Sub", {wide, castTo(node, zero, i32, (name + ".zero.i32").str())}, {}, (name + ".centred").str());
}

static LogicalResult matMulInteger(Node &node) {
  // Rows of the left matrix have their zero points, and columns of the right one.
  Value lhs = centred(node, 0, 2, 1, "lhs"), rhs = centred(node, 1, 3, 0, "rhs");
  return node.finish(node.emit("MatMul", {lhs, rhs}));
}

// Convolutions take floats: of the type in which every sum that can occur is exact.
static LogicalResult convInteger(Node &node) {
  Builder &builder = node.builder();
  int64_t terms = 1;
  graph::Sizes sizes = graph::sizesOf(node.inputType(1));
  for (size_t axis = 1; axis < sizes.size(); ++axis) {
    std::optional<int64_t> known = graph::constantSize(sizes[axis]);
    if (!known || llvm::MulOverflow(terms, *known, terms))
      terms = INT64_MAX / (255 * 255);
  }
  Type exact = terms < (1 << 24) / (255 * 255) ? builder.getF32Type() : builder.getF64Type();
  Value input = castTo(node, centred(node, 0, 2, 0, "input"), exact, "input.float");
  Value weight = castTo(node, centred(node, 1, 3, node.rank(1) - 1, "weight"), exact, "weight.float");
  FailureOr<SmallVector<NamedAttribute>> attrs = node.takeAttrs("Conv");
  if (failed(attrs))
    return failure();
  Value result = node.emit("Conv", {input, weight}, *attrs, "conv");
  return node.finish(castTo(node, result, builder.getI32Type(), ""));
}

static LogicalResult qLinearMatMul(Node &node) {
  Value lhs = node.emit(
      "DequantizeLinear",
      {node.input(0), alongAxis(node, node.input(1), 1, "lhs.scale"), alongAxis(node, node.input(2), 1, "lhs.zero")},
      {}, "lhs");
  Value rhs = node.emit("DequantizeLinear", {node.input(3), node.input(4), node.input(5)}, {}, "rhs");
  Value product = node.emit("MatMul", {lhs, rhs}, {}, "product");
  return node.finish(node.emit("QuantizeLinear", {product, node.input(6), node.input(7)}));
}

static LogicalResult qLinearConv(Node &node) {
  int64_t trailing = node.rank(3) - 1;
  Value input = node.emit("DequantizeLinear", {node.input(0), node.input(1), node.input(2)}, {}, "input");
  Value weight = node.emit("DequantizeLinear",
                           {node.input(3), alongAxis(node, node.input(4), trailing, "weight.scale"),
                            alongAxis(node, node.input(5), trailing, "weight.zero")},
                           {}, "weight");
  Value bias = node.none();
  if (node.hasInput(8)) {
    // Its scale is the product of the other two, and its zero point 0.
    Value scale = node.emit("Mul", {node.input(1), node.input(4)}, {}, "bias.scale");
    bias = node.emit("DequantizeLinear", {node.input(8), scale}, {}, "bias");
  }
  FailureOr<SmallVector<NamedAttribute>> attrs = node.takeAttrs("Conv");
  if (failed(attrs))
    return failure();
  Value result = node.emit("Conv", {input, weight, bias}, *attrs, "conv");
  return node.finish(node.emit("QuantizeLinear", {result, node.input(6), node.input(7)}));
}

ArrayRef<Rule> quantizedRules() {
  static constexpr Rule rules[] = {{"QuantizeLinear", 2, 3, quantize},
                                   {"DequantizeLinear", 2, 3, dequantize},
                                   {"DynamicQuantizeLinear", 1, 1, dynamicQuantize},
                                   {"MatMulInteger", 2, 4, matMulInteger},
                                   {"ConvInteger", 2, 4, convInteger},
                                   {"QLinearMatMul", 8, 8, qLinearMatMul},
                                   {"QLinearConv", 8, 9, qLinearConv}};
  return rules;
}

} // namespace fathom::importer
