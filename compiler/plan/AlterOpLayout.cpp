// Puts convolutions and products into the form of the algorithms that a chooser gives them.
#include "compiler/kernel/ConvAlgorithm.h"
#include "compiler/passes/Passes.h"
#include "compiler/plan/Chooser.h"
#include "compiler/plan/JoinedPhases.h"
#include "compiler/plan/TransformedWeights.h"

using namespace mlir;
using namespace fathom::graph;

namespace fathom {
#define GEN_PASS_DEF_ALTEROPLAYOUTPASS
#include "compiler/passes/Passes.h.inc"

namespace {

void apply(const AlgorithmChoice &choice) {
  auto conv = dyn_cast<ConvOp>(choice.op);
  switch (choice.method) {
  case AlgorithmChoice::Named:
    return setAlgorithm(choice.op, choice.name);
  case AlgorithmChoice::Winograd:
    return useWinograd(conv, choice.number);
  case AlgorithmChoice::Strassen:
    return conv ? useStrassen(conv, choice.number) : useStrassen(cast<MatMulOp>(choice.op), choice.number);
  }
}

// Transposed convolutions that other ops compute better.
void rewriteTransposed(func::FuncOp main, const AlgorithmOptions &options, Chooser &chooser) {
  SmallVector<ConvTransposeOp> convolutions;
  main.walk([&](ConvTransposeOp conv) { convolutions.push_back(conv); });
  for (ConvTransposeOp conv : convolutions)
    if (TransposedForm form = chooser.form(conv, options); form == TransposedForm::ProductOfPixel)
      useProductOfPixel(conv);
    else if (form == TransposedForm::JoinedPhases)
      joinPhases(conv);
}

struct AlterOpLayoutPass : impl::AlterOpLayoutPassBase<AlterOpLayoutPass> {
  // The transformed weights are ops over constants: they are to be folded afterwards.
  LogicalResult runOnFunction(func::FuncOp function) override {
    if (getOperation()->hasAttr(hasAlgorithmsAttribute))
      return success();
    AlgorithmOptions options = context().algorithms;
    options.fp = context().fp;
    Chooser &chooser = *context().chooser;
    // Taps that fill up windows are zeros, which infinite inputs would meet: that is not for strict floating point.
    if (options.transformsWeights())
      rewriteTransposed(function, options, chooser);
    FailureOr<std::vector<AlgorithmChoice>> choices = chooser.algorithms(function, options);
    if (failed(choices))
      return failure();
    llvm::for_each(*choices, apply);
    function.walk([](ConvOp conv) {
      if (takesSwappedPairs(conv))
        swapPairs(conv);
    });
    return success();
  }
};

} // namespace
} // namespace fathom
