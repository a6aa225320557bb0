// log and what is made of it: x = 2^e m with m in [sqrt(1/2), sqrt(2)), and log(m) by a minimax fit of our own: in m -
// 1 for f32, in s = (m - 1)/(m + 1), where it has half the terms, for f64.
#include "compiler/codegen/common/MathFunctions.h"

namespace fathom::mathlowering {

namespace {

// log(mantissa) = f + tail.
struct Mantissa {
  Num f, half, rest; // tail = rest - half
  explicit Mantissa(Num mantissa) {
    f = mantissa - 1.0;
    Num square = f * f;
    half = square * 0.5;
    if (f.isSingle()) {
      Num p = polynomial(f, {0.333333313, -0.250008225, 0.200012624, -0.166233301, 0.142008886, -0.131595388,
                             0.127678216, -0.0764442533});
      rest = p * (f * square);
      return;
    }
    Num s = f / (f + 2.0);
    Num z = s * s;
    Num p = polynomial(z, {0.6666666666666734, 0.39999999999416425, 0.28571428742119298, 0.22222198591852871,
                           0.18183563714756554, 0.15314058662514932, 0.14795932662893768});
    rest = s * fma(p, z, half);
  }
  Num value() const { return f + (rest - half); }
};

// A logarithm's result at the arguments where it is not a finite number.
Num withLimits(Num x, Num result) {
  result = select(x > 0.0, result, choose(equal(x, 0.0), x, -kInfinity, kNan));
  return select(x < kInfinity, result, x);
}

// log(x) + low, with low small or missing.
Num logPlus(Num x, Num low = {}) {
  auto [exponent, mantissa] = split(x);
  Mantissa m(mantissa);
  // log 2 in two parts: the first times the exponent is exact.
  Num tail = fma(exponent, pick(x, -2.12194440e-4, 1.90821492927058770002e-10), low.v ? m.rest + low : m.rest) - m.half;
  return withLimits(x, fma(exponent, pick(x, 0.693359375, 6.93147180369123816490e-01), tail + m.f));
}

} // namespace

Split split(Num x, bool mayBeDenormal) {
  // Subtracting the bits of sqrt(1/2) puts the borders of the mantissa where the exponent changes.
  Int offset = bits(x.k(0.70710678118654752440));
  int64_t mask = (int64_t(1) << mantissaBits(x)) - 1;
  Int shifted = bits(x) - offset;
  if (mayBeDenormal) {
    Mask tiny = x < pick(x, 0x1p-126, 0x1p-1022);
    Int lifted = bits(x * 0x1p54) - (offset + (int64_t(54) << mantissaBits(x)));
    shifted = select(tiny, lifted, shifted);
  }
  return {toFloat(shifted >> mantissaBits(x), x), fromBits((shifted & mask) + offset)};
}

Num log(Num x) { return logPlus(x); }

Num log2(Num x) {
  auto [exponent, mantissa] = split(x);
  return withLimits(x, fma(Mantissa(mantissa).value(), 1.44269504088896340736, exponent));
}

Num log10(Num x) {
  auto [exponent, mantissa] = split(x);
  // log10(2) in two parts: the first times the exponent is exact.
  Num low = fma(exponent, pick(x, 0.301029995663981195 - 0x1.344p-2, 3.69423907715893078616e-13),
                Mantissa(mantissa).value() * 0.434294481903251827651);
  return withLimits(x, fma(exponent, pick(x, 0x1.344p-2, 3.01029995663611771306e-01), low));
}

Num log1p(Num x) {
  Num sum = x + 1.0;
  // What the rounding of the sum lost.
  Num result = logPlus(sum, (x - (sum - 1.0)) / sum);
  return select(abs(x) < pick(x, 0x1p-25, 0x1p-54), x, result);
}

Num asinh(Num x) {
  Num magnitude = abs(x);
  // From here on asinh(x) = log(2x); the square must not overflow.
  Mask large = magnitude > pick(x, 0x1p30, 0x1p60);
  Num square = magnitude * magnitude;
  Num argument = magnitude + square / (sqrt(square + 1.0) + 1.0);
  Num result = log1p(select(large, magnitude, argument)) + choose(large, x, 0.693147180559945309417, 0.0);
  return copySign(result, x);
}

Num acosh(Num x) {
  Mask large = x > pick(x, 0x1p30, 0x1p60);
  Num above = x - 1.0;
  Num argument = above + sqrt(above * (above + 2.0));
  Num result = log1p(select(large, x, argument)) + choose(large, x, 0.693147180559945309417, 0.0);
  return select(x < 1.0, kNan, result);
}

Num atanh(Num x) {
  Num magnitude = abs(x);
  return copySign(log1p(magnitude * 2.0 / (1.0 - magnitude)) * 0.5, x);
}

} // namespace fathom::mathlowering
