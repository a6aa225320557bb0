// The functions under test.
#include "Reference.h"
#include <cmath>

namespace fathom::mathtest {

#define UNARY(op, expression)                                                                                          \
  op, 1, [](double x, double) -> double { return expression; },                                                        \
      [](long double x, long double) -> long double { return expression; }
#define BINARY(op, expression)                                                                                         \
  op, 2, [](double x, double y) -> double { return expression; },                                                      \
      [](long double x, long double y) -> long double { return expression; }

const std::vector<Function> &functions() {
  static const std::vector<Function> table = {
      {UNARY("math.exp", std::exp(x)), -110, 95, 4, 1, 4, -760, 720},
      {UNARY("exp_at_most_zero", std::exp(-std::fabs(x))), -110, 95, 4, 1, 4, -760, 720},
      {UNARY("sigmoid", 1 / (1 + std::exp(-x))), -110, 50, 4, 1, 4, -760, 60},
      {UNARY("swish", x == -INFINITY ? NAN : x / (1 + std::exp(-x))), -115, 50, 4, 1, 4, -770, 60, 6e-37, 0, 1e-305},
      {UNARY("math.exp2", std::exp2(x)), -155, 132, 4, 1, 4, -1090, 1040},
      {UNARY("math.expm1", std::expm1(x)), -20, 95, 4, 1, 4, -50, 720},
      {UNARY("math.log", std::log(x)), 0, 4, 4, 1, 4},
      {UNARY("math.log2", std::log2(x)), 0, 4, 4, 1, 4},
      {UNARY("math.log10", std::log10(x)), 0, 4, 4, 1, 4},
      {UNARY("math.log1p", std::log1p(x)), -1.1, 4, 4, 1, 4},
      {UNARY("math.tanh", std::tanh(x)), -12, 12, 4, 1, 4, -25, 25},
      {UNARY("math.sinh", std::sinh(x)), -95, 95, 4, 1, 4, -720, 720},
      {UNARY("math.cosh", std::cosh(x)), -95, 95, 4, 1, 4, -720, 720},
      {UNARY("math.asinh", std::asinh(x)), -10, 10, 4, 1, 4},
      {UNARY("math.acosh", std::acosh(x)), 0.9, 10, 4, 1, 4},
      {UNARY("math.atanh", std::atanh(x)), -1.1, 1.1, 4, 1, 4},
      {UNARY("math.sin", std::sin(x)), -200, 200, 4, 1, 4},
      {UNARY("math.cos", std::cos(x)), -200, 200, 4, 1, 4},
      {UNARY("math.tan", std::tan(x)), -200, 200, 4, 1, 4},
      {UNARY("math.asin", std::asin(x)), -1.1, 1.1, 4, 1, 4},
      {UNARY("math.acos", std::acos(x)), -1.1, 1.1, 4, 1, 4},
      {UNARY("math.atan", std::atan(x)), -10, 10, 4, 1, 4},
      {UNARY("math.erf", std::erf(x)), -7, 7, 4, 1, 4},
      {UNARY("one_plus_tanh", 2 / (1 + std::exp(-2 * x))), -60, 25, 4, 1, 4, -380, 30},
      {UNARY("one_plus_erf", 1 + std::erf(x)), -7, 7, 4, 1, 4, 0, 0, 4.5e-7, 6e-8, 3e-16, 5.2e-7},
      {UNARY("one_plus_erf_of_quotient", 1 + std::erf(x / -1.5)), -11, 11, 4, 1, 4, 0, 0, 4.5e-7, 2e-7, 3e-16, 5.2e-7},
      // In f32 within 1e-5, tanh within 3e-5 and erf within 3e-5 of 1; in strict mode and f64 they are not others.
      {UNARY("fast math.exp", std::exp(x)), -110, 95, 168, 1, 4, -760, 720, 2e-38},
      {UNARY("fast exp_at_most_zero", std::exp(-std::fabs(x))), -110, 95, 168, 1, 4, -760, 720, 2e-38},
      {UNARY("fast sigmoid", 1 / (1 + std::exp(-x))), -110, 50, 168, 1, 4, -760, 60, 2e-38},
      {UNARY("fast swish", x == -INFINITY ? NAN : x / (1 + std::exp(-x))), -115, 50, 168, 1, 4, -770, 60, 6e-37, 0,
       1e-305},
      {UNARY("fast math.tanh", std::tanh(x)), -12, 12, 504, 1, 4, -25, 25},
      {UNARY("fast math.erf", std::erf(x)), -7, 7, 4, 1, 4, 0, 0, 3e-5},
      {UNARY("fast one_plus_tanh", 2 / (1 + std::exp(-2 * x))), -60, 25, 168, 1, 4, -380, 30, 4e-38},
      {UNARY("fast one_plus_erf", 1 + std::erf(x)), -7, 7, 4, 1, 4, 0, 0, 3e-5, 6e-8, 3e-16},
      {UNARY("math.erfc", std::erfc(x)), -7, 28, 4, 1, 4},
      {UNARY("math.cbrt", std::cbrt(x)), -10, 10, 4, 1, 4},
      {UNARY("math.rsqrt", 1 / std::sqrt(x)), 0, 10, 4, 1, 4},
      {UNARY("math.sqrt", std::sqrt(x)), 0, 10, 0.5, 0.5, 0.5},
      {UNARY("math.absf", std::fabs(x)), -10, 10, 0, 0, 0},
      {UNARY("math.ceil", std::ceil(x)), -10, 10, 0, 0, 0},
      {UNARY("math.floor", std::floor(x)), -10, 10, 0, 0, 0},
      {UNARY("math.trunc", std::trunc(x)), -10, 10, 0, 0, 0},
      {UNARY("math.round", std::round(x)), -10, 10, 0, 0, 0},
      {UNARY("math.roundeven", std::nearbyint(x)), -10, 10, 0, 0, 0},
      {BINARY("math.powf", std::pow(x, y)), -5, 20, 4, 1, 4},
      {BINARY("math.atan2", std::atan2(x, y)), -10, 10, 4, 1, 4},
      {BINARY("math.copysign", std::copysign(x, y)), -10, 10, 0, 0, 0},
      {BINARY("arith.remf", std::fmod(x, y)), -100, 100, 0, 0, 0},
  };
  return table;
}

} // namespace fathom::mathtest
