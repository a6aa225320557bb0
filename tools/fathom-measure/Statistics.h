// What is told of a kernel's times: pure functions.
#pragma once

#include <cstdint>
#include <vector>

namespace fathom::measure {

// Two bounds between which the median lies with a probability of 95 %.
struct Interval {
  double low, high;
};

struct Summary {
  double median, minimum, lowerQuartile, upperQuartile;
  int64_t runs, outliers;
};

// Of at least one time. Outliers, further from the median than three standard deviations as the median absolute
// deviation estimates them, are counted and stay in: none of what is told here hangs on how far away they are.
Summary summarize(std::vector<double> times);

// By the ranks that it has whatever the times' distribution is; of fewer than 6 times nothing is known.
Interval medianInterval(std::vector<double> times);

} // namespace fathom::measure
