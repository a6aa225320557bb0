// Powers and roots.
#include "compiler/codegen/common/MathFunctions.h"

namespace fathom::mathlowering {

namespace {

// The sign of a power and its value where the formula with the logarithm has none, as C's pow defines them.
Num withPowLimits(Num x, Num y, Num magnitude) {
  Mask integral = equal(floor(y), y);
  Num halved = y * 0.5;
  Mask odd = integral & differs(floor(halved), halved);
  Num result = select(odd, copySign(magnitude, x), magnitude);
  Mask undefined = (x < 0.0) & (x > -kInfinity) & !integral;
  result = select(undefined, kNan, result);
  Mask one = equal(y, 0.0) | equal(x, 1.0) | (equal(x, -1.0) & equal(abs(y), kInfinity));
  return select(one, 1.0, result);
}

// 2^(y log2|x|) in f64, for f32: log2|x| within 2^-45 leaves 2^-37 in the exponent, which is at most 150 where it
// matters.
Num powSingle(Num x, Num y) {
  Num base = widen(abs(x));
  auto [exponent, mantissa] = split(base, /*mayBeDenormal=*/false);
  Num s = (mantissa - 1.0) / (mantissa + 1.0);
  Num p = polynomial(s * s, {2.8853900817778499, 0.96179669411349578, 0.57707794231664322, 0.41220925760398086,
                             0.3199054687331116, 0.28290360739833209});
  Num log2 = fma(p, s, exponent);
  log2 = select(equal(base, 0.0), -kInfinity, select(base < kInfinity, log2, base));
  Num power = clampAbove(clampBelow(widen(y) * log2, -200.0), 200.0);
  double rounding = roundingConstant(power) + exponentBias(power);
  Num sum = power + rounding;
  Num r = power - (sum - rounding);
  Num q = polynomial(r, {0.99999999996169453, 0.69314718072844805, 0.24022651198174239, 0.055504103534998565,
                         0.0096180272482385334, 0.0013333922495783156, 0.0001546929305898909, 1.5201940946581101e-05});
  return narrow(q * powerOfTwo(bits(sum), q));
}

Pair sum(Pair x, Pair y) {
  auto [high, low] = twoSum(x.high, y.high);
  return fastTwoSum(high, low + (x.low + y.low));
}

Pair product(Pair x, Pair y) {
  auto [high, low] = twoProduct(x.high, y.high);
  return fastTwoSum(high, low + (x.high * y.low + x.low * y.high));
}

// log(x) to about 2^-68 for x positive and finite, f64: 2 atanh(s) with s = (m - 1)/(m + 1) and the first two terms of
// the series in pairs.
Pair logPair(Num x) {
  auto [exponent, mantissa] = split(x);
  Num numerator = mantissa - 1.0;
  Pair denominator = twoSum(mantissa, mantissa.k(1.0));
  Num quotient = numerator / denominator.high;
  Pair back = twoProduct(quotient, denominator.high);
  Num rest = ((numerator - back.high) - back.low) - quotient * denominator.low;
  Pair s = fastTwoSum(quotient, rest / denominator.high);
  Pair square = product(s, s);
  Num z = square.high;
  Num p = polynomial(z, {0.3999999999999998, 0.28571428571443847, 0.22222222217787535, 0.18181818844333922,
                         0.15384558401845877, 0.13336265624396418, 0.11675756317077146, 0.11981966922859716});
  Pair tail = fastTwoSum(z.k(0x1.5555555555555p-1), p * z);
  tail.low = tail.low + 0x1.5555555555555p-55;
  Pair mantissaLog = sum({s.high * 2.0, s.low * 2.0}, product(product(s, square), tail));
  return sum({exponent * 6.93147180369123816490e-01, exponent * 1.90821492927058770002e-10}, mantissaLog);
}

// e^(y log|x|), f64: the product is up to 745, so its logarithm must be known to 10 bits more than the result.
Num powDouble(Num x, Num y) {
  Num base = abs(x);
  Pair log = logPair(base);
  Mask proper = (base > 0.0) & (base < kInfinity);
  Num high = select(equal(base, 0.0), -kInfinity, select(proper, log.high, base));
  Num low = select(proper, log.low, 0.0);
  // A larger exponent changes nothing but would spoil the exact product.
  Num exponent = clampAbove(clampBelow(y, -0x1p70), 0x1p70);
  Pair power = twoProduct(exponent, high);
  Num rest = power.low + exponent * low;
  return timesExp(x.k(1.0), power.high, select(abs(power.high) < 800.0, rest, 0.0));
}

} // namespace

Num pow(Num x, Num y) { return withPowLimits(x, y, x.isSingle() ? powSingle(x, y) : powDouble(x, y)); }

Num cbrt(Num x) {
  Num magnitude = abs(x);
  auto [exponent, mantissa] = split(magnitude);
  // |x| = 8^k m with m in [sqrt(1/8), sqrt(8)).
  Num third = roundEven(exponent * 0.333333343);
  Num remainder = fma(third, -3.0, exponent);
  Num m = mantissa * select(remainder > 0.5, 2.0, choose(remainder < -0.5, x, 0.5, 1.0));
  Num y = polynomial(m, {0.415145725, 1.052351, -0.761088252, 0.38698253, -0.104474485, 0.0112817921});
  // Halley's step leaves 2^-31, Newton's twice as many bits.
  Num cube = y * y * y;
  y = fma(y, (m - cube) / (cube + cube + m), y);
  if (!x.isSingle()) {
    cube = y * y * y;
    y = fma(y, (m - cube) / (cube * 3.0), y);
  }
  Num power = powerOfTwo(bits(third + (roundingConstant(x) + exponentBias(x))), x);
  return select((magnitude > 0.0) & (magnitude < kInfinity), copySign(y * power, x), x);
}

Num rsqrt(Num x) { return 1.0 / sqrt(x); }

} // namespace fathom::mathlowering
