// Weighted squares, kernel by kernel.
#include "compiler/tune/calibrate/LogError.h"

#include "llvm/ADT/StringMap.h"
#include <cmath>

namespace fathom::tune {

// How much the level of a kernel against others counts, beside the order within it.
static constexpr double levelShare = 0.3;

LogError::LogError(llvm::ArrayRef<Sample> samples) {
  llvm::StringMap<size_t> known;
  std::vector<double> fastest;
  for (const Sample &sample : samples) {
    kernelOf.push_back(known.try_emplace(sample.kernel, known.size()).first->second);
    fastest.resize(known.size(), INFINITY);
    times.push_back(sample.nanoseconds);
    fastest[kernelOf.back()] = std::min(fastest[kernelOf.back()], sample.nanoseconds);
  }
  kernels = known.size();
  for (auto [time, kernel] : llvm::zip(times, kernelOf))
    weights.push_back(std::sqrt(fastest[kernel] / time));
}

void LogError::center(std::vector<double> &values) const {
  std::vector<double> sums(kernels), totals(kernels);
  for (auto [value, kernel, weight] : llvm::zip(values, kernelOf, weights))
    sums[kernel] += weight * weight * value, totals[kernel] += weight * weight;
  for (auto [value, kernel] : llvm::zip(values, kernelOf))
    value -= (1 - levelShare) * sums[kernel] / totals[kernel];
}

double LogError::of(llvm::ArrayRef<double> predicted) const {
  std::vector<double> logs;
  for (auto [value, time] : llvm::zip_equal(predicted, times)) {
    if (!(value > 0))
      return INFINITY;
    logs.push_back(std::log(value / time));
  }
  center(logs);
  double sum = 0;
  for (auto [value, weight] : llvm::zip(logs, weights))
    sum += weight * weight * value * value;
  return sum;
}

} // namespace fathom::tune
