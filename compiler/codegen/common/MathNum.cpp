// The arithmetic on MLIR values that the math functions are written in.
#include "compiler/codegen/common/MathNum.h"
#include "mlir/IR/BuiltinTypes.h"

using namespace mlir;

namespace fathom::mathlowering {

Type Context::withElement(Type type, Type element) {
  if (auto shaped = dyn_cast<ShapedType>(type))
    return shaped.clone(element);
  return element;
}

static Value splat(Context &c, Type type, TypedAttr scalar) {
  if (auto shaped = dyn_cast<ShapedType>(type))
    return c.make<arith::ConstantOp>(DenseElementsAttr::get(shaped, Attribute(scalar)));
  return c.make<arith::ConstantOp>(scalar);
}

Value Context::constant(Type type, double value) {
  return splat(*this, type, b.getFloatAttr(getElementTypeOrSelf(type), value));
}

Value Context::constant(Type type, int64_t value) {
  Type element = getElementTypeOrSelf(type);
  return splat(*this, type,
               b.getIntegerAttr(
                   element, APInt(element.getIntOrFloatBitWidth(), value, /*isSigned=*/true, /*implicitTrunc=*/true)));
}

Mask operator!(Mask x) {
  return {{x.c, x.c->make<arith::XOrIOp>(x.v, splat(*x.c, x.type(), x.c->b.getBoolAttr(true)))}};
}

Mask compare(arith::CmpIPredicate predicate, Int x, Int y) {
  return {{x.c, x.c->make<arith::CmpIOp>(predicate, x.v, y.v)}};
}

Mask compare(arith::CmpFPredicate predicate, Num x, Num y) {
  return {{x.c, x.c->make<arith::CmpFOp>(predicate, x.v, y.v)}};
}

Num select(Mask mask, Num x, Num y) { return {{x.c, x.c->make<arith::SelectOp>(mask.v, x.v, y.v)}}; }
Int select(Mask mask, Int x, Int y) { return {{x.c, x.c->make<arith::SelectOp>(mask.v, x.v, y.v)}}; }

Num clampBelow(Num x, double low) {
  if (x.c->options.hasMinMax)
    return {{x.c, x.c->make<arith::MaximumFOp>(x.v, x.k(low).v)}};
  return select(x < low, x.k(low), x);
}

Num clampAbove(Num x, double high) {
  if (x.c->options.hasMinMax)
    return {{x.c, x.c->make<arith::MinimumFOp>(x.v, x.k(high).v)}};
  return select(x > high, x.k(high), x);
}

Num flipSign(Num x, Num sign) {
  Int signBit = bits(sign) & (int64_t(1) << (x.bitWidth() - 1));
  return fromBits(bits(x) ^ signBit);
}

Num fma(Num x, Num y, Num z) {
  if (!x.c->options.hasFma)
    return x * y + z;
  return {{x.c, x.c->make<math::FmaOp>(x.v, y.v, z.v)}};
}

Int bits(Num x) {
  Type type = Context::withElement(x.type(), x.c->b.getIntegerType(x.bitWidth()));
  return {{x.c, x.c->make<arith::BitcastOp>(type, x.v)}};
}

static FloatType floatType(Context &c, unsigned width) {
  return width == 32 ? FloatType(c.b.getF32Type()) : c.b.getF64Type();
}

Num fromBits(Int x) {
  return {{x.c, x.c->make<arith::BitcastOp>(Context::withElement(x.type(), floatType(*x.c, x.bitWidth())), x.v)}};
}

Num toFloat(Int x, Num like) {
  if (like.isSingle())
    return {{x.c, x.c->make<arith::SIToFPOp>(like.type(), x.v)}};
  return fromBits(x + bits(like.k(roundingConstant(like)))) - roundingConstant(like);
}

Num widen(Num x) { return {{x.c, x.c->make<arith::ExtFOp>(Context::withElement(x.type(), x.c->b.getF64Type()), x.v)}}; }
Num narrow(Num x) {
  return {{x.c, x.c->make<arith::TruncFOp>(Context::withElement(x.type(), x.c->b.getF32Type()), x.v)}};
}

Num polynomial(Num x, Coefficients coefficients) {
  const double *c = coefficients.begin();
  size_t count = coefficients.size(), i = count - 1;
  if (count < 5) {
    Num sum = x.k(c[i]);
    while (i-- > 0)
      sum = fma(sum, x, c[i]);
    return sum;
  }
  // Pairs first: a chain of half the length, as a vector's worth of lanes is too little to hide the latency of a whole
  // one, and half as many additions of constants, which instructions that overwrite what they add to must copy. Long
  // ones in fours.
  size_t each = count < 12 ? 2 : 4;
  Num square = x * x, power = each == 2 ? square : square * square;
  auto pair = [&](size_t first) { return first + 1 < count ? fma(x, c[first + 1], c[first]) : x.k(c[first]); };
  auto group = [&](size_t first) {
    return each == 4 && first + 2 < count ? fma(pair(first + 2), square, pair(first)) : pair(first);
  };
  i -= i % each;
  Num sum = group(i);
  while (i > 0)
    sum = fma(sum, power, group(i -= each));
  return sum;
}

Pair twoSum(Num x, Num y) {
  Num sum = x + y;
  Num yRounded = sum - x;
  return {sum, (x - (sum - yRounded)) + (y - yRounded)};
}

Pair fastTwoSum(Num x, Num y) {
  Num sum = x + y;
  return {sum, y - (sum - x)};
}

Pair twoProduct(Num x, Num y) {
  Num product = x * y;
  if (x.c->options.hasFma)
    return {product, fma(x, y, -product)};
  // Dekker: halves of the mantissas multiply exactly.
  double splitter = x.isSingle() ? 4097.0 : 134217729.0;
  auto half = [&](Num z) {
    Num scaled = z * splitter;
    return scaled - (scaled - z);
  };
  Num xHigh = half(x), yHigh = half(y), xLow = x - xHigh, yLow = y - yHigh;
  Num error = ((xHigh * yHigh - product) + xHigh * yLow + xLow * yHigh) + xLow * yLow;
  return {product, error};
}

} // namespace fathom::mathlowering
