// Families of kernels: for each of them the space of its schedules, and what a schedule is judged by.
#pragma once

#include "compiler/cost/Product.h"
#include "compiler/kernel/Schedule.h"
#include "compiler/target/Target.h"
#include "mlir/IR/Operation.h"
#include <vector>

namespace fathom {

// `op` is the anchor, or the end of a kernel without one.
struct Family {
  // Every schedule that is worth a look, each of them legal.
  void (*space)(mlir::Operation *op, const Target &target, llvm::function_ref<void(const Schedule &)> body);
  // Estimated cycles at the sizes that are likely, of one thread and of all the target's cores together.
  double (*score)(mlir::Operation *op, const Schedule &schedule, const Target &target);
  // The first constraint that a schedule breaks, or an empty string. Ranges of knobs are checked before.
  std::string (*violation)(const Schedule &schedule, mlir::Operation *op, const Target &target);
  // The best of the space, where there is a quicker way to it than trying all.
  Schedule (*best)(mlir::Operation *op, const Target &target) = nullptr;
};

extern const Family mapFamily, concatFamily, rowFamily, poolFamily, sequentialFamily; // SweepSchedule.cpp
extern const Family attentionFamily, contractFamily, depthwiseFamily, packedProductFamily, reorderFamily,
    spatialPackFamily, strassenFamily, transposedFamily, treesFamily, winogradFamily;

// The schedule of least score; the first of several.
Schedule bestSchedule(const Family &family, mlir::Operation *op, const Target &target);
// So many schedules of the space, each as likely as any other; all of them where there are fewer.
std::vector<Schedule> sampleSchedules(const Family &family, mlir::Operation *op, const Target &target, size_t count,
                                      uint64_t seed);

// Why loads cannot come ahead in the loops of such a tile, for a reduction of so many steps; empty if they can, or need
// not.
std::string loadAheadViolation(const cost::ProductSchedule &schedule, int64_t run, const Target &target);

// A schedule, and what it is with any of these knobs at 0.
void withAndWithout(const Schedule &schedule, llvm::ArrayRef<llvm::StringRef> knobs,
                    llvm::function_ref<void(const Schedule &)> body);

// Fractions of a number of units, each rounded up to whole units of `each`: the number itself, a half, a third, ...
// down to a 64th, as far as they are at most `most`; where none is, the most whole units that are.
llvm::SmallVector<int64_t> fractions(int64_t count, int64_t each, int64_t most = INT64_MAX);

} // namespace fathom
