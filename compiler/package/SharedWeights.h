// One segment of weights for the code of several CPUs.
#pragma once

#include "compiler/package/MemoryPlan.h"

namespace fathom {

// Gives the weights of several plans places in one segment, those of equal bytes the same one; every plan then speaks
// of the whole segment. The result has each place's weight once, in the order of places.
std::vector<Weight> shareWeights(llvm::ArrayRef<MemoryPlan *> plans);

} // namespace fathom
