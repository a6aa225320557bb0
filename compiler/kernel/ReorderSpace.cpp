// The schedules of kernels that change the order of elements.
#include "compiler/cost/Reorder.h"
#include "compiler/graph/SizeMath.h"
#include "compiler/kernel/Families.h"
#include "compiler/kernel/KernelClass.h"
#include "compiler/kernel/Reorder.h"
#include "compiler/kernel/VectorWork.h"

using namespace mlir;
using namespace fathom::graph;

namespace fathom {
namespace {

constexpr int64_t largestSquare = 16, longestRun = 1024;

int64_t sizeOf(Operation *op, AffineExpr size) { return std::max<int64_t>(1, representative(op, size)); }

// Bytes from one element to the next along a dimension.
int64_t distance(Operation *op, Value value, int64_t dim) {
  auto type = cast<RankedTensorType>(value.getType());
  return sizeOf(op, layoutOf(type).strides[dim]) * elementBytes(type.getElementType());
}

// `op` is the end of the kernel.
cost::Reorder problemOf(Operation *op, const Target &) {
  Reorder reorder = *reorderOf(op->getParentOfType<func::FuncOp>());
  cost::Reorder problem;
  for (const Loop &loop : reorder.outer)
    problem.matrices *= sizeOf(op, loop.size);
  problem.along = sizeOf(op, reorder.along.size), problem.across = sizeOf(op, reorder.across.size);
  problem.resultDistance = distance(op, op->getOperand(0), reorder.across.dim);
  problem.sourceDistance = distance(op, reorder.sources[0], reorder.along.dim);
  problem.bits = reorder.bits;
  problem.sources = double(reorder.sources.size());
  problem.instructions = kernelWork(op).instructions;
  problem.bytes = kernelBytes(op);
  return problem;
}

void candidates(const cost::Reorder &problem, const Target &target,
                llvm::function_ref<void(const ReorderSchedule &)> body) {
  int64_t least = leastSquare(problem.bits), most = std::clamp(target.lanes(problem.bits), least, largestSquare);
  for (int64_t tile = least; tile <= most; tile *= 2) {
    if (tile > least && tile > std::min(problem.along, problem.across))
      return;
    for (bool alongInner : {false, true}) {
      int64_t inner = alongInner ? problem.along : problem.across;
      // Runs of one length, as far as whole squares allow it.
      for (int64_t most = longestRun, before = 0; most >= tile; most /= 2) {
        int64_t run = llvm::alignTo(llvm::divideCeil(inner, llvm::divideCeil(inner, most)), tile);
        if (run == before)
          continue;
        before = run;
        // Fewer elements than a square has would be left for the last run.
        while (run < inner && inner % run > 0 && inner % run < tile)
          run += tile;
        int64_t runs = problem.matrices * llvm::divideCeil(inner, run);
        for (int64_t grain : fractions(runs, 1))
          body({tile, run, alongInner, grain});
      }
    }
  }
}

std::string violation(const cost::Reorder &, const ReorderSchedule &s, const Target &) {
  if (!llvm::isPowerOf2_64(s.tile))
    return llvm::formatv("tile = {0} must be a power of two", s.tile).str();
  if (s.run < s.tile)
    return llvm::formatv("run = {0} must be at least tile = {1}", s.run, s.tile).str();
  return "";
}

const FamilyOf<cost::Reorder, ReorderSchedule>
    family({.problem = problemOf,
            .candidates = candidates,
            .estimate = cost::estimate,
            .violation = violation,
            .extents = [](const cost::Reorder &p, const ReorderSchedule &s) -> Extents {
              int64_t inner = s.alongInner ? p.along : p.across;
              return {{"runs", p.matrices * int64_t(llvm::divideCeil(inner, std::max<int64_t>(1, s.run)))}};
            }});

} // namespace

const KernelClass reorderClass{"reorder", "elements computed on demand, squares of them transposed in registers",
                               family, "tile: 4, run: 64, along_inner: 0, grain: 16"};

} // namespace fathom
