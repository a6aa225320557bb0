// Takes back what FuseOps did: no op is in a group any more.
#include "compiler/passes/Passes.h"

using namespace mlir;

namespace fathom {
#define GEN_PASS_DEF_DEFUSEOPSPASS
#include "compiler/passes/Passes.h.inc"

namespace {

struct DefuseOpsPass : impl::DefuseOpsPassBase<DefuseOpsPass> {
  LogicalResult runOnFunction(func::FuncOp function) override {
    function.walk([](Operation *op) { op->removeAttr("graph.kernel"); });
    return success();
  }
};

} // namespace
} // namespace fathom
