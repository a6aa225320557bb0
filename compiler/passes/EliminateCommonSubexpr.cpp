// Common subexpressions: MLIR's own algorithm under the name that pass selection uses.
#include "compiler/passes/Passes.h"

#include "mlir/IR/Dominance.h"
#include "mlir/Transforms/CSE.h"

using namespace mlir;

namespace fathom {
#define GEN_PASS_DEF_ELIMINATECOMMONSUBEXPRPASS
#include "compiler/passes/Passes.h.inc"

namespace {

struct EliminateCommonSubexprPass : impl::EliminateCommonSubexprPassBase<EliminateCommonSubexprPass> {
  LogicalResult runOnFunction(func::FuncOp function) override {
    // Names differ between equal ops; they must not keep them apart.
    IRRewriter rewriter(&getContext());
    SmallVector<std::pair<Operation *, Attribute>> names;
    function.walk([&](Operation *op) {
      if (Attribute name = op->removeAttr("graph.name"))
        names.push_back({op, name});
    });
    DenseSet<Operation *> alive;
    DominanceInfo dominance;
    eliminateCommonSubExpressions(rewriter, dominance, function);
    function.walk([&](Operation *op) { alive.insert(op); });
    for (auto [op, name] : names)
      if (alive.contains(op))
        op->setAttr("graph.name", name);
    return success();
  }
};

} // namespace
} // namespace fathom
