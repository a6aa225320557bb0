// Least squares of logarithms, step by step.
#include "compiler/tune/calibrate/Fit.h"

#include "llvm/ADT/MapVector.h"
#include <cmath>
#include <numeric>

namespace fathom::tune {

std::vector<double> nonnegativeLeastSquares(llvm::ArrayRef<std::vector<double>> rows, llvm::ArrayRef<double> wanted) {
  size_t count = rows.empty() ? 0 : rows.front().size();
  // What is minimised is x'Gx/2 - h'x.
  std::vector<std::vector<double>> g(count, std::vector<double>(count));
  std::vector<double> h(count), x(count);
  for (auto [row, value] : llvm::zip_equal(rows, wanted))
    for (size_t i = 0; i < count; ++i) {
      h[i] += row[i] * value;
      for (size_t j = 0; j < count; ++j)
        g[i][j] += row[i] * row[j];
    }
  constexpr int sweeps = 20000;
  constexpr double enough = 1e-12; // a change, as a share of the largest number
  for (int sweep = 0; sweep < sweeps; ++sweep) {
    double change = 0, largest = 0;
    for (size_t i = 0; i < count; ++i) {
      if (g[i][i] <= 0)
        continue;
      double slope = std::inner_product(g[i].begin(), g[i].end(), x.begin(), 0.0) - h[i];
      double next = std::max(0.0, x[i] - slope / g[i][i]);
      change = std::max(change, std::abs(next - x[i]));
      largest = std::max(largest, next);
      x[i] = next;
    }
    if (change <= enough * largest)
      break;
  }
  return x;
}

namespace {

// How much the level of a kernel against others counts, beside the order within it.
constexpr double levelShare = 0.3;

// Least squares of log(score / time), where scores are rows times x.
class LogFit {
public:
  LogFit(llvm::ArrayRef<Sample> samples, llvm::function_ref<bool(Feature)> isUsed) : samples(samples) {
    llvm::StringMap<size_t> known;
    for (const Sample &sample : samples)
      kernelOf.push_back(known.try_emplace(sample.kernel, known.size()).first->second);
    kernels = known.size();
    std::vector<double> fastest(kernels, INFINITY);
    for (auto [sample, kernel] : llvm::zip(samples, kernelOf))
      fastest[kernel] = std::min(fastest[kernel], sample.nanoseconds);
    for (unsigned i = 0; i < featureCount; ++i)
      if (isUsed(Feature(i)))
        used.push_back(i);
    for (auto [sample, kernel] : llvm::zip(samples, kernelOf)) {
      std::vector<double> &row = rows.emplace_back();
      for (unsigned i : used)
        row.push_back(sample.features[i]);
      // What is fast is where choices are made.
      weights.push_back(std::sqrt(fastest[kernel] / sample.nanoseconds));
    }
  }

  Features run() {
    // Shares of times first, which are linear.
    std::vector<std::vector<double>> shares = rows;
    std::vector<double> ones(rows.size());
    for (size_t i = 0; i < rows.size(); ++i) {
      for (double &value : shares[i])
        value *= weights[i] / samples[i].nanoseconds;
      ones[i] = weights[i];
    }
    std::vector<double> x = nonnegativeLeastSquares(shares, ones);
    double error = errorOf(x);
    constexpr int steps = 30;
    for (int step = 0; step < steps && std::isfinite(error); ++step) {
      std::vector<double> aim = linearised(x), next = x;
      double before = error;
      for (double length = 1; length > 1e-3; length /= 2) {
        for (size_t i = 0; i < x.size(); ++i)
          next[i] = x[i] + length * (aim[i] - x[i]);
        if (double found = errorOf(next); found < error) {
          x = next, error = found;
          break;
        }
      }
      if (error > before * (1 - 1e-6))
        break;
    }
    Features values{};
    for (auto [i, value] : llvm::zip(used, x))
      values[i] = value;
    return values;
  }

private:
  double scoreOf(size_t sample, llvm::ArrayRef<double> x) const {
    return std::inner_product(x.begin(), x.end(), rows[sample].begin(), 0.0);
  }

  // Takes the kernel's mean out of each value but for its share.
  void center(std::vector<double> &values) const {
    std::vector<double> sums(kernels), totals(kernels);
    for (auto [value, kernel, weight] : llvm::zip(values, kernelOf, weights))
      sums[kernel] += weight * weight * value, totals[kernel] += weight * weight;
    for (auto [value, kernel] : llvm::zip(values, kernelOf))
      value -= (1 - levelShare) * sums[kernel] / totals[kernel];
  }

  double errorOf(llvm::ArrayRef<double> x) const {
    std::vector<double> logs(rows.size());
    for (size_t i = 0; i < rows.size(); ++i) {
      double score = scoreOf(i, x);
      if (!(score > 0))
        return INFINITY;
      logs[i] = std::log(score / samples[i].nanoseconds);
    }
    center(logs);
    double sum = 0;
    for (auto [value, weight] : llvm::zip(logs, weights))
      sum += weight * weight * value * value;
    return sum;
  }

  // Where the logarithms' tangents at x have their least squares.
  std::vector<double> linearised(llvm::ArrayRef<double> x) const {
    std::vector<double> wanted(rows.size());
    std::vector<std::vector<double>> columns(used.size(), std::vector<double>(rows.size()));
    for (size_t i = 0; i < rows.size(); ++i) {
      double score = scoreOf(i, x);
      wanted[i] = 1 + std::log(samples[i].nanoseconds / score);
      for (size_t j = 0; j < used.size(); ++j)
        columns[j][i] = rows[i][j] / score;
    }
    center(wanted);
    for (std::vector<double> &column : columns)
      center(column);
    std::vector<std::vector<double>> tangents(rows.size(), std::vector<double>(used.size()));
    for (size_t i = 0; i < rows.size(); ++i) {
      wanted[i] *= weights[i];
      for (size_t j = 0; j < used.size(); ++j)
        tangents[i][j] = columns[j][i] * weights[i];
    }
    return nonnegativeLeastSquares(tangents, wanted);
  }

  llvm::ArrayRef<Sample> samples;
  std::vector<unsigned> used;
  std::vector<std::vector<double>> rows;
  std::vector<double> weights;
  std::vector<size_t> kernelOf;
  size_t kernels = 0;
};

} // namespace

Coefficients fitCoefficients(llvm::ArrayRef<Sample> samples, llvm::function_ref<bool(Feature)> isUsed) {
  Coefficients fitted;
  if (samples.empty())
    return fitted;
  fitted.values = LogFit(samples, isUsed).run();
  // In cycles as latencies have them on the average, and how long such a cycle took.
  double logs = 0;
  for (const Sample &sample : samples)
    logs += std::log(score(sample.features, pureLatencies()) / score(sample.features, fitted));
  double cycles = std::exp(logs / double(samples.size()));
  if (!std::isfinite(cycles) || cycles <= 0)
    return fitted;
  for (double &value : fitted.values)
    value *= cycles;
  fitted.nanoseconds = 1 / cycles;
  return fitted;
}

} // namespace fathom::tune
