// The emitters of classes that are the same for all machines: a task is a function of its number, in vectors of as many
// lanes as the schedule says, or of one.
#pragma once

#include "compiler/codegen/common/KernelBody.h"
#include "compiler/kernel/KernelClass.h"
#include "compiler/schedule/Trees.h"

namespace fathom {

// Each in a file of its own.
Grid emitReduce(KernelBody &k, const RowSchedule &schedule);
Grid emitArgReduce(KernelBody &k, const RowSchedule &schedule);
Grid emitSoftmax(KernelBody &k, const RowSchedule &schedule);
Grid emitLayerNorm(KernelBody &k, const RowSchedule &schedule);
Grid emitPool(KernelBody &k, const PoolSchedule &schedule);
Grid emitTrees(KernelBody &k, const TreesSchedule &schedule);
Grid emitScan(KernelBody &k, const ScanSchedule &schedule);
Grid emitSequential(KernelBody &k, const SequentialSchedule &schedule);

using ClassEmitter = Grid (*)(KernelBody &, const Schedule &);

// An emitter of one class, which takes schedules of its own type.
template <typename S, Grid (*emit)(KernelBody &, const S &)> Grid with(KernelBody &k, const Schedule &schedule) {
  return emit(k, typed<S>(schedule));
}

llvm::ArrayRef<const KernelClass *> commonClasses();
// Null of classes that a back end emits itself.
ClassEmitter commonEmitterOf(const KernelClass &klass);
// The class of what is the same for all machines, a map where there is no other; transposed convolutions are gathered
// element by element. Null of what a back end has, or has not, a class for: products, other convolutions,
// concatenations.
const KernelClass *commonClassOf(mlir::Operation *anchor);

} // namespace fathom
