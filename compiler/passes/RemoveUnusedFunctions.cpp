// Functions that main calls neither itself nor through others go away.
#include "compiler/passes/Passes.h"

#include "mlir/IR/SymbolTable.h"

using namespace mlir;

namespace fathom {
#define GEN_PASS_DEF_REMOVEUNUSEDFUNCTIONSPASS
#include "compiler/passes/Passes.h.inc"

namespace {

struct RemoveUnusedFunctionsPass : impl::RemoveUnusedFunctionsPassBase<RemoveUnusedFunctionsPass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    SymbolTable symbols(module);
    auto main = symbols.lookup<func::FuncOp>("main");
    if (!main)
      return;
    llvm::SetVector<Operation *> used;
    used.insert(main);
    for (size_t i = 0; i < used.size(); ++i)
      if (std::optional<SymbolTable::UseRange> uses = SymbolTable::getSymbolUses(used[i]))
        for (SymbolTable::SymbolUse use : *uses)
          if (Operation *callee = symbols.lookup(use.getSymbolRef().getRootReference()))
            used.insert(callee);
    for (auto function : llvm::make_early_inc_range(module.getOps<func::FuncOp>()))
      if (!used.contains(function))
        function.erase();
  }
};

} // namespace
} // namespace fathom
