// Least squares of logarithms, step by step.
#include "compiler/tune/calibrate/Fit.h"

#include "compiler/tune/calibrate/LogError.h"
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

// Least squares of log(score / time), where scores are rows times x.
class LogFit {
public:
  LogFit(llvm::ArrayRef<Sample> samples, llvm::function_ref<bool(Feature)> isUsed) : samples(samples), error(samples) {
    for (unsigned i = 0; i < featureCount; ++i)
      if (isUsed(Feature(i)))
        used.push_back(i);
    for (const Sample &sample : samples) {
      std::vector<double> &row = rows.emplace_back();
      for (unsigned i : used)
        row.push_back(sample.features[i]);
    }
  }

  Features run() {
    // Shares of times first, which are linear.
    std::vector<std::vector<double>> shares = rows;
    std::vector<double> ones(rows.size());
    for (size_t i = 0; i < rows.size(); ++i) {
      for (double &value : shares[i])
        value *= error.weight(i) / samples[i].nanoseconds;
      ones[i] = error.weight(i);
    }
    std::vector<double> x = nonnegativeLeastSquares(shares, ones);
    double least = errorOf(x);
    constexpr int steps = 30;
    for (int step = 0; step < steps && std::isfinite(least); ++step) {
      std::vector<double> aim = linearised(x), next = x;
      double before = least;
      for (double length = 1; length > 1e-3; length /= 2) {
        for (size_t i = 0; i < x.size(); ++i)
          next[i] = x[i] + length * (aim[i] - x[i]);
        if (double found = errorOf(next); found < least) {
          x = next, least = found;
          break;
        }
      }
      if (least > before * (1 - 1e-6))
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

  double errorOf(llvm::ArrayRef<double> x) const {
    std::vector<double> scores(rows.size());
    for (size_t i = 0; i < rows.size(); ++i)
      scores[i] = scoreOf(i, x);
    return error.of(scores);
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
    error.center(wanted);
    for (std::vector<double> &column : columns)
      error.center(column);
    std::vector<std::vector<double>> tangents(rows.size(), std::vector<double>(used.size()));
    for (size_t i = 0; i < rows.size(); ++i) {
      wanted[i] *= error.weight(i);
      for (size_t j = 0; j < used.size(); ++j)
        tangents[i][j] = columns[j][i] * error.weight(i);
    }
    return nonnegativeLeastSquares(tangents, wanted);
  }

  llvm::ArrayRef<Sample> samples;
  LogError error;
  std::vector<unsigned> used;
  std::vector<std::vector<double>> rows;
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
