// Rounds of passes, until they find out nothing that would help those in front of them.
#include "compiler/passes/Pipeline.h"

using namespace mlir;

namespace fathom {
#define GEN_PASS_DEF_REPEATPASS
#include "compiler/passes/Passes.h.inc"

namespace {

struct RepeatPass : impl::RepeatPassBase<RepeatPass> {
  using RepeatPassBase::RepeatPassBase;

  StringRef inner() const override { return passes.getValue(); }
  StringRef problem() const override {
    if (passes.getValue().empty())
      return "it has no passes to run; they are its option passes={...}";
    return rounds == 0 ? "rounds must be at least 1" : "";
  }

  void runOnOperation() override {
    FailureOr<Pipeline> pipeline = Pipeline::parse(passes, getOperation().getLoc());
    if (failed(pipeline))
      return signalPassFailure();
    bool wasUnsettled = context().isUnsettled;
    for (unsigned round = 0; round < rounds; ++round) {
      context().isUnsettled = false;
      if (failed(pipeline->run(getOperation(), context())))
        return signalPassFailure();
      if (!context().isUnsettled)
        break;
    }
    // For a repeat around this one.
    context().isUnsettled |= wasUnsettled;
  }
};

} // namespace
} // namespace fathom
