// The passes from a canonical graph to kernels, and their loops.
#include "compiler/driver/EmitLoops.h"

#include "compiler/driver/Backends.h"
#include "compiler/driver/DefaultPasses.h"
#include "compiler/passes/Pipeline.h"
#include "compiler/plan/Program.h"

using namespace mlir;

namespace fathom {
namespace {

struct EmitLoopsPass : PassWrapper<EmitLoopsPass, GraphPassOf<RowMajor | Movable | Canonical>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(EmitLoopsPass)

  StringRef getArgument() const override { return "emit-loops"; }
  StringRef getDescription() const override { return "Replace the model by the loops of its kernels"; }
  void getDependentDialects(DialectRegistry &registry) const override { registerCodegenDialects(registry); }

  void runOnOperation() override {
    ModuleOp module = getOperation();
    FailureOr<Pipeline> pipeline = Pipeline::parse(kernelPasses(), module.getLoc());
    if (failed(pipeline) || failed(pipeline->run(module, context())))
      return signalPassFailure();
    Program &program = *context().program;
    OwningOpRef<ModuleOp> loops = ModuleOp::create(module.getLoc());
    for (KernelCode &code : program.codes)
      if (failed(program.backend->emitKernel(code.function, *code.kernelClass, code.schedule, code.symbol,
                                             graph::getSymbols(module).size(), {context().target}, *loops)))
        return signalPassFailure();
    module.getBodyRegion().takeBody(loops->getBodyRegion());
  }
};

} // namespace

void registerEmitLoopsPass() {
  registerGraphPass([]() -> std::unique_ptr<Pass> { return std::make_unique<EmitLoopsPass>(); });
}

} // namespace fathom
