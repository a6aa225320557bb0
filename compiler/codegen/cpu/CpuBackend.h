// The back end of CPUs.
#pragma once

#include "compiler/kernel/Backend.h"

namespace fathom {

const Backend &cpuBackend();

// What its kernels want of their operands: convolutions read channels-last with their padding as a halo, weights are
// packed for the register tile.
std::optional<AnchorLayouts> cpuLayoutsOf(mlir::Operation *anchor, const Target &target);

} // namespace fathom
