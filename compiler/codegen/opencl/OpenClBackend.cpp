// The classes and the code of kernels in OpenCL C.
#include "compiler/codegen/opencl/OpenClBackend.h"

#include "compiler/codegen/common/ExpandBf16.h"
#include "compiler/codegen/common/MathLowering.h"
#include "compiler/codegen/opencl/OpenClPrinter.h"
#include "compiler/codegen/simt/SimtBackend.h"
#include "compiler/support/Diagnostics.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"

using namespace mlir;

namespace fathom {
namespace {

class OpenClBackend final : public SimtBackend {
public:
  StringRef name() const override { return "opencl"; }

  FailureOr<MachineCode> generate(ModuleOp loops, const CodegenOptions &options, CodeForm form,
                                  llvm::function_ref<void(llvm::Module &)>) const override {
    if (form == CodeForm::Llvm)
      return hint(emitError(loops.getLoc(), ErrorCode::BadTarget) << "OpenCL C is printed, not lowered to LLVM IR",
                  "--emit asm prints it");
    if (failed(expandBf16(loops)))
      return failure();
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

  MemorySpace memorySpace() const override { return MemorySpace::OpenCl; }
  DevicePrograms devicePrograms(const Target &) const override { return {FATHOM_ABI_PROGRAM_OPENCL_C, 0}; }
};

} // namespace

const Backend &openClBackend() {
  static const OpenClBackend backend;
  return backend;
}

} // namespace fathom
