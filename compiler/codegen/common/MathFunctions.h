// The functions that MathLowering.cpp knows. Each takes f32 and f64 and is within 4 ulp in either, edges included.
#pragma once

#include "compiler/codegen/common/MathNum.h"

namespace fathom::mathlowering {

inline constexpr double kInfinity = __builtin_inf();
inline constexpr double kNan = __builtin_nan("");

// MathExp.cpp
Num exp(Num x);
Num expAtMostZero(Num x); // for x <= 0
// 1 / (1 + e^-x)
Num sigmoid(Num x);
// x / (1 + e^-x), which nears 0 towards -infinity: what is smaller than 6e-37 (f64: 1e-305) may be as large as that. Of
// -infinity itself it is not a number, as the product of x and a sigmoid of 0 is.
Num swish(Num x);
// factor * e^(x + low), with the factor in [2^-30, 2^30] and low a correction below the last bits of x.
Num timesExp(Num factor, Num x, Num low);
Num exp2(Num x);
Num expm1(Num x);
Num sinh(Num x);
Num cosh(Num x);
Num tanh(Num x);
// expm1 for |x| up to 80, without the care for what is beyond and for denormals.
Num expm1Near(Num x);

// MathLog.cpp
Num log(Num x);
Num log2(Num x);
Num log10(Num x);
Num log1p(Num x);
Num asinh(Num x);
Num acosh(Num x);
Num atanh(Num x);

// x = 2^exponent * mantissa with the mantissa in [sqrt(1/2), sqrt(2)), for x positive and finite.
struct Split {
  Num exponent, mantissa;
};
Split split(Num x, bool mayBeDenormal = true);

// MathPow.cpp
Num pow(Num x, Num y);
Num cbrt(Num x);
Num rsqrt(Num x);

// MathTrig.cpp
Num sin(Num x);
Num cos(Num x);
Num tan(Num x);

// MathArc.cpp
Num asin(Num x);
Num acos(Num x);
Num atan(Num x);
Num atan2(Num y, Num x);

// MathErf.cpp
Num erf(Num x);
// 1 + erf(scale * x) for f32, as in GELU: about as exact as the sum of the two, which cancels below 0, in half the
// instructions. The error is at most 4.5e-7, and none where erf rounds to -1 or 1.
Num onePlusErf(Num x, double scale);
Num erfc(Num x);

// MathFast.cpp: of f32, with errors as docs/dev/numerics.md states them.
Num fastExp(Num x);
Num fastExpAtMostZero(Num x);
Num fastSigmoid(Num x);
Num fastSwish(Num x);
Num fastTanh(Num x);
Num fastErf(Num x);
Num fastOnePlusErf(Num x, double scale);

// MathRounding.cpp: what some targets have as instructions.
Num expandFloor(Num x);
Num expandCeil(Num x);
Num expandTrunc(Num x);
Num expandRound(Num x);
Num expandRoundEven(Num x);
Num expandFma(Num x, Num y, Num z);
// C's fmod: exact, with the sign of x.
Num remainder(Num x, Num y);

} // namespace fathom::mathlowering
