// Quantiles, the median's interval by the binomial distribution of its rank, outliers by the median absolute deviation.
#include "tools/fathom-measure/Statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace fathom::measure {

// Between the two nearest, in proportion.
static double quantile(const std::vector<double> &sorted, double share) {
  double place = share * double(sorted.size() - 1);
  size_t below = size_t(place), above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (place - double(below)) * (sorted[above] - sorted[below]);
}

Summary summarize(std::vector<double> times) {
  std::sort(times.begin(), times.end());
  Summary s{quantile(times, 0.5),  times.front(),         quantile(times, 0.25),
            quantile(times, 0.75), int64_t(times.size()), 0};
  std::vector<double> deviations;
  for (double time : times)
    deviations.push_back(std::fabs(time - s.median));
  std::sort(deviations.begin(), deviations.end());
  // That of a normal distribution is its standard deviation over 1.4826.
  double limit = 3 * 1.4826 * quantile(deviations, 0.5);
  s.outliers = deviations.end() - std::upper_bound(deviations.begin(), deviations.end(), limit);
  return s;
}

Interval medianInterval(std::vector<double> times) {
  constexpr double normalQuantile = 1.96;
  if (times.size() < 6)
    return {0, std::numeric_limits<double>::infinity()};
  std::sort(times.begin(), times.end());
  double count = double(times.size()), reach = normalQuantile * std::sqrt(count);
  double low = std::floor((count - reach) / 2), high = std::ceil((count + reach) / 2);
  return {times[size_t(std::max(low, 1.0)) - 1], times[size_t(std::min(high + 1, count)) - 1]};
}

} // namespace fathom::measure
