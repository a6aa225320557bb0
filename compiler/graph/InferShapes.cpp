// Pass `infer-shapes`: re-runs the shape function of every op in order, so that a changed type reaches what follows
// from it.
#include "compiler/graph/InferShapes.h"

#include "compiler/graph/Graph.h"
#include "compiler/support/Diagnostics.h"
#include "mlir/Pass/Pass.h"

using namespace mlir;

namespace fathom::graph {

LogicalResult inferAgain(func::FuncOp function) {
  bool failedAny = function
                       .walk([](Operation *op) {
                         return isa<ShapeOpInterface>(op) && failed(inferResultTypes(op)) ? WalkResult::interrupt()
                                                                                          : WalkResult::advance();
                       })
                       .wasInterrupted();
  if (failedAny || function.isExternal())
    return success(!failedAny);
  Operation *end = function.front().getTerminator();
  function.setFunctionType(
      FunctionType::get(function.getContext(), function.getArgumentTypes(), end->getOperandTypes()));
  return success();
}

namespace {

// On the module, not on functions: shape functions may narrow the ranges of its symbols.
struct InferShapesPass : PassWrapper<InferShapesPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(InferShapesPass)
  StringRef getArgument() const override { return "infer-shapes"; }
  StringRef getDescription() const override { return "Re-run the shape functions in order"; }

  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (failed(inferAgain(function)))
        return signalPassFailure();
  }
};

} // namespace

void registerInferShapesPass() { PassRegistration<InferShapesPass>(); }

} // namespace fathom::graph
