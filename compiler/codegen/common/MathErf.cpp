// erf and erfc. The polynomials are minimax fits of our own.
#include "compiler/codegen/common/MathFunctions.h"

namespace fathom::mathlowering {

namespace {

// erf(x) for |x| <= 1/2.
Num erfSmall(Num x) {
  Num p = polynomial(x * x, {0.128379166, -0.376126111, 0.112828508, -0.0267582592, 0.00471916003},
                     {0.12837916709551256, -0.37612638903183465, 0.11283791670924731, -0.026866170632686922,
                      0.0052239773698306369, -0.0008548297478535936, 0.00012053321978880397, -1.4845522183924684e-05,
                      1.4722559172738813e-06});
  return fma(p, x, x);
}

// erfc(x) for x >= 1/2: (1 + 2x) e^(x^2) erfc(x) is nearly constant and smooth in (x - k)/(x + k), which maps the half
// line to an interval (Shepherd and Laframboise, 1981).
Num erfcLarge(Num x) {
  x = clampAbove(x, pick(x, 10.5, 27.5));
  double k = pick(x, 2.0, 2.5);
  Num q = (x - k) / (x + k);
  Num p = polynomial(q,
                     {1.27697837, -0.0927635357, -0.166029677, 0.164041772, -0.0542279631, -0.00794597343,
                      0.00873417687, 0.00094905874, -0.00136873173},
                     {1.2648381843668615,      -0.12235676308240399,   -0.09902453957359289,    0.15762991902317244,
                      -0.10296705603919368,    0.032760893270763924,   0.00093189283405699765,  -0.0043820783856625637,
                      0.00049186558599125809,  0.00063212489047084395, -8.8477486614914366e-05, -0.00011352643594924892,
                      6.2579428081143292e-06,  2.2718852528102212e-05, 2.6311076765388968e-06,  -4.2760699884685443e-06,
                      -1.6184075795618472e-06, 6.373662046354053e-07,  5.5062404761784315e-07,  -8.8571886372995303e-08,
                      -1.0976097998612487e-07, 2.5032254830296877e-08});
  Pair denominator = fastTwoSum(x * 2.0, x.k(1.0));
  Num quotient = p / denominator.high;
  // What the division lost, relative to p, which is 1.22 to 8 %; it goes into the exponent like the square's rounding.
  Pair back = twoProduct(quotient, denominator.high);
  Num lost = ((p - back.high) - back.low) - quotient * denominator.low;
  Pair square = twoProduct(x, x);
  return timesExp(quotient, -square.high, fma(lost, 1 / 1.22, -square.low));
}

// 1 - e^-q(|x|) with q fitted to -log(erfc), which is smooth from 0 to 4, where erf rounds to 1; through expm1 nothing
// cancels near 0.
Num erfSingle(Num x) {
  Num t = clampAbove(abs(x), 4.0);
  Num g = polynomial(t, {0.128379166, 0.636619568, 0.102776296, -0.0191477668, -0.000169656123, 0.00167587318,
                         -0.000637493969, 0.000118903903, -9.39334768e-06});
  return copySign(expm1Near(-fma(t, g, t)), x);
}

} // namespace

Num erf(Num x) {
  if (x.isSingle())
    return erfSingle(x);
  Num magnitude = abs(x);
  Num result = select(magnitude < 0.5, erfSmall(magnitude), 1.0 - erfcLarge(magnitude));
  return copySign(result, x);
}

Num onePlusErf(Num x, double scale) {
  // erf(y) = y p(s) for |y| up to the end, where it rounds to 1 and y p(s) is a little larger; s runs from -1 to 1, so
  // that nothing cancels. The scale goes into the coefficients.
  constexpr double end = 3.75;
  llvm::SmallVector<double> p = {0.377056986,   -0.188029259,   0.139262095,   -0.111964904,  0.0908561349,
                                 -0.071383208,  0.0528650247,   -0.0381907299, 0.0272876378,  -0.0151251983,
                                 0.00542219821, -0.00440841075, 0.00477206707, -0.00175373757};
  for (double &coefficient : p)
    coefficient *= scale;
  Num s = clampAbove(fma(x * x, 2 * scale * scale / (end * end), -1.0), 1.0);
  return clampAbove(clampBelow(fma(x, polynomial(s, p), 1.0), 0.0), 2.0);
}

Num erfc(Num x) {
  Num magnitude = abs(x);
  Num tail = erfcLarge(magnitude);
  Num large = select(x < 0.0, 2.0 - tail, tail);
  return select(magnitude < 0.5, 1.0 - erfSmall(x), large);
}

} // namespace fathom::mathlowering
