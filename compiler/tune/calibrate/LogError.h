// How far predictions are from what was measured: what fits minimise.
#pragma once

#include "compiler/tune/calibrate/Sample.h"

namespace fathom::tune {

// Squares of logarithms of predictions over times. The order within a kernel counts more than the level of a kernel
// against others, and fast schedules, among which choices are made, more than slow ones.
class LogError {
public:
  explicit LogError(llvm::ArrayRef<Sample> samples);

  // Infinite where a prediction is not positive.
  double of(llvm::ArrayRef<double> predicted) const;

  // Takes the mean of a sample's kernel out of its value, but for the share that levels count.
  void center(std::vector<double> &values) const;
  double weight(size_t sample) const { return weights[sample]; }

private:
  std::vector<double> times, weights;
  std::vector<size_t> kernelOf;
  size_t kernels = 0;
};

} // namespace fathom::tune
