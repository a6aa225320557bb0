// The opposite of fusion: a kernel for each op.
#include "compiler/passes/Passes.h"
#include "compiler/plan/FuseOps.h"

using namespace mlir;

namespace fathom {
#define GEN_PASS_DEF_SEPARATEOPSPASS
#include "compiler/passes/Passes.h.inc"

namespace {

struct SeparateOpsPass : impl::SeparateOpsPassBase<SeparateOpsPass> {
  LogicalResult runOnFunction(func::FuncOp function) override {
    OpBuilder b(&getContext());
    int64_t kernels = 0;
    function.walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (op != function && !needsNoKernel(op))
        op->setAttr("graph.kernel", b.getI64IntegerAttr(kernels++));
    });
    return success();
  }
};

} // namespace
} // namespace fathom
