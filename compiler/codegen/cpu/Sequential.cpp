// Kernels whose elements depend on each other or on data in ways that no tile can share: scatters, scans, sorts.
#include "compiler/codegen/cpu/Kernels.h"
#include "compiler/support/Diagnostics.h"

using namespace mlir;

namespace fathom {

Grid emitSequential(KernelBody &k) {
  fathom::emitError(k.anchor, ErrorCode::UnsupportedOp) << "'" << k.anchor->getName() << "' has no code yet";
  k.e.failed = true;
  return Grid{getAffineConstantExpr(1, k.context()), 0};
}

} // namespace fathom
