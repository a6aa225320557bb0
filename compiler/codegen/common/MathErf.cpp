// erf and erfc. The polynomials are minimax fits of our own.
#include "compiler/codegen/common/MathFunctions.h"

namespace fathom::mathlowering {

namespace {

// erf(x) for |x| <= 1/2.
Num erfSmall(Num x) {
  Num p = polynomial(x * x, {0.128379166, -0.376126111, 0.112828508, -0.0267582592, 0.00471916003},
                     {0.12837916709551256, -0.37612638903183465, 0.11283791670924731, -0.026866170632686922, 0.0052239773698306369,
                      -0.0008548297478535936, 0.00012053321978880397, -1.4845522183924684e-05, 1.4722559172738813e-06});
  return fma(p, x, x);
}

// erfc(x) for x >= 1/2: (1 + 2x) e^(x^2) erfc(x) is nearly constant and smooth in (x - k)/(x + k), which maps the half line to an interval
// (Shepherd and Laframboise, 1981).
Num erfcLarge(Num x) {
  x = clampAbove(x, pick(x, 10.5, 27.5));
  double k = pick(x, 2.0, 2.5);
  Num q = (x - k) / (x + k);
  Num p = polynomial(q, {1.27697837, -0.0927634016, -0.166029751, 0.164038524, -0.0542257428, -0.00792693906, 0.00871814229, 0.00091733312, -0.00133841159},
                     {1.2648381843668615, -0.12235676308240399, -0.09902453957359289, 0.15762991902317244, -0.10296705603919368,
                      0.032760893270763924, 0.00093189283405699765, -0.0043820783856625637, 0.00049186558599125809, 0.00063212489047084395,
                      -8.8477486614914366e-05, -0.00011352643594924892, 6.2579428081143292e-06, 2.2718852528102212e-05, 2.6311076765388968e-06,
                      -4.2760699884685443e-06, -1.6184075795618472e-06, 6.373662046354053e-07, 5.5062404761784315e-07, -8.8571886372995303e-08,
                      -1.0976097998612487e-07, 2.5032254830296877e-08});
  Pair square = twoProduct(x, x);
  return timesExp(p / (x * 2.0 + 1.0), -square.high, -square.low);
}

// x P(x^2)/Q(x^2) up to 3.93, from where on it rounds to 1: the shortest way, and all coefficients are positive, so nothing cancels.
Num erfSingle(Num x) {
  Num t = clampAbove(abs(x), 3.93);
  Num square = t * t;
  Num p = polynomial(square, {1.12837915, 0.190784399, 0.0527903541, 0.00377963078, 0.000284808638, 2.04196121e-06});
  Num q = polynomial(square, {1.0, 0.50241099, 0.11425775, 0.014997482, 0.00116521703, 3.80039759e-05});
  return copySign(clampAbove(t * p / q, 1.0), x);
}

} // namespace

Num erf(Num x) {
  if (x.isSingle())
    return erfSingle(x);
  Num magnitude = abs(x);
  Num result = select(magnitude < 0.5, erfSmall(magnitude), 1.0 - erfcLarge(magnitude));
  return copySign(result, x);
}

Num erfc(Num x) {
  Num magnitude = abs(x);
  Num tail = erfcLarge(magnitude);
  Num large = select(x < 0.0, 2.0 - tail, tail);
  return select(magnitude < 0.5, 1.0 - erfSmall(x), large);
}

} // namespace fathom::mathlowering
