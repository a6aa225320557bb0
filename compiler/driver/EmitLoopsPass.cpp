// The stages from the graph to the loops, without the graph passes before them: what is tested is what is written.
#include "compiler/driver/EmitLoopsPass.h"

#include "compiler/driver/Backends.h"
#include "compiler/plan/Program.h"
#include "compiler/support/Diagnostics.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace mlir;

namespace fathom {
namespace {

struct EmitLoopsPass : PassWrapper<EmitLoopsPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(EmitLoopsPass)

  EmitLoopsPass() = default;
  EmitLoopsPass(const EmitLoopsPass &other) : PassWrapper(other) {}

  StringRef getArgument() const override { return "emit-loops"; }
  StringRef getDescription() const override { return "Replace the model by the loops of its kernels"; }
  void getDependentDialects(DialectRegistry &registry) const override { registerCodegenDialects(registry); }

  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto machine = parseTarget(target);
    if (!machine) {
      emitError(module.getLoc(), ErrorCode::BadTarget) << llvm::toString(machine.takeError());
      return signalPassFailure();
    }
    std::optional<Plan> given;
    if (!plan.empty()) {
      auto file = llvm::MemoryBuffer::getFile(plan);
      auto parsed = parsePlan(file ? (*file)->getBuffer() : "", plan);
      if (!parsed) {
        emitError(module.getLoc(), ErrorCode::BadPlan) << llvm::toString(parsed.takeError());
        return signalPassFailure();
      }
      given = std::move(*parsed);
    }
    FailureOr<std::unique_ptr<Chooser>> chooser = chooserFor(given ? &*given : nullptr, *machine, module.getLoc());
    FailureOr<Program> program = failure();
    if (succeeded(chooser))
      program = buildProgram(module, *machine, **chooser);
    if (failed(program))
      return signalPassFailure();
    OwningOpRef<ModuleOp> loops = ModuleOp::create(module.getLoc());
    for (KernelCode &code : program->codes)
      if (failed(program->backend->emitKernel(code.function, *code.kernelClass, code.schedule, code.symbol,
                                              graph::getSymbols(module).size(), {*machine}, *loops)))
        return signalPassFailure();
    module.getBodyRegion().takeBody(loops->getBodyRegion());
  }

  Option<std::string> target{*this, "target", llvm::cl::desc("The CPU"), llvm::cl::init("host")};
  Option<std::string> plan{*this, "plan", llvm::cl::desc("A file with the plan")};
};

} // namespace

void registerEmitLoopsPass() { PassRegistration<EmitLoopsPass>(); }

} // namespace fathom
