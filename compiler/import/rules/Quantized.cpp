// Rules of quantised operators: scales shaped to broadcast, small types by wider ones.
#include "compiler/graph/Shape.h"
#include "compiler/graph/SmallTypes.h"
#include "compiler/graph/TypeText.h"
#include "compiler/import/rules/Small.h"
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

// Operands of quantised products and convolutions that have one element for all numbers. Where that is not known of
// them, they shall not be taken for others.
static void takeSingle(Node &node, ArrayRef<unsigned> operands) {
  for (unsigned i : operands)
    if (graph::Sizes sizes = node.hasInput(i) ? graph::sizesOf(node.inputType(i)) : graph::Sizes();
        sizes.size() == 1 && !graph::constantSize(sizes[0]))
      node.setInput(i, reshape(node, node.input(i), {}, "single"));
}

// Those that have one for each index of an axis, which so many others follow.
static void takeAlong(Node &node, int64_t trailing, ArrayRef<unsigned> operands) {
  for (unsigned i : operands)
    if (node.hasInput(i))
      node.setInput(i, alongAxis(node, node.input(i), trailing, "shaped"));
}

// Rows of the left matrix have scales of their own, as columns of the right one. A vector is a row without an axis.
static LogicalResult matMulInteger(Node &node) {
  takeAlong(node, std::min<int64_t>(1, node.rank(0) - 1), {2});
  return copyNode(node);
}

static LogicalResult qLinearMatMul(Node &node) {
  takeAlong(node, std::min<int64_t>(1, node.rank(0) - 1), {1, 2});
  takeSingle(node, {6, 7});
  return copyNode(node);
}

static LogicalResult convInteger(Node &node) {
  takeSingle(node, {2});
  takeAlong(node, node.rank(1) - 1, {3});
  return copyNode(node);
}

static LogicalResult qLinearConv(Node &node) {
  takeSingle(node, {1, 2, 6, 7});
  takeAlong(node, node.rank(3) - 1, {4, 5});
  return copyNode(node);
}

ArrayRef<Rule> quantizedRules() {
  static constexpr Rule rules[] = {{"QuantizeLinear", 2, 3, quantize},     {"DequantizeLinear", 2, 3, dequantize},
                                   {"MatMulInteger", 2, 4, matMulInteger}, {"QLinearMatMul", 8, 8, qLinearMatMul},
                                   {"ConvInteger", 2, 4, convInteger},     {"QLinearConv", 8, 9, qLinearConv}};
  return rules;
}

} // namespace fathom::importer
