// One number for an estimate: a sum of its features, each with a coefficient of the architecture, as in Tuna.
#pragma once

#include "compiler/analysis/Coefficients.h"
#include "compiler/analysis/PreciseEstimate.h"

namespace fathom {

// Of the thread that has the most to do, of so many. They share no cache and no memory: what a machine file says is for
// each core.
Features featuresOf(const PreciseEstimate &estimate, const Target &target, int64_t threads = 1);

// What each feature has of the score, the largest share first.
void printScore(const Features &features, const Coefficients &coefficients, llvm::raw_ostream &out);

// With the coefficients of the target's architecture.
double score(const PreciseEstimate &estimate, const Target &target, int64_t threads = 1);

} // namespace fathom
