// Dead code: MLIR's own algorithm under the name that pass selection uses.
#include "compiler/passes/Passes.h"

#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;

namespace fathom {
#define GEN_PASS_DEF_DEADCODEELIMINATIONPASS
#include "compiler/passes/Passes.h.inc"

namespace {

struct DeadCodeEliminationPass : impl::DeadCodeEliminationPassBase<DeadCodeEliminationPass> {
  LogicalResult runOnFunction(func::FuncOp function) override {
    IRRewriter rewriter(&getContext());
    (void)runRegionDCE(rewriter, function->getRegions());
    return success();
  }
};

} // namespace
} // namespace fathom
