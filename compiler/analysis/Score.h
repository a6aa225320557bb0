// One number for an estimate: a sum of its features, each with a coefficient of the architecture, as in Tuna.
#pragma once

#include "compiler/analysis/PreciseEstimate.h"

namespace fathom {

enum class Feature {
  Cycles,       // in the pipeline, as LLVM's model has it
  Starts,       // cycles until a loop is under way, each time that it begins
  Instructions, // cycles that all instructions take to begin
  Near,         // cycles of filling the first cache, from the second,
  Far,          // all caches between the first and the last,
  Memory,       // and the last, from memory
  Written,      // the same for what is written, and leaves each cache again
  Packed,       // cycles of writing packed operands
  Tasks,        // runs of tasks that are handed out
};
constexpr unsigned featureCount = unsigned(Feature::Tasks) + 1;
extern const llvm::StringLiteral featureNames[featureCount];
using Features = std::array<double, featureCount>;

// Of the thread that has the most to do, of so many. They share no cache and no memory: what a machine file says is for
// each core.
Features featuresOf(const PreciseEstimate &estimate, const Target &target, int64_t threads = 1);

struct Coefficients {
  llvm::StringLiteral architecture, source;
  Features values;
};

// Of the target's architecture.
const Coefficients &coefficientsFor(const Target &target);

// In cycles, so far as the coefficients are.
double score(const Features &features, const Features &coefficients);
double score(const PreciseEstimate &estimate, const Target &target, int64_t threads = 1);

} // namespace fathom
