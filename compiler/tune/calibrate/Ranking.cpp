// How well predictions order what was measured.
#include "compiler/tune/calibrate/Fit.h"
#include "compiler/tune/search/Search.h"

#include "llvm/ADT/MapVector.h"
#include <cmath>

namespace fathom::tune {

// Ranks from 0 on; equal values share the mean of theirs.
static std::vector<double> ranksOf(llvm::ArrayRef<double> values) {
  std::vector<size_t> order = byCost(values.size(), [&](size_t i) { return values[i]; });
  std::vector<double> ranks(values.size());
  for (size_t begin = 0, end = 0; begin < order.size(); begin = end) {
    while (end < order.size() && values[order[end]] == values[order[begin]])
      ++end;
    for (size_t i = begin; i < end; ++i)
      ranks[order[i]] = double(begin + end - 1) / 2;
  }
  return ranks;
}

static double correlation(llvm::ArrayRef<double> a, llvm::ArrayRef<double> b) {
  double meanA = 0, meanB = 0, product = 0, squareA = 0, squareB = 0;
  for (auto [x, y] : llvm::zip(a, b))
    meanA += x / double(a.size()), meanB += y / double(b.size());
  for (auto [x, y] : llvm::zip(a, b)) {
    product += (x - meanA) * (y - meanB);
    squareA += (x - meanA) * (x - meanA), squareB += (y - meanB) * (y - meanB);
  }
  return squareA > 0 && squareB > 0 ? product / std::sqrt(squareA * squareB) : 0;
}

Ranking rank(llvm::ArrayRef<double> predicted, llvm::ArrayRef<double> measured) {
  Ranking result;
  result.samples = measured.size();
  if (measured.empty())
    return result;
  result.spearman = correlation(ranksOf(predicted), ranksOf(measured));
  double mean = 0, distance = 0;
  for (auto [guess, time] : llvm::zip(predicted, measured))
    mean += std::log(guess / time) / double(measured.size());
  for (auto [guess, time] : llvm::zip(predicted, measured))
    distance += std::abs(std::log(guess / time) - mean) / double(measured.size());
  result.factor = std::exp(distance);
  size_t first = byCost(predicted.size(), [&](size_t i) { return predicted[i]; }).front();
  result.first = *llvm::min_element(measured) / measured[first];
  return result;
}

std::vector<std::vector<Sample>> byKernel(llvm::ArrayRef<Sample> samples) {
  llvm::MapVector<llvm::StringRef, std::vector<Sample>> groups;
  for (const Sample &sample : samples)
    groups[sample.kernel].push_back(sample);
  std::vector<std::vector<Sample>> kernels;
  for (auto &[kernel, group] : groups)
    kernels.push_back(std::move(group));
  return kernels;
}

std::vector<Validation> crossValidate(llvm::ArrayRef<Sample> samples) {
  std::vector<Validation> validations;
  std::vector<std::vector<Sample>> kernels = byKernel(samples);
  if (kernels.size() < 2)
    return validations;
  for (const std::vector<Sample> &kernel : kernels) {
    std::vector<Sample> others;
    for (const Sample &sample : samples)
      if (sample.kernel != kernel.front().kernel)
        others.push_back(sample);
    Coefficients fitted = fitCoefficients(others);
    std::vector<double> measured, byFit, byLatencies, byDraft;
    for (const Sample &sample : kernel) {
      measured.push_back(sample.nanoseconds);
      byFit.push_back(score(sample.features, fitted));
      byLatencies.push_back(score(sample.features, pureLatencies()));
      byDraft.push_back(sample.draft);
    }
    validations.push_back({kernel.front().kernel, kernel.front().name, kernel.front().kernelClass, fitted,
                           rank(byFit, measured), rank(byLatencies, measured), rank(byDraft, measured)});
  }
  return validations;
}

} // namespace fathom::tune
