// The functions under test: their ops, exact references, bounds and inputs.
#pragma once

#include <string>
#include <vector>

namespace fathom::mathtest {

struct Function {
  std::string op;
  unsigned operands;
  // For f32 the reference is the C library in double, for f64 in long double.
  double (*forSingle)(double, double);
  long double (*forDouble)(long double, long double);
  // Arguments between these are tried densely, beside random bit patterns from everywhere; f64 may have its own
  // interval.
  double low, high;
  // Bounds in ulp: f32 fast, f32 strict, f64.
  double fast, strict, wide;
  double lowWide = 0, highWide = 0;
  // Errors up to this are none: f32 fast, f32 strict, f64; f32 fast where nothing multiplies and adds at once.
  double negligible = 0, negligibleStrict = 0, negligibleWide = 0, negligibleUnfused = negligible;
};

const std::vector<Function> &functions();

} // namespace fathom::mathtest
