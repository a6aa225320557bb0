// Sizes that were to be read from data, but are known by now: constant folding has computed what decides them, or a
// branch fell away. Their symbols become what they are, in every type.
#include "compiler/graph/InferShapes.h"
#include "compiler/graph/SymbolRewrite.h"
#include "compiler/passes/Passes.h"

using namespace mlir;
using namespace fathom::graph;

namespace fathom {
#define GEN_PASS_DEF_DYNAMICTOSTATICPASS
#include "compiler/passes/Passes.h.inc"

namespace {

// Whether it changed anything.
FailureOr<bool> resolvePins(ModuleOp module) {
  SymbolList symbols = getSymbols(module);
  SmallVector<AffineExpr> replacements;
  for (size_t i = 0; i < symbols.size(); ++i)
    replacements.push_back(getAffineSymbolExpr(i, module.getContext()));
  SmallVector<PinOp> resolved;
  module.walk([&](PinOp pin) {
    // In a loop, the same symbol has another value each time.
    std::optional<Elements> elements = elementsOf(pin.getInput());
    if (!elements || pin->getParentOfType<LoopOp>())
      return;
    for (auto [position, symbol] : llvm::zip(pin.getPositions(), pin.getSymbols())) {
      std::optional<int64_t> value = constantSize((*elements)[position]);
      // One out of range is refused at run time.
      if (!value || *value < symbols[symbol].min || *value > symbols[symbol].max)
        return;
    }
    for (auto [position, symbol] : llvm::zip(pin.getPositions(), pin.getSymbols()))
      replacements[symbol] = (*elements)[position];
    resolved.push_back(pin);
  });
  if (resolved.empty())
    return false;
  for (PinOp pin : resolved)
    pin.erase();
  replaceSymbols(module, replacements);
  // Conditions that hold need no check any more.
  SmallVector<AssertOp> certain;
  module.walk([&](AssertOp check) {
    if (llvm::all_of(check.getConditions().getResults(),
                     [](AffineExpr condition) { return constantSize(condition).value_or(-1) >= 0; }))
      certain.push_back(check);
  });
  for (AssertOp check : certain)
    check.erase();
  for (auto function : module.getOps<func::FuncOp>())
    if (failed(inferAgain(function)))
      return failure();
  return true;
}

struct DynamicToStaticPass : impl::DynamicToStaticPassBase<DynamicToStaticPass> {
  void runOnOperation() override {
    FailureOr<bool> isChanged = resolvePins(getOperation());
    if (failed(isChanged))
      return signalPassFailure();
    // Sizes that are known may make more constant.
    context().isUnsettled |= *isChanged;
  }
};

} // namespace
} // namespace fathom
