// Small element types by ordinary ops: floats are decoded by a table of all codes and encoded by arithmetic on the bits
// of a wider float; integers are numbers of 8 bits that wrap when something is cast to them.
#include "compiler/import/rules/Small.h"
#include "compiler/graph/SmallTypes.h"
#include "compiler/import/rules/Parts.h"
#include "llvm/ADT/APFloat.h"
#include <cmath>

using namespace mlir;

namespace fathom::importer {

bool takesSmallTypes(StringRef op, MLIRContext *context) {
  // Beside the ops that move elements: those that make numbers of them or are made of them, and control flow.
  static const llvm::StringSet<> others = {
      "BitCast", "Cast", "CastLike", "ConstantOfShape", "DequantizeLinear", "If", "Loop", "QuantizeLinear", "Scan"};
  return movesAnyElement(op, context) || others.contains(op);
}

static Value bitCast(Node &node, Value value, Type to, StringRef suffix) {
  return node.emit("BitCast", value, node.attr("to", TypeAttr::get(to)), suffix);
}

static Value asStorage(Node &node, Value value) {
  return value ? bitCast(node, value, graph::storageOf(elementOf(value)), "bytes") : Value();
}

static Value lowBits(Node &node, Value bytes, Type small) {
  return withNumber(node, "BitwiseAnd", bytes, std::ldexp(1.0, small.getIntOrFloatBitWidth()) - 1, "code");
}

Value asNumbers(Node &node, Value value) {
  if (!value)
    return {};
  Type small = elementOf(value);
  Value code = lowBits(node, asStorage(node, value), small);
  if (!small.isSignlessInteger())
    return code;
  // Flipping the sign's bit and taking its worth away extends it.
  double sign = std::ldexp(1.0, int(small.getIntOrFloatBitWidth()) - 1);
  Value bytes = castAs(node, code, node.builder().getI8Type(), "bytes");
  return withNumber(node, "Sub", withNumber(node, "BitwiseXor", bytes, sign, "flipped"), sign, "signed");
}

Value fromNumbers(Node &node, Value numbers, Type small) {
  if (!numbers)
    return {};
  Value bytes = castAs(node, numbers, graph::storageOf(small), "bytes");
  return bitCast(node, lowBits(node, bytes, small), small, "small");
}

// Every small float is a single-precision one. A byte has 256 codes, of which a type of 4 bits has 16, again and again.
static Value decode(Node &node, Value value) {
  auto small = cast<FloatType>(elementOf(value));
  constexpr int codes = 256;
  SmallVector<float> numbers;
  for (unsigned code = 0; code < codes; ++code) {
    APFloat number(small.getFloatSemantics(), APInt(8, code).trunc(small.getWidth()));
    bool lost, isNan = number.isNaN();
    number.convert(APFloat::IEEEsingle(), APFloat::rmNearestTiesToEven, &lost);
    // The conversion of a NaN without a fraction would be infinity.
    numbers.push_back(isNan ? std::numeric_limits<float>::quiet_NaN() : number.convertToFloat());
  }
  ArrayRef<char> bytes(reinterpret_cast<const char *>(numbers.data()), numbers.size() * sizeof(float));
  Value table = node.table(bytes, RankedTensorType::get({codes}, node.builder().getF32Type()), "codes");
  Value code = castAs(node, asStorage(node, value), node.builder().getI32Type(), "code");
  return node.emit("Gather", {table, code}, node.attr("axis", int64_t(0)), "decoded");
}

namespace {

// How a float with a sign is laid out. Codes are those of magnitudes.
struct Layout {
  int mantissa, bias;
  int64_t largest;             // the largest number
  std::optional<int> beyond;   // what lies beyond it unless numbers saturate; nullopt: no number
  int64_t nan;                 // no number
  bool hasNegativeZero = true; // otherwise its code is the only one that is no number
  bool alwaysSaturates = false;
};

Layout layoutOf(Type small) {
  if (isa<Float8E4M3FNType>(small))
    return {3, 7, 0x7e, std::nullopt, 0x7f};
  if (isa<Float8E4M3FNUZType>(small))
    return {3, 8, 0x7f, std::nullopt, 0x80, /*hasNegativeZero=*/false};
  if (isa<Float8E5M2Type>(small))
    return {2, 15, 0x7b, 0x7c, 0x7e};
  if (isa<Float8E5M2FNUZType>(small))
    return {2, 16, 0x7f, std::nullopt, 0x80, /*hasNegativeZero=*/false};
  // float4e2m1 has no code for what is no number; it becomes negative zero, as ml_dtypes has it.
  return {1, 1, 0x7, std::nullopt, 0x8, /*hasNegativeZero=*/true, /*alwaysSaturates=*/true};
}

// Integer arithmetic on the bits of a single-precision float. Doubles become those first, as in ONNX's reference.
class Bits {
public:
  Bits(Node &node, Value number)
      : node(node), real(node.builder().getF32Type()), type(node.builder().getIntegerType(32, /*isSigned=*/false)),
        bits(bitCast(node, castAs(node, number, real, "single"), type, "bits")) {}

  static constexpr int width = 32, mantissa = 23, bias = 127;

  Value k(double value) { return node.scalar(value, type, "bits"); }
  Value binary(StringRef op, Value a, Value b) { return node.emit(op, {a, b}, {}, "encoded"); }
  Value shift(Value value, int64_t by, StringRef direction) {
    return node.emit("BitShift", {value, k(double(by))}, node.attr("direction", direction), "encoded");
  }
  Value right(Value value, int64_t by) { return shift(value, by, "RIGHT"); }
  Value left(Value value, int64_t by) { return shift(value, by, "LEFT"); }
  Value add(Value a, Value b) { return binary("Add", a, b); }
  Value sub(Value a, Value b) { return binary("Sub", a, b); }
  Value both(Value a, Value b) { return binary("BitwiseAnd", a, b); }
  Value either(Value a, Value b) { return binary("BitwiseOr", a, b); }
  Value above(Value a, Value b) { return binary("Greater", a, b); }
  Value choose(Value condition, Value a, Value b) { return node.emit("Where", {condition, a, b}, {}, "encoded"); }
  // The bits of a power of two.
  Value power(int exponent) { return k(std::ldexp(double(exponent + bias), mantissa)); }

  Node &node;
  Type real, type;
  Value bits;
};

// To the nearest, ties to even.
Value encodeSigned(Node &node, Value number, Type small, bool saturates) {
  Layout to = layoutOf(small);
  Bits b(node, number);
  int drop = b.mantissa - to.mantissa, least = 1 - to.bias;
  Value one = b.k(1), magnitude = b.right(b.left(b.bits, 1), 1);
  Value sign = b.left(b.right(b.bits, b.width - 1), cast<FloatType>(small).getWidth() - 1);
  // Normal numbers: what is dropped is rounded, a carry goes on into the exponent, whose bias is the other one's then.
  Value odd = b.both(b.right(magnitude, drop), one);
  Value rounded = b.right(b.add(b.add(magnitude, b.k(std::ldexp(1.0, drop - 1) - 1)), odd), drop);
  Value normal = b.sub(rounded, b.k(std::ldexp(double(b.bias - to.bias), to.mantissa)));
  // Subnormal ones: a sum with a number whose last bit is worth as much as theirs is rounded by the addition itself.
  int anchor = least - to.mantissa + b.mantissa;
  Value real = bitCast(node, magnitude, b.real, "magnitude");
  Value sum = node.emit("Add", {real, node.scalar(std::ldexp(1.0, anchor), b.real, "anchor")}, {}, "anchored");
  Value subnormal = b.sub(bitCast(node, sum, b.type, "anchored.bits"), b.power(anchor));
  Value code = b.choose(b.above(b.power(least), magnitude), subnormal, normal);
  // Beyond the largest number. Infinity is larger than any.
  Value isBeyond = b.above(code, b.k(double(to.largest)));
  Value isNan = b.above(magnitude, b.power(b.bias + 1));
  bool limits = saturates || to.alwaysSaturates;
  code = b.choose(isBeyond, b.k(double(limits ? to.largest : to.beyond.value_or(to.nan))), code);
  if (!limits && !to.beyond)
    isNan = b.binary("Or", isNan, isBeyond);
  if (!to.hasNegativeZero || to.alwaysSaturates) {
    // What is no number has one code, and with the types without negative zero so does zero.
    Value isSigned = to.hasNegativeZero ? Value() : b.above(code, b.k(0));
    code = b.either(code, isSigned ? b.choose(isSigned, sign, b.k(0)) : sign);
    code = b.choose(isNan, b.k(double(to.nan)), code);
  } else {
    code = b.either(b.choose(isNan, b.k(double(to.nan)), code), sign);
  }
  return bitCast(node, castAs(node, code, graph::storageOf(small), "code"), small, "small");
}

// The exponent alone. Signs are lost, as the standard has it.
Value encodeExponent(Node &node, Value number, Type small, const SmallRounding &rounding) {
  Bits b(node, number);
  constexpr int64_t top = 0xff;
  Value exponent = b.both(b.right(b.bits, b.mantissa), b.k(top));
  Value fraction = b.both(b.bits, b.k(std::ldexp(1.0, b.mantissa) - 1));
  if (rounding.mode != "down") {
    Value raises = b.above(fraction, b.k(0));
    if (rounding.mode == "nearest") {
      // Ties to even: the last bit is odd unless the number is subnormal.
      Value half = b.k(std::ldexp(1.0, b.mantissa - 1)), zero = b.k(0);
      Value isTie = b.binary("And", b.binary("Equal", fraction, half), b.above(exponent, zero));
      raises = b.binary("Or", b.above(fraction, half), isTie);
    }
    Value limit = b.k(double(rounding.saturates ? top - 1 : top));
    raises = b.binary("And", raises, b.above(limit, exponent));
    exponent = b.add(exponent, b.choose(raises, b.k(1), b.k(0)));
  }
  return bitCast(node, castAs(node, exponent, graph::storageOf(small), "code"), small, "small");
}

} // namespace

Value castSmall(Node &node, Value value, Type to, SmallRounding rounding, StringRef suffix) {
  if (!value)
    return {};
  Type from = elementOf(value);
  if (from == to)
    return node.emit("Identity", value, {}, suffix);
  if (graph::isSmall(from))
    value = isa<FloatType>(from) ? decode(node, value) : asNumbers(node, value);
  if (!value)
    return {};
  if (!graph::isSmall(to)) {
    Value wide = castAs(node, value, to, "wide");
    return wide ? node.emit("Identity", wide, {}, suffix) : Value();
  }
  // Integers go through wider ones, of which the low bits are kept.
  Value small = isa<IntegerType>(to) ? fromNumbers(node, castAs(node, value, node.builder().getI32Type(), "wide"), to)
                : isa<Float8E8M0FNUType>(to) ? encodeExponent(node, value, to, rounding)
                                             : encodeSigned(node, value, to, rounding.saturates);
  return small ? node.emit("Identity", small, {}, suffix) : Value();
}

void storeSmallTypes(ModuleOp module) {
  AttrTypeReplacer replacer;
  replacer.addReplacement([](Type type) -> std::optional<Type> {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!tensor || !graph::isSmall(tensor.getElementType()))
      return std::nullopt;
    return tensor.clone(graph::storageOf(tensor.getElementType()));
  });
  auto stored = [](auto attr) -> std::optional<RankedTensorType> {
    auto type = dyn_cast<RankedTensorType>(attr.getType());
    if (!type || !graph::isSmall(type.getElementType()))
      return std::nullopt;
    return RankedTensorType::get(type.getShape(), graph::storageOf(type.getElementType()));
  };
  replacer.addReplacement([=](DenseElementsAttr attr) -> std::optional<Attribute> {
    std::optional<RankedTensorType> type = stored(attr);
    return type ? std::optional<Attribute>(DenseElementsAttr::getFromRawBuffer(*type, attr.getRawData()))
                : std::nullopt;
  });
  replacer.addReplacement([=](DenseResourceElementsAttr attr) -> std::optional<Attribute> {
    std::optional<RankedTensorType> type = stored(attr);
    return type ? std::optional<Attribute>(DenseResourceElementsAttr::get(*type, attr.getRawHandle())) : std::nullopt;
  });
  // BitCast is what goes from one to the other, and nothing is left of it. Its attribute names the type alone, which no
  // other op has.
  SmallVector<graph::BitCastOp> views;
  bool hasSmall = false;
  auto isSmall = [](Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return tensor && graph::isSmall(tensor.getElementType());
  };
  module.walk([&](Operation *op) {
    hasSmall |= llvm::any_of(op->getResultTypes(), isSmall) || llvm::any_of(op->getOperandTypes(), isSmall);
    if (auto view = dyn_cast<graph::BitCastOp>(op))
      views.push_back(view);
  });
  auto main = module.lookupSymbol<func::FuncOp>("main");
  hasSmall |= main && llvm::any_of(main.getArgumentTypes(), isSmall);
  if (!hasSmall)
    return;
  replacer.recursivelyReplaceElementsIn(module, /*replaceAttrs=*/true, /*replaceLocs=*/false, /*replaceTypes=*/true);
  for (graph::BitCastOp view : views)
    if (view.getInput().getType() == view.getType()) {
      view.getResult().replaceAllUsesWith(view.getInput());
      view.erase();
    } else {
      view.setTo(graph::storageOf(view.getTo()));
    }
}

} // namespace fathom::importer
