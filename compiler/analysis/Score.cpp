// Features of estimates.
#include "compiler/analysis/Score.h"

#include "llvm/Support/FormatVariadic.h"

namespace fathom {

// How fast a level is filled: as the one behind it gives.
static double fillRate(const Target &target, size_t level) {
  double rate = level + 1 < target.caches.size() ? target.caches[level + 1].bytesPerCycle : target.memoryBytesPerCycle;
  return std::max(rate, 1e-3);
}

Features featuresOf(const PreciseEstimate &estimate, const Target &target, int64_t threads) {
  Features features{};
  auto at = [&](Feature feature) -> double & { return features[unsigned(feature)]; };
  auto cyclesOf = [](double instructions, double perCycle) { return instructions / std::max(0.1, perCycle); };
  at(Feature::Busy) = estimate.busy;
  at(Feature::Waits) = estimate.waits;
  at(Feature::Hidden) = estimate.hidden;
  at(Feature::Starts) = estimate.starts;
  at(Feature::MultiplyAdds) = cyclesOf(estimate.instructions.multiplyAdds, target.fmaPerCycle);
  at(Feature::VectorLoads) = cyclesOf(estimate.instructions.vectorLoads, target.loadsPerCycle);
  at(Feature::VectorStores) = cyclesOf(estimate.instructions.vectorStores, target.storesPerCycle);
  at(Feature::Others) = cyclesOf(estimate.instructions.others, target.issuedPerCycle);
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

double score(const PreciseEstimate &estimate, const Target &target, int64_t threads) {
  return score(featuresOf(estimate, target, threads), coefficientsFor(target));
}

void printScore(const Features &features, const Coefficients &coefficients, llvm::raw_ostream &out) {
  double all = score(features, coefficients);
  out << llvm::formatv("predicted: {0:f0} cycles", all);
  if (coefficients.nanoseconds)
    out << llvm::formatv(", {0:f1} us", all * *coefficients.nanoseconds / 1e3);
  llvm::SmallVector<std::pair<double, unsigned>> shares;
  for (unsigned i = 0; i < featureCount; ++i)
    shares.emplace_back(-features[i] * coefficients.values[i] / std::max(all, 1e-9), i);
  llvm::sort(shares);
  constexpr double least = 0.005;
  llvm::StringRef separator = ": ";
  for (auto [share, i] : shares)
    if (-share >= least) {
      out << separator << featureNames[i] << llvm::formatv(" {0:f0} %", -100 * share);
      separator = ", ";
    }
  out << "\nby " << coefficients.source << "\n";
}

} // namespace fathom
