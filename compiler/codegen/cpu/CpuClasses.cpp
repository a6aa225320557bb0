// The table of emitters, and the class of each anchor.
#include "compiler/codegen/cpu/CpuClasses.h"

#include "compiler/kernel/Attention.h"
#include "compiler/kernel/ConvAlgorithm.h"
#include "compiler/kernel/Reorder.h"
#include "compiler/kernel/TransposedConv.h"
#include "compiler/schedule/Attention.h"
#include "compiler/schedule/Depthwise.h"
#include "compiler/schedule/PackedProduct.h"
#include "compiler/schedule/Reorder.h"
#include "compiler/schedule/SpatialPack.h"
#include "compiler/schedule/Strassen.h"
#include "compiler/schedule/Transposed.h"
#include "compiler/schedule/Winograd.h"

using namespace mlir;
using namespace fathom::graph;

namespace fathom {

// Those of CPUs alone, each in the file of its name.
Grid emitMap(KernelBody &k, const MapSchedule &schedule);
Grid emitReorder(KernelBody &k, const ReorderSchedule &schedule);
Grid emitConcat(KernelBody &k, const ConcatSchedule &schedule);
Grid emitContract(KernelBody &k, const ContractSchedule &schedule);
Grid emitAttention(KernelBody &k, const AttentionSchedule &schedule);
Grid emitDepthwise(KernelBody &k, const DepthwiseSchedule &schedule);
Grid emitWinograd(KernelBody &k, const WinogradSchedule &schedule);
Grid emitStrassen(KernelBody &k, const StrassenSchedule &schedule);
Grid emitSpatialPack(KernelBody &k, const SpatialPackSchedule &schedule);
Grid emitTransposed(KernelBody &k, const TransposedSchedule &schedule);
Grid emitPackedProduct(KernelBody &k, const PackedProductSchedule &schedule);

static constexpr std::pair<const KernelClass *, ClassEmitter> emitters[] = {
    {&mapClass, with<MapSchedule, emitMap>},
    {&reorderClass, with<ReorderSchedule, emitReorder>},
    {&concatClass, with<ConcatSchedule, emitConcat>},
    {&contractClass, with<ContractSchedule, emitContract>},
    {&attentionClass, with<AttentionSchedule, emitAttention>},
    {&depthwiseClass, with<DepthwiseSchedule, emitDepthwise>},
    {&winogradClass, with<WinogradSchedule, emitWinograd>},
    {&strassenClass, with<StrassenSchedule, emitStrassen>},
    {&spatialPackClass, with<SpatialPackSchedule, emitSpatialPack>},
    {&transposedClass, with<TransposedSchedule, emitTransposed>},
    {&packedProductClass, with<PackedProductSchedule, emitPackedProduct>}};

ArrayRef<const KernelClass *> cpuKernelClasses() {
  static const SmallVector<const KernelClass *> list = [] {
    SmallVector<const KernelClass *> list =
        llvm::map_to_vector(emitters, [](const auto &entry) { return entry.first; });
    llvm::append_range(list, commonClasses());
    return list;
  }();
  return list;
}

ClassEmitter emitterOf(const KernelClass &klass) {
  if (ClassEmitter common = commonEmitterOf(klass))
    return common;
  return llvm::find_if(emitters, [&](const auto &entry) { return entry.first == &klass; })->second;
}

const KernelClass *cpuClassOf(Operation *anchor) {
  if (!anchor)
    return &mapClass;
  return TypeSwitch<Operation *, const KernelClass *>(anchor)
      .Case([](ConcatOp) { return &concatClass; })
      .Case([](MatMulOp op) { return attentionOf(op) ? &attentionClass : &contractClass; })
      .Case([](ConvOp op) {
        return isDepthwise(op) ? &depthwiseClass : takesSpatialPack(op) ? &spatialPackClass : &contractClass;
      })
      .Case([](ConvTransposeOp op) { return hasPhases(op) ? &transposedClass : &sequentialClass; })
      .Case([](WinogradConvOp) { return &winogradClass; })
      .Case([](StrassenOp) { return &strassenClass; })
      .Case([](MatMulNBitsOp) { return &packedProductClass; })
      .Default([](Operation *op) { return commonClassOf(op); });
}

const KernelClass *cpuClassOf(func::FuncOp kernel) {
  Operation *anchor = anchorOf(kernel);
  return !anchor && reorderOf(kernel) ? &reorderClass : cpuClassOf(anchor);
}

} // namespace fathom
