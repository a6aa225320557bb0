// Puts convolutions and products into the form of the algorithms that a chooser gives them.
#include "compiler/plan/AlterOpLayout.h"

#include "compiler/kernel/ConvAlgorithm.h"
#include "compiler/passes/Passes.h"
#include "compiler/plan/JoinedPhases.h"
#include "compiler/plan/TransformedWeights.h"
#include "compiler/support/Diagnostics.h"

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
  using AlterOpLayoutPassBase::AlterOpLayoutPassBase;
  void runOnOperation() override {
    auto machine = parseTarget(target);
    if (!machine) {
      emitError(getOperation().getLoc(), ErrorCode::BadTarget) << llvm::toString(machine.takeError());
      return signalPassFailure();
    }
    AlgorithmOptions options{convolution, product, maxWeightGrowth, parseFloatMode(fp)};
    if (failed(alterOpLayout(getOperation(), options, *draftChooser(*machine))))
      signalPassFailure();
  }
};

} // namespace

LogicalResult alterOpLayout(func::FuncOp main, const AlgorithmOptions &options, Chooser &chooser) {
  // Taps that fill up windows are zeros, which infinite inputs would meet: that is not for strict floating point.
  if (options.transformsWeights())
    rewriteTransposed(main, options, chooser);
  FailureOr<std::vector<AlgorithmChoice>> choices = chooser.algorithms(main, options);
  if (failed(choices))
    return failure();
  llvm::for_each(*choices, apply);
  main.walk([](ConvOp conv) {
    if (takesSwappedPairs(conv))
      swapPairs(conv);
  });
  return success();
}

} // namespace fathom
