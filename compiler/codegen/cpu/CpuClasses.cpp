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
#include "compiler/schedule/Trees.h"
#include "compiler/schedule/Winograd.h"

using namespace mlir;
using namespace fathom::graph;

namespace fathom {

// Each in the file of its name.
Grid emitMap(KernelBody &k, const MapSchedule &schedule);
Grid emitReorder(KernelBody &k, const ReorderSchedule &schedule);
Grid emitConcat(KernelBody &k, const ConcatSchedule &schedule);
Grid emitReduce(KernelBody &k, const RowSchedule &schedule);
Grid emitArgReduce(KernelBody &k, const RowSchedule &schedule);
Grid emitSoftmax(KernelBody &k, const RowSchedule &schedule);
Grid emitLayerNorm(KernelBody &k, const RowSchedule &schedule);
Grid emitPool(KernelBody &k, const PoolSchedule &schedule);
Grid emitContract(KernelBody &k, const ContractSchedule &schedule);
Grid emitAttention(KernelBody &k, const AttentionSchedule &schedule);
Grid emitDepthwise(KernelBody &k, const DepthwiseSchedule &schedule);
Grid emitWinograd(KernelBody &k, const WinogradSchedule &schedule);
Grid emitStrassen(KernelBody &k, const StrassenSchedule &schedule);
Grid emitSpatialPack(KernelBody &k, const SpatialPackSchedule &schedule);
Grid emitTransposed(KernelBody &k, const TransposedSchedule &schedule);
Grid emitPackedProduct(KernelBody &k, const PackedProductSchedule &schedule);
Grid emitTrees(KernelBody &k, const TreesSchedule &schedule);
Grid emitScan(KernelBody &k, const ScanSchedule &schedule);
Grid emitSequential(KernelBody &k, const SequentialSchedule &schedule);

// An emitter of one class, which takes schedules of its own type.
template <typename S, Grid (*emit)(KernelBody &, const S &)> static Grid with(KernelBody &k, const Schedule &schedule) {
  return emit(k, typed<S>(schedule));
}

static constexpr std::pair<const KernelClass *, ClassEmitter> emitters[] = {
    {&mapClass, with<MapSchedule, emitMap>},
    {&reorderClass, with<ReorderSchedule, emitReorder>},
    {&concatClass, with<ConcatSchedule, emitConcat>},
    {&reduceClass, with<RowSchedule, emitReduce>},
    {&argReduceClass, with<RowSchedule, emitArgReduce>},
    {&softmaxClass, with<RowSchedule, emitSoftmax>},
    {&layerNormClass, with<RowSchedule, emitLayerNorm>},
    {&poolClass, with<PoolSchedule, emitPool>},
    {&contractClass, with<ContractSchedule, emitContract>},
    {&attentionClass, with<AttentionSchedule, emitAttention>},
    {&depthwiseClass, with<DepthwiseSchedule, emitDepthwise>},
    {&winogradClass, with<WinogradSchedule, emitWinograd>},
    {&strassenClass, with<StrassenSchedule, emitStrassen>},
    {&spatialPackClass, with<SpatialPackSchedule, emitSpatialPack>},
    {&transposedClass, with<TransposedSchedule, emitTransposed>},
    {&packedProductClass, with<PackedProductSchedule, emitPackedProduct>},
    {&treesClass, with<TreesSchedule, emitTrees>},
    {&scanClass, with<ScanSchedule, emitScan>},
    {&sequentialClass, with<SequentialSchedule, emitSequential>}};

ClassEmitter emitterOf(const KernelClass &klass) {
  return llvm::find_if(emitters, [&](const auto &entry) { return entry.first == &klass; })->second;
}

const KernelClass *cpuClassOf(Operation *anchor) {
  if (!anchor)
    return &mapClass;
  return TypeSwitch<Operation *, const KernelClass *>(anchor)
      .Case<ArgMaxOp, ArgMinOp>([](auto) { return &argReduceClass; })
      .Case<SoftmaxOp, LogSoftmaxOp, HardmaxOp>([](auto) { return &softmaxClass; })
      .Case<LayerNormalizationOp, RMSNormalizationOp>([](auto) { return &layerNormClass; })
      .Case<MaxPoolOp, AveragePoolOp, LpPoolOp>([](auto) { return &poolClass; })
      .Case([](ConcatOp) { return &concatClass; })
      .Case([](MatMulOp op) { return attentionOf(op) ? &attentionClass : &contractClass; })
      .Case([](ConvOp op) {
        return isDepthwise(op) ? &depthwiseClass : takesSpatialPack(op) ? &spatialPackClass : &contractClass;
      })
      // Which sums are independent is not known without the axis.
      .Case([](CumSumOp op) { return constantElementsOf(op.getAxis()) ? &scanClass : &sequentialClass; })
      .Case<ScatterElementsOp, ScatterNDOp, TopKOp, NonZeroOp, NonMaxSuppressionOp, UniqueOp, TensorScatterOp>(
          [](auto) { return &sequentialClass; })
      .Case([](ConvTransposeOp op) { return hasPhases(op) ? &transposedClass : &sequentialClass; })
      .Case([](WinogradConvOp) { return &winogradClass; })
      .Case([](StrassenOp) { return &strassenClass; })
      .Case([](MatMulNBitsOp) { return &packedProductClass; })
      .Case([](TreeEnsembleOp) { return &treesClass; })
      .Default([](Operation *op) { return op->hasTrait<Reduction>() ? &reduceClass : &mapClass; });
}

const KernelClass *cpuClassOf(func::FuncOp kernel) {
  Operation *anchor = anchorOf(kernel);
  return !anchor && reorderOf(kernel) ? &reorderClass : cpuClassOf(anchor);
}

} // namespace fathom
