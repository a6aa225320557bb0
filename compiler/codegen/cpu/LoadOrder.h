// When the vectors that a loop multiplies are loaded, and where to, chosen for the whole loop at once (modulo
// scheduling): ahead of their use, so that no multiply-add waits, and one at a time, so that no row of loads holds up
// what comes behind it.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include <optional>

namespace fathom {

// The first and the last multiply-add of an iteration that needs a vector.
struct VectorUse {
  int64_t first, last;
};

struct LoadOrder {
  // Vectors, from the first on, that are loaded before an iteration begins: their loads below are those of the next.
  int64_t carried = 0;
  llvm::SmallVector<int64_t> behind; // which multiply-add each vector is loaded
  llvm::SmallVector<int64_t> place;  // the register of each vector; a carried one has the same in every iteration
};

// The order in which the shortest time from a load to its first use is longest, up to `distance` multiply-adds, for
// vectors that are sorted by their first use in iterations of so many multiply-adds. None if there are too few
// registers.
std::optional<LoadOrder> orderLoads(llvm::ArrayRef<VectorUse> uses, int64_t multiplyAdds, int64_t registers,
                                    int64_t distance);

} // namespace fathom
