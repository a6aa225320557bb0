// Cheaper functions of f32, for who asks for them: shorter polynomials, one factor for the exponent, and one constant
// to reduce by. The polynomials are minimax fits of our own.
#include "compiler/codegen/common/MathFunctions.h"

namespace fathom::mathlowering {

// 2^(n + shift) (1 + r + r^2 q(r)) for x = n log 2 + r; the shift is taken back.
static Num coarseExp(Num x, int64_t shift) {
  constexpr double log2E = 1.44269504088896340736, log2 = 0.693147180559945309417;
  double rounding = roundingConstant(x) + double(exponentBias(x) + shift);
  Num sum = fma(x, log2E, rounding);
  Num r = fma(sum - rounding, -log2, x);
  Num q = polynomial(r, {0.500051200, 0.167535320, 0.0412776731});
  Num power = powerOfTwo(bits(sum), x);
  Num result = fma(power, fma(r * r, q, r), power);
  return shift ? result * std::ldexp(1.0, -shift) : result;
}

// The exponent's bits are 0 at the lower end, and with them the result.
Num fastExp(Num x) { return coarseExp(clampAbove(clampBelow(x, -87.3), 89.0), -1); }

Num fastExpAtMostZero(Num x) { return coarseExp(clampBelow(x, -88.0), 0); }

Num fastSigmoid(Num x) { return 1.0 / (fastExp(-x) + 1.0); }

Num fastSwish(Num x) {
  Num low = clampBelow(x, -88.0);
  return select(equal(x, -kInfinity), kNan, low / (fastExp(-low) + 1.0));
}

Num fastTanh(Num x) {
  x = clampAbove(clampBelow(x, -6.0), 6.0);
  Num square = x * x;
  Num p = polynomial(square, {0.99999267, 0.11483054, 0.0015145678});
  Num q = polynomial(square, {1.0, 0.44811374, 0.017611092, 5.6271372e-05});
  return x * p / q;
}

// erf(y) / y as a polynomial of s, which runs from -1 to 1 up to the end, where y p(s) is a little larger than 1.
static Num fastErfQuotient(Num x, double scale) {
  constexpr double end = 3.1;
  llvm::SmallVector<double> p = {0.455310851,   -0.222935945, 0.156314194,   -0.113891207, 0.0764923841,
                                 -0.0427915901, 0.0279359948, -0.0231980532, 0.00934831053};
  for (double &coefficient : p)
    coefficient *= scale;
  return polynomial(clampAbove(fma(x * x, 2 * scale * scale / (end * end), -1.0), 1.0), p);
}

Num fastErf(Num x) { return clampAbove(clampBelow(x * fastErfQuotient(x, 1), -1.0), 1.0); }

Num fastOnePlusErf(Num x, double scale) {
  return clampAbove(clampBelow(fma(x, fastErfQuotient(x, scale), 1.0), 0.0), 2.0);
}

} // namespace fathom::mathlowering
