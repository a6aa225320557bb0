// Names for all ops.
#include "compiler/graph/OpNames.h"
#include "compiler/passes/Passes.h"

using namespace mlir;

namespace fathom {
#define GEN_PASS_DEF_NAMEOPSPASS
#include "compiler/passes/Passes.h.inc"

namespace {

struct NameOpsPass : impl::NameOpsPassBase<NameOpsPass> {
  LogicalResult runOnFunction(func::FuncOp function) override { return nameOps(function), success(); }
};

} // namespace
} // namespace fathom
