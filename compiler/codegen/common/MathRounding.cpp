// What needs no approximation: rounding to integers and multiply-add for targets without the instructions, and the
// remainder.
#include "compiler/codegen/common/MathFunctions.h"

namespace fathom::mathlowering {

// From 2^23 (f64: 2^52) on every number is an integer.
static double firstWithoutFraction(Num x) { return pick(x, 0x1p23, 0x1p52); }

Num expandRoundEven(Num x) {
  Num magnitude = abs(x);
  Num rounded = (magnitude + firstWithoutFraction(x)) - firstWithoutFraction(x);
  return select(magnitude < firstWithoutFraction(x), copySign(rounded, x), x);
}

Num expandFloor(Num x) {
  Num nearest = expandRoundEven(x);
  return select(nearest > x, nearest - 1.0, nearest);
}

Num expandCeil(Num x) {
  Num nearest = expandRoundEven(x);
  return copySign(select(nearest < x, nearest + 1.0, nearest), x);
}

Num expandTrunc(Num x) { return copySign(expandFloor(abs(x)), x); }

Num expandRound(Num x) {
  Num magnitude = abs(x);
  Num down = expandFloor(magnitude);
  return copySign(select(magnitude - down >= 0.5, down + 1.0, down), x);
}

// Rounds once in f32: the product is exact in f64, and a sum rounded there to odd rounds correctly again. In f64 a
// double rounding remains.
Num expandFma(Num x, Num y, Num z) {
  if (!x.c->options.strict)
    return x * y + z;
  if (!x.isSingle()) {
    Pair product = twoProduct(x, y);
    Pair sum = twoSum(product.high, z);
    Num result = sum.high + (sum.low + product.low);
    return select(abs(result) < kInfinity, result, x * y + z);
  }
  auto [sum, error] = twoSum(widen(x) * widen(y), widen(z));
  Int encoded = bits(sum);
  Mask inexact = (error < 0.0) | (error > 0.0);
  Mask even = equal(encoded & 1, 0);
  // One step towards the error, which is up in magnitude if the signs agree.
  Int towards = select((bits(error) ^ encoded) < 0, encoded.k(-1), encoded.k(1));
  return narrow(select(inexact & even, fromBits(encoded + towards), sum));
}

// Long division in a large base: x = X 2^d and y = Y on a common scale with X and Y in [1, 2); then X 2^d mod Y by
// shifts of up to `digit` bits at a time. Each quotient is an integer that a float holds, so each partial remainder is
// exact; a quotient that is off by one leaves a remainder of the other sign.
Num remainder(Num x, Num y) {
  int64_t mantissa = mantissaBits(x), bias = exponentBias(x);
  int64_t digit = pick(x, 21, 50);
  int64_t steps = pick(x, 277 / 21 + 1, 2098 / 50 + 1);
  Int significandMask = bits(x.k(0.0)).k((int64_t(1) << mantissa) - 1);
  struct Parts {
    Num significand;
    Int exponent; // biased
  };
  auto parts = [&](Num v) -> Parts {
    Mask tiny = v < pick(v, 0x1p-126, 0x1p-1022);
    Int encoded = bits(select(tiny, v * 0x1p60, v));
    Int exponent = shiftRightLogical(encoded, mantissa) - select(tiny, encoded.k(60), encoded.k(0));
    return {fromBits((encoded & significandMask) | (bias << mantissa)), exponent};
  };
  Num dividend = abs(x), divisor = abs(y);
  Parts a = parts(dividend), b = parts(divisor);
  Num inverse = 1.0 / b.significand;
  Num rest = a.significand;
  Int distance = a.exponent - b.exponent;
  Int zero = distance.k(0);
  auto atMost = [](Int v, Int limit) { return select(compare(mlir::arith::CmpIPredicate::sgt, v, limit), limit, v); };
  distance = select(distance < 0, zero, distance);
  for (int64_t step = 0; step < steps; ++step) {
    Int shift = atMost(distance, zero.k(digit));
    distance = distance - shift;
    Num shifted = rest * fromBits((shift + bias) << mantissa);
    Num quotient = roundEven(shifted * inverse);
    if (x.c->options.hasFma) {
      rest = fma(-quotient, b.significand, shifted);
    } else {
      Pair product = twoProduct(quotient, b.significand);
      rest = (shifted - product.high) - product.low;
    }
  }
  rest = select(rest < 0.0, rest + b.significand, rest);
  // Back to the divisor's exponent in two steps; exact, because the result is representable.
  Int exponent = b.exponent - bias;
  Int half = exponent >> 1;
  Num result = rest * fromBits((half + bias) << mantissa) * fromBits((exponent - half + bias) << mantissa);
  result = select(dividend < divisor, dividend, result);
  Mask defined = (dividend < kInfinity) & (divisor > 0.0);
  return select(defined, copySign(result, x), kNan);
}

} // namespace fathom::mathlowering
