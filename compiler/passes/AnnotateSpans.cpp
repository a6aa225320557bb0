// Gives every op its place in the text of the module as it is now, beside the node that it comes from: messages and
// dumps of later stages can be traced to a line of it.
#include "compiler/passes/Passes.h"

#include "mlir/IR/AsmState.h"

using namespace mlir;

namespace fathom {
#define GEN_PASS_DEF_ANNOTATESPANSPASS
#include "compiler/passes/Passes.h.inc"

namespace {

// What an op's location was before an earlier annotation.
Location withoutSpan(Location loc, StringAttr file) {
  auto fused = dyn_cast<FusedLoc>(loc);
  return fused && fused.getMetadata() == file ? fused.getLocations().front() : loc;
}

struct AnnotateSpansPass : impl::AnnotateSpansPassBase<AnnotateSpansPass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    StringAttr file = StringAttr::get(&getContext(), "graph");
    AsmState::LocationMap places;
    AsmState state(module, OpPrintingFlags().elideLargeElementsAttrs(16).elideLargeResourceString(16), &places);
    llvm::raw_null_ostream nowhere;
    module->print(nowhere, state);
    module.walk([&](Operation *op) {
      if (op == module)
        return;
      auto [line, column] = places.lookup(op);
      Location node = withoutSpan(op->getLoc(), file);
      op->setLoc(FusedLoc::get(&getContext(), {node, FileLineColLoc::get(file, line, column)}, file));
    });
  }
};

} // namespace
} // namespace fathom
