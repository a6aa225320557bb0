// The schedules of ensembles of decision trees.
#include "compiler/cost/Trees.h"
#include "compiler/kernel/Families.h"
#include "compiler/kernel/KernelClass.h"

using namespace mlir;
using namespace fathom::graph;

namespace fathom {
namespace {

cost::Trees problemOf(Operation *op, const Target &) {
  auto ensemble = cast<TreeEnsembleOp>(op);
  auto typeOf = [](Value value) { return cast<RankedTensorType>(value.getType()); };
  cost::Trees p;
  p.rows = std::max<int64_t>(1, representative(op, sizesOf(ensemble.getInput())[0]));
  p.features = typeOf(ensemble.getInput()).getDimSize(1);
  p.trees = typeOf(ensemble.getTrees()).getDimSize(0);
  p.nodeBytes = typeOf(ensemble.getNodes()).getDimSize(1) * 4;
  p.nodes = double(typeOf(ensemble.getNodes()).getDimSize(0)) / double(p.trees);
  p.leaves = double(typeOf(ensemble.getWeights()).getDimSize(0)) / double(p.trees);
  p.weights = typeOf(ensemble.getWeights()).getDimSize(1);
  return p;
}

void candidates(const cost::Trees &p, const Target &target, llvm::function_ref<void(const TreesSchedule &)> body) {
  for (int64_t rows : {1, 4, 8, 12})
    for (int64_t trees : {1, 4, 8, 12})
      for (int64_t steps : {2, 3, 4, 5, 6, 8}) {
        if (!cost::fitsRegisters(rows, target) || !cost::fitsRegisters(trees, target))
          continue;
        for (int64_t tiles : {4, 16, 64}) {
          int64_t block = rows * tiles, before = 0;
          for (int64_t part : fractions(p.rows, rows))
            if (int64_t grain = std::max(part, block); grain != before)
              body({rows, trees, steps, block, int64_t(llvm::alignTo(grain, block))}), before = grain;
        }
      }
}

std::string violation(const cost::Trees &, const TreesSchedule &s, const Target &) {
  if (s.block % s.rows)
    return llvm::formatv("block = {0} must be a multiple of rows = {1}", s.block, s.rows).str();
  return "";
}

const FamilyOf<cost::Trees, TreesSchedule>
    family({.problem = problemOf,
            .candidates = candidates,
            .estimate = cost::estimate,
            .violation = violation,
            .extents = [](const cost::Trees &p, const TreesSchedule &) -> Extents { return {{"rows", p.rows}}; }});

} // namespace

const KernelClass treesClass{.name = "trees",
                             .meaning = "ensembles of decision trees",
                             .family = family,
                             .fixed = "rows: 4, trees: 4, steps: 4, block: 16, grain: 64",
                             .takesConsumers = false};

} // namespace fathom
