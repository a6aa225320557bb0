// The table of emitters, and the class of each anchor.
#include "compiler/codegen/common/ClassEmitters.h"

#include "compiler/codegen/common/Sequential.h"

using namespace mlir;
using namespace fathom::graph;

namespace fathom {

static constexpr std::pair<const KernelClass *, ClassEmitter> emitters[] = {
    {&reduceClass, with<RowSchedule, emitReduce>},
    {&argReduceClass, with<RowSchedule, emitArgReduce>},
    {&softmaxClass, with<RowSchedule, emitSoftmax>},
    {&layerNormClass, with<RowSchedule, emitLayerNorm>},
    {&poolClass, with<PoolSchedule, emitPool>},
    {&treesClass, with<TreesSchedule, emitTrees>},
    {&scanClass, with<ScanSchedule, emitScan>},
    {&sequentialClass, with<SequentialSchedule, emitSequential>},
    {&tensorScatterClass, with<TensorScatterSchedule, emitTensorScatter>}};

ArrayRef<const KernelClass *> commonClasses() {
  static const SmallVector<const KernelClass *> list =
      llvm::map_to_vector(emitters, [](const auto &entry) { return entry.first; });
  return list;
}

ClassEmitter commonEmitterOf(const KernelClass &klass) {
  const auto *found = llvm::find_if(emitters, [&](const auto &entry) { return entry.first == &klass; });
  return found == std::end(emitters) ? nullptr : found->second;
}

const KernelClass *commonClassOf(Operation *anchor) {
  if (!anchor)
    return &mapClass;
  return TypeSwitch<Operation *, const KernelClass *>(anchor)
      .Case<ArgMaxOp, ArgMinOp>([](auto) { return &argReduceClass; })
      // Which sums are independent is not known without the axis.
      .Case([](CumSumOp op) { return constantElementsOf(op.getAxis()) ? &scanClass : &sequentialClass; })
      .Case<ScatterElementsOp, ScatterNDOp, TopKOp, NonZeroOp, NonMaxSuppressionOp, UniqueOp, ConvTransposeOp>(
          [](auto) { return &sequentialClass; })
      .Case([](TensorScatterOp) { return &tensorScatterClass; })
      .Case([](TreeEnsembleOp) { return &treesClass; })
      .Default([](Operation *op) -> const KernelClass * {
        return op->hasTrait<SoftmaxLike>()      ? &softmaxClass
               : op->hasTrait<NormalizesRows>() ? &layerNormClass
               : op->hasTrait<Pooling>()        ? &poolClass
               : op->hasTrait<Reduction>()      ? &reduceClass
               : isAnchor(op)                   ? nullptr
                                                : &mapClass;
      });
}

} // namespace fathom
