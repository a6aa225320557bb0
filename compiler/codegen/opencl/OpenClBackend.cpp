// The classes and the code of kernels in OpenCL C.
#include "compiler/codegen/opencl/OpenClBackend.h"

#include "compiler/codegen/common/MathLowering.h"
#include "compiler/codegen/opencl/OpenClPrinter.h"
#include "compiler/codegen/simt/SimtKernel.h"
#include "compiler/support/Diagnostics.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"

using namespace mlir;

namespace fathom {
namespace {

class OpenClBackend final : public Backend {
public:
  StringRef name() const override { return "opencl"; }

  ArrayRef<const KernelClass *> kernelClasses() const override {
    static const KernelClass *const all[] = {&mapClass};
    return all;
  }
  const KernelClass *classOf(Operation *anchor) const override { return graph::isAnchor(anchor) ? nullptr : &mapClass; }
  const KernelClass *classOf(func::FuncOp kernel) const override { return classOf(anchorOf(kernel)); }

  std::optional<AnchorLayouts> layoutsOf(Operation *, const Target &) const override { return std::nullopt; }

  void registerDialects(DialectRegistry &registry) const override {
    registry.insert<func::FuncDialect, arith::ArithDialect, math::MathDialect, scf::SCFDialect, LLVM::LLVMDialect,
                    ub::UBDialect, gpu::GPUDialect>();
  }

  FailureOr<Grid> emitKernel(func::FuncOp kernel, const KernelClass &, const Schedule &schedule, StringRef name,
                             unsigned symbolCount, const CodegenOptions &options, ModuleOp loops) const override {
    return emitSimtMap(kernel, schedule, name, symbolCount, options.target, loops);
  }

  FailureOr<MachineCode> generate(ModuleOp loops, const CodegenOptions &options, CodeForm form,
                                  llvm::function_ref<void(llvm::Module &)>) const override {
    if (form != CodeForm::Assembly)
      return hint(emitError(loops.getLoc(), ErrorCode::BadTarget) << "OpenCL C is printed, not lowered to LLVM IR",
                  "--emit asm prints it");
    RewritePatternSet patterns(loops.getContext());
    populateMathLowering(patterns, MathOptions{options.strict, /*hasFma=*/true, /*hasRounding=*/true,
                                               /*hasMinMax=*/false});
    arith::populateCeilFloorDivExpandOpsPatterns(patterns);
    if (failed(applyPatternsGreedily(loops, std::move(patterns))))
      return failure();
    MachineCode code;
    llvm::raw_string_ostream out(code.text);
    if (failed(printOpenCl(loops, out)))
      return failure();
    return code;
  }
};

} // namespace

const Backend &openClBackend() {
  static const OpenClBackend backend;
  return backend;
}

} // namespace fathom
