// Features and their sum.
#include "compiler/analysis/Score.h"

namespace fathom {

const llvm::StringLiteral featureNames[featureCount] = {"cycles", "starts",  "instructions", "near", "far",
                                                        "memory", "written", "packed",       "tasks"};

// How fast a level is filled: as the one behind it gives.
static double fillRate(const Target &target, size_t level) {
  double rate = level + 1 < target.caches.size() ? target.caches[level + 1].bytesPerCycle : target.memoryBytesPerCycle;
  return std::max(rate, 1e-3);
}

Features featuresOf(const PreciseEstimate &estimate, const Target &target, int64_t threads) {
  Features features{};
  auto at = [&](Feature feature) -> double & { return features[unsigned(feature)]; };
  at(Feature::Cycles) = estimate.cycles;
  at(Feature::Starts) = estimate.starts;
  at(Feature::Instructions) = estimate.instructions.all() / std::max(1.0, target.issuedPerCycle);
  for (auto [i, level] : llvm::enumerate(estimate.levels)) {
    Feature where = i + 1 == estimate.levels.size() ? Feature::Memory : i == 0 ? Feature::Near : Feature::Far;
    at(where) += level.filled() / fillRate(target, i);
    at(Feature::Written) += level.written() / fillRate(target, i);
  }
  at(Feature::Packed) = estimate.packedBytes / (target.storesPerCycle * double(target.vectorBytes));
  at(Feature::Tasks) = double(estimate.calls);
  // Runs are handed out whole.
  int64_t most = (estimate.calls + threads - 1) / threads;
  for (double &feature : features)
    feature *= double(most) / double(std::max<int64_t>(1, estimate.calls));
  return features;
}

// Nothing is fitted here: all is as slow as the machine file and LLVM's model of the core say, and nothing is hidden
// behind anything else. The instructions are in the cycles already, and packing is a part of them.
static constexpr Coefficients table[] = {
    {"aarch64", "rates and latencies alone", {1, 1, 0, 1, 1, 1, 1, 0, 0}},
    {"x86-64", "rates and latencies alone", {1, 1, 0, 1, 1, 1, 1, 0, 0}},
};

const Coefficients &coefficientsFor(const Target &target) { return table[target.isAArch64() ? 0 : 1]; }

double score(const Features &features, const Features &coefficients) {
  double sum = 0;
  for (auto [feature, coefficient] : llvm::zip(features, coefficients))
    sum += feature * coefficient;
  return sum;
}

double score(const PreciseEstimate &estimate, const Target &target, int64_t threads) {
  return score(featuresOf(estimate, target, threads), coefficientsFor(target).values);
}

} // namespace fathom
