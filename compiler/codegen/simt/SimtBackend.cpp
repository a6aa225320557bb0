// The classes of kernels that work items compute.
#include "compiler/codegen/simt/SimtBackend.h"

#include "compiler/codegen/simt/SimtKernel.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace fathom {

ArrayRef<const KernelClass *> SimtBackend::kernelClasses() const {
  static const KernelClass *const all[] = {&mapClass};
  return all;
}

const KernelClass *SimtBackend::classOf(Operation *anchor) const {
  return graph::isAnchor(anchor) ? nullptr : &mapClass;
}

const KernelClass *SimtBackend::classOf(func::FuncOp kernel) const { return classOf(anchorOf(kernel)); }

std::optional<AnchorLayouts> SimtBackend::layoutsOf(Operation *, const Target &) const { return std::nullopt; }

void SimtBackend::registerDialects(DialectRegistry &registry) const {
  registry.insert<func::FuncDialect, arith::ArithDialect, math::MathDialect, scf::SCFDialect, LLVM::LLVMDialect,
                  ub::UBDialect, gpu::GPUDialect>();
}

FailureOr<Grid> SimtBackend::emitKernel(func::FuncOp kernel, const KernelClass &, const Schedule &schedule,
                                        StringRef name, unsigned symbolCount, const CodegenOptions &options,
                                        ModuleOp loops) const {
  return emitSimtMap(kernel, schedule, name, symbolCount, options.target, loops);
}

std::string simtSymbol(StringRef name) {
  std::string symbol = "fathom_";
  for (char c : name)
    symbol += llvm::isAlnum(c) || c == '_' ? std::string(1, c) : "_" + llvm::utohexstr(uint8_t(c), /*LowerCase=*/true);
  return symbol;
}

} // namespace fathom
