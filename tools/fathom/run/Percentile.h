// Percentiles of measured times.
#pragma once

#include "llvm/ADT/ArrayRef.h"

namespace fathom {

// The value below which this fraction of the sorted values lies, interpolated as NumPy does.
inline double percentile(llvm::ArrayRef<double> sorted, double fraction) {
  double at = fraction * (sorted.size() - 1);
  size_t below = size_t(at), above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (at - below) * (sorted[above] - sorted[below]);
}

} // namespace fathom
