// The classes of kernels that work items compute.
#include "compiler/codegen/simt/SimtBackend.h"

#include "compiler/codegen/simt/Product.h"
#include "compiler/codegen/simt/SimtKernel.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace fathom {

// The classes of work items that CPUs have not, or emit otherwise; tasks of the others are computed by an item each.
static constexpr std::pair<const KernelClass *, ClassEmitter> own[] = {
    {&mapClass, with<MapSchedule, emitSimtMap>}, {&productClass, with<ProductSchedule, emitProduct>}};

ArrayRef<const KernelClass *> SimtBackend::kernelClasses() const {
  static const SmallVector<const KernelClass *> list = [] {
    SmallVector<const KernelClass *> list = llvm::map_to_vector(own, [](const auto &entry) { return entry.first; });
    llvm::append_range(list, commonClasses());
    return list;
  }();
  return list;
}

const KernelClass *SimtBackend::classOf(Operation *anchor) const {
  if (isa_and_nonnull<graph::MatMulOp, graph::ConvOp, graph::MatMulNBitsOp>(anchor))
    return &productClass;
  return isa_and_nonnull<graph::ConcatOp>(anchor) ? &mapClass : commonClassOf(anchor);
}

const KernelClass *SimtBackend::classOf(func::FuncOp kernel) const { return classOf(anchorOf(kernel)); }

std::optional<AnchorLayouts> SimtBackend::layoutsOf(Operation *, const Target &) const { return std::nullopt; }

void SimtBackend::registerDialects(DialectRegistry &registry) const {
  registry.insert<func::FuncDialect, arith::ArithDialect, math::MathDialect, scf::SCFDialect, LLVM::LLVMDialect,
                  ub::UBDialect, gpu::GPUDialect>();
}

FailureOr<Grid> SimtBackend::emitKernel(func::FuncOp kernel, const KernelClass &klass, const Schedule &schedule,
                                        StringRef name, unsigned symbolCount, const CodegenOptions &options,
                                        ModuleOp loops) const {
  ClassEmitter emit = commonEmitterOf(klass);
  for (const auto &[known, emitOwn] : own)
    if (known == &klass)
      emit = emitOwn;
  return emitItems(kernel, emit, schedule, name, symbolCount, options.target, loops);
}

std::string simtSymbol(StringRef name) {
  std::string symbol = "fathom_";
  for (char c : name)
    symbol += llvm::isAlnum(c) || c == '_' ? std::string(1, c) : "_" + llvm::utohexstr(uint8_t(c), /*LowerCase=*/true);
  return symbol;
}

} // namespace fathom
