// The machine that costs are tested on.
#pragma once

#include "compiler/target/Target.h"

namespace fathom::cost {

inline Target machine() {
  Target target;
  target.instructions.set(MultiplyKind::MultiplyAdd, FactorType::F32, FactorSource::Lane, {2, 4});
  target.fmaPerCycle = 4, target.loadsPerCycle = 3, target.storesPerCycle = 2, target.issuedPerCycle = 8;
  target.caches = {{64 << 10, 48, 4}, {1 << 20, 24}, {32 << 20, 10}};
  return target;
}

// A machine whose multiply-adds take their factors from memory.
inline void takeLanesAway(Target &target) {
  target.instructions.set(MultiplyKind::MultiplyAdd, FactorType::F32, FactorSource::Lane, {});
}

} // namespace fathom::cost
