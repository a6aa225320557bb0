// exp and its relatives. All write x = n log 2 + r with |r| <= log(2)/2, approximate e^r - 1 by r + r^2 q(r) and scale
// by 2^n. The polynomials are minimax fits of our own (Remez, coefficients rounded to the type). Where e^-x is wanted,
// a sign of -1 goes into the constants, which is cheaper than negating x.
#include "compiler/codegen/common/MathFunctions.h"
#include <cmath>

namespace fathom::mathlowering {

namespace {

constexpr double kLog2E = 1.44269504088896340736;
constexpr double kLog2 = 0.693147180559945309417;

struct Reduced {
  Num r;
  Int sum; // the bits of n + bias + the rounding constant
};

// Of sign * x; what comes back is sign * r.
Reduced reduce(Num x, int64_t bias, double sign = 1) {
  double rounding = roundingConstant(x) + bias;
  Num sum = fma(x, sign * kLog2E, rounding);
  Num n = sum - rounding;
  // log 2 in two parts (Cody and Waite's for f32, fdlibm's for f64); n times the first is exact.
  Num r = fma(n, pick(x, -sign * 0.693359375, -sign * 6.93147180369123816490e-01), x);
  return {fma(n, pick(x, sign * 2.12194440e-4, -sign * 1.90821492927058770002e-10), r), bits(sum)};
}

// e^r - 1 within 2^-26 (f64: 2^-60) of itself.
Num expm1Reduced(Num r) {
  Num q = polynomial(r, {0.49999997, 0.166665375, 0.0416677222, 0.00836722553, 0.00138435501},
                     {0.5, 0.16666666666666677, 0.041666666666666699, 0.008333333333321714, 0.0013888888888871416,
                      0.00019841269885019532, 2.4801587322231676e-05, 2.7557245975498378e-06, 2.7557302221675825e-07,
                      2.5108270415473557e-08, 2.08988942840562e-09});
  return fma(r * r, q, r);
}

// e^r - 1 within 2^-23 of e^r in f32, a coefficient cheaper: for what is added to 1. For sign * r, it is times the
// sign.
Num expm1Coarse(Num r, double sign = 1) {
  if (!r.isSingle())
    return sign < 0 ? -expm1Reduced(-r) : expm1Reduced(r);
  Num square = r * r;
  Num q = fma(fma(square, 0.00831268542, 0.166671127), r, fma(square, sign * 0.0418901891, sign * 0.499992311));
  return fma(square, q, r);
}

// x * 2^n from a sum with twice the exponent's bias, for n in twice the exponents' range: two factors, so that the
// product overflows late and rounds once into the denormals. Factors, and not an addition to x's exponent, keep a NaN.
Num scale(Num x, Int sum) {
  Int half = shiftRightLogical(sum, 1);
  return x * powerOfTwo(half, x) * powerOfTwo(sum - half, x);
}

} // namespace

Num exp(Num x) {
  // Outside, the result is 0 or infinity anyway.
  x = clampAbove(clampBelow(x, pick(x, -104.0, -746.0)), pick(x, 89.0, 710.0));
  auto [r, sum] = reduce(x, 2 * exponentBias(x));
  return scale(expm1Reduced(r) + 1.0, sum);
}

Num expAtMostZero(Num x) {
  int64_t shift = x.isSingle() ? 64 : 512;
  x = clampBelow(x, pick(x, -104.0, -746.0));
  auto [r, sum] = reduce(x, exponentBias(x) + shift);
  Num power = powerOfTwo(sum, x);
  return fma(power, expm1Coarse(r), power) * std::ldexp(1.0, -shift);
}

// (1 + e^-x) 2^shift for x from where that is finite on; from 40 on it does not change.
static Num onePlusExpOfMinus(Num x, int64_t shift) {
  auto [r, sum] = reduce(clampAbove(x, 40.0), exponentBias(x) + shift, -1);
  Num power = powerOfTwo(sum, x);
  return fma(-power, expm1Coarse(r, -1), power + std::ldexp(1.0, shift));
}

Num sigmoid(Num x) {
  // The fraction is expanded by a small power of two: e^-x may be as large as a denormal result needs it.
  int64_t shift = x.isSingle() ? -64 : -512;
  return std::ldexp(1.0, shift) / onePlusExpOfMinus(clampBelow(x, pick(x, -104.0, -746.0)), shift);
}

Num swish(Num x) {
  Num low = clampBelow(x, pick(x, -88.0, -709.0));
  return select(equal(x, -kInfinity), kNan, low / onePlusExpOfMinus(low, 0));
}

Num timesExp(Num factor, Num x, Num low) {
  x = clampAbove(clampBelow(x, pick(x, -104.0, -746.0)), pick(x, 89.0, 710.0));
  auto [r, sum] = reduce(x, 2 * exponentBias(x));
  return scale(fma(factor, expm1Reduced(r + low), factor), sum);
}

Num exp2(Num x) {
  x = clampAbove(clampBelow(x, pick(x, -151.0, -1076.0)), pick(x, 129.0, 1025.0));
  double rounding = roundingConstant(x) + 2 * exponentBias(x);
  Num sum = x + rounding;
  Num fraction = x - (sum - rounding);
  return scale(expm1Reduced(fraction * kLog2) + 1.0, bits(sum));
}

Num expm1(Num x) {
  Num clamped = clampAbove(clampBelow(x, pick(x, -20.0, -40.0)), pick(x, 89.0, 710.0));
  // 2^n (e^r - 1) + (2^n - 1), halved because 2^n may overflow where the result does not.
  auto [r, sum] = reduce(clamped, exponentBias(x) - 1);
  Num half = powerOfTwo(sum, x);
  Num result = fma(half, expm1Reduced(r), half - 0.5) * 2.0;
  // Halving rounds denormals, and -0 must stay.
  return select(abs(x) < pick(x, 0x1p-25, 0x1p-54), x, result);
}

Num tanh(Num x) {
  // (e^2|x| - 1) / (e^2|x| + 1), with e^2|x| - 1 as a whole so that nothing cancels near 0.
  Num doubled = clampAbove(abs(x), pick(x, 10.0, 22.0)) * 2.0;
  Num expm1 = expm1Near(doubled);
  return copySign(expm1 / (expm1 + 2.0), x);
}

Num sinh(Num x) {
  Num magnitude = clampAbove(abs(x), pick(x, 91.0, 712.0));
  auto [r, sum] = reduce(magnitude, 2 * exponentBias(x) - 1);
  Num p = expm1Reduced(r);
  // From 1 on e^|x|/2 - e^-|x|/2; below, the same through e^|x| - 1.
  Num half = scale(p + 1.0, sum);
  Num power = powerOfTwo(sum - (exponentBias(x) - 1), x);
  Num expm1 = fma(power, p, power - 1.0);
  Num small = (expm1 + expm1 / (expm1 + 1.0)) * 0.5;
  return copySign(select(magnitude < 1.0, small, half - 0.25 / half), x);
}

Num cosh(Num x) {
  Num magnitude = clampAbove(abs(x), pick(x, 91.0, 712.0));
  auto [r, sum] = reduce(magnitude, 2 * exponentBias(x) - 1);
  Num half = scale(expm1Reduced(r) + 1.0, sum);
  return half + 0.25 / half;
}

Num expm1Near(Num x) {
  double rounding = roundingConstant(x) + double(exponentBias(x));
  Num sum = fma(x, kLog2E, rounding);
  // The nearest f32 is 2e-9 from log 2, which is enough where n is small.
  Num r = x.isSingle() ? fma(sum - rounding, -kLog2, x) : reduce(x, exponentBias(x)).r;
  Num power = powerOfTwo(bits(sum), x);
  return fma(power, expm1Reduced(r), power - 1.0);
}

} // namespace fathom::mathlowering
