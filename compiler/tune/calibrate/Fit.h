// Coefficients of scores, fitted to samples. Pure functions.
#pragma once

#include "compiler/tune/calibrate/Sample.h"

namespace fathom::tune {

// The x of at least 0 that make rows times x come closest to what is wanted, by coordinate descent.
std::vector<double> nonnegativeLeastSquares(llvm::ArrayRef<std::vector<double>> rows, llvm::ArrayRef<double> wanted);

// The coefficients with which the logarithms of scores come closest to those of times: what counts is the order within
// a kernel, less the level of a kernel against others. Features that `isUsed` refuses have no part. No samples, no
// coefficients.
Coefficients fitCoefficients(
    llvm::ArrayRef<Sample> samples, llvm::function_ref<bool(Feature)> isUsed = [](Feature) { return true; });

// How well predictions order the samples of one kernel.
struct Ranking {
  size_t samples = 0;
  double factor = 1;   // by which a prediction is wrong: the geometric mean, with the best scale for the kernel
  double spearman = 0; // correlation of ranks
  double first = 0;    // the fastest time of all over that of the sample that is predicted to be fastest
};
Ranking rank(llvm::ArrayRef<double> predicted, llvm::ArrayRef<double> measured);

// Of samples, those of each kernel together, in the order in which kernels come.
std::vector<std::vector<Sample>> byKernel(llvm::ArrayRef<Sample> samples);

// How well coefficients that were fitted to all other kernels order each one. Of a single kernel there is none.
struct Validation {
  std::string kernel, name, kernelClass;
  Coefficients coefficients;
  Ranking fitted, latencies, draft;
};
std::vector<Validation> crossValidate(llvm::ArrayRef<Sample> samples);

} // namespace fathom::tune
