// Expands the math functions that have no machine instruction into arithmetic, so that generated code calls no library.
#pragma once

namespace mlir {
class RewritePatternSet;
}

namespace fathom {

struct MathOptions {
  bool strict = false;     // f32 functions within 1 ulp (computed in f64) instead of within 4 ulp
  bool hasFma = true;      // multiply-add is an instruction: any AArch64, x86-64 with FMA
  bool hasRounding = true; // floor, ceil, trunc and roundeven are instructions: any AArch64, x86-64 with SSE4.1
  bool hasMinMax = true;   // a minimum and a maximum that keep a NaN are instructions: any AArch64
};

// Of a math.exp whose operand is never above 0, as in a softmax: it cannot overflow, which is cheaper.
constexpr char atMostZeroAttribute[] = "at_most_zero";
// Of a function of f32 that may be off by more than a few ulp, where that is cheaper: exp, tanh, erf and what they are
// part of. In strict mode it says nothing.
constexpr char fastAttribute[] = "fast";

// Patterns for f32 and f64 scalars and vectors: every float op of the math dialect except fpowi and the
// classifications, and arith.remf; 1 / (1 + e^-x) as a whole. What remains is arith and math.{absf,copysign,sqrt}, and
// where the target has them math.{ceil,floor,trunc,round,roundeven,fma}. A lane's result does not depend on the number
// of lanes.
void populateMathLowering(mlir::RewritePatternSet &patterns, const MathOptions &options);

// The patterns as a pass for fathom-opt: --lower-math, with strict, fma, rounding and minmax as its options.
void registerMathLoweringPass();

} // namespace fathom
