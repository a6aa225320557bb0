// Dead code and common subexpressions: MLIR's own algorithms under the names that pass selection uses.
#include "compiler/passes/Passes.h"

#include "mlir/IR/Dominance.h"
#include "mlir/Transforms/CSE.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;

namespace fathom {
#define GEN_PASS_DEF_DEADCODEELIMINATIONPASS
#define GEN_PASS_DEF_ELIMINATECOMMONSUBEXPRPASS
#include "compiler/passes/Passes.h.inc"

namespace {

struct DeadCodeEliminationPass : impl::DeadCodeEliminationPassBase<DeadCodeEliminationPass> {
  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    (void)runRegionDCE(rewriter, getOperation()->getRegions());
  }
};

struct EliminateCommonSubexprPass : impl::EliminateCommonSubexprPassBase<EliminateCommonSubexprPass> {
  void runOnOperation() override {
    // Names differ between equal ops; they must not keep them apart.
    IRRewriter rewriter(&getContext());
    SmallVector<std::pair<Operation *, Attribute>> names;
    getOperation().walk([&](Operation *op) {
      if (Attribute name = op->removeAttr("graph.name"))
        names.push_back({op, name});
    });
    DenseSet<Operation *> alive;
    DominanceInfo dominance;
    eliminateCommonSubExpressions(rewriter, dominance, getOperation());
    getOperation().walk([&](Operation *op) { alive.insert(op); });
    for (auto [op, name] : names)
      if (alive.contains(op))
        op->setAttr("graph.name", name);
  }
};

} // namespace
} // namespace fathom
