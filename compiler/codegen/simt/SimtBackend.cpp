// The classes of kernels that work items compute.
#include "compiler/codegen/simt/SimtBackend.h"

#include "compiler/codegen/simt/GroupKernel.h"
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
    list.push_back(&blockContractClass);
    llvm::append_range(list, commonClasses());
    return list;
  }();
  return list;
}

const KernelClass *SimtBackend::classOf(Operation *anchor) const {
  // What multiplies every number once has nothing to share.
  if (isa_and_nonnull<graph::MatMulNBitsOp>(anchor) || (anchor && isDepthwise(anchor)))
    return &productClass;
  if (isa_and_nonnull<graph::MatMulOp, graph::ConvOp>(anchor))
    return &blockContractClass;
  return isa_and_nonnull<graph::ConcatOp>(anchor) ? &mapClass : commonClassOf(anchor);
}

const KernelClass *SimtBackend::classOf(func::FuncOp kernel) const { return classOf(anchorOf(kernel)); }

// Of convolutions, neighbouring items fetch neighbouring channels. Products take operands in any order, and write rows.
std::optional<AnchorLayouts> SimtBackend::layoutsOf(Operation *anchor, const Target &) const {
  if (isa<graph::MatMulOp>(anchor))
    return AnchorLayouts{{}, false};
  auto conv = dyn_cast<graph::ConvOp>(anchor);
  if (!conv)
    return std::nullopt;
  SmallVector<int64_t> order = llvm::to_vector(llvm::seq<int64_t>(2, conv.getType().getRank()));
  order.append({1, 0});
  return AnchorLayouts{{{OperandLayout::Pixels, 0}, {OperandLayout::Packed, 1, {}, order}}, true};
}

int64_t SimtBackend::alignment() const { return operandAlignment; }

void SimtBackend::registerDialects(DialectRegistry &registry) const {
  registry.insert<func::FuncDialect, arith::ArithDialect, math::MathDialect, scf::SCFDialect, LLVM::LLVMDialect,
                  ub::UBDialect, gpu::GPUDialect, vector::VectorDialect>();
}

static FailureOr<Grid> emitAsItems(func::FuncOp kernel, ClassEmitter emit, const Schedule &schedule, StringRef name,
                                   unsigned symbolCount, const Target &target, ModuleOp loops) {
  return emitItems(kernel, emit, schedule, name, symbolCount, target, loops);
}

FailureOr<Grid> SimtBackend::emitKernel(func::FuncOp kernel, const KernelClass &klass, const Schedule &schedule,
                                        StringRef name, unsigned symbolCount, const CodegenOptions &options,
                                        ModuleOp loops) const {
  FailureOr<Grid> grid = failure();
  if (&klass == &blockContractClass) {
    grid = emitBlockContract(kernel, schedule, name, symbolCount, options.target, loops);
  } else {
    ClassEmitter emit = commonEmitterOf(klass);
    for (const auto &[known, emitOwn] : own)
      if (known == &klass)
        emit = emitOwn;
    Operation *anchor = anchorOf(kernel);
    auto emitAll = anchor && sharesRows(anchor, klass, options.target) ? emitSharedRows : emitAsItems;
    grid = emitAll(kernel, emit, schedule, name, symbolCount, options.target, loops);
  }
  if (failed(grid))
    return failure();
  std::string groups;
  llvm::raw_string_ostream(groups) << grid->tasks;
  auto function = loops.lookupSymbol<func::FuncOp>(name);
  OpBuilder b(loops.getContext());
  function->setAttr(groupsAttribute, b.getStringAttr(groups));
  function->setAttr(itemsAttribute, b.getI64IntegerAttr(grid->groupItems));
  function->setAttr(scratchAttribute, b.getI64IntegerAttr(grid->scratchBytes));
  return grid;
}

std::string launchNote(func::FuncOp kernel) {
  std::string note;
  llvm::raw_string_ostream out(note);
  if (auto items = kernel->getAttrOfType<IntegerAttr>(itemsAttribute))
    out << "// " << simtSymbol(kernel.getName()) << ": "
        << kernel->getAttrOfType<StringAttr>(groupsAttribute).getValue() << " groups of " << items.getInt()
        << " items, with " << kernel->getAttrOfType<IntegerAttr>(scratchAttribute).getInt() << " bytes of scratch\n";
  return note;
}

std::string simtSymbol(StringRef name) {
  std::string symbol = "fathom_";
  for (char c : name)
    symbol += llvm::isAlnum(c) || c == '_' ? std::string(1, c) : "_" + llvm::utohexstr(uint8_t(c), /*LowerCase=*/true);
  return symbol;
}

} // namespace fathom
