// The schedules of ensembles of decision trees.
#include "compiler/cost/Trees.h"
#include "compiler/kernel/Families.h"
#include "compiler/kernel/KernelClass.h"

using namespace mlir;
using namespace fathom::graph;

namespace fathom {
namespace {

cost::Trees problemOf(Operation *op) {
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

cost::TreesSchedule fromKnobs(const Schedule &s) { return {s["rows"], s["trees"], s["steps"], s["block"], s["grain"]}; }

void overSpace(Operation *op, const Target &target, llvm::function_ref<void(const Schedule &)> body) {
  cost::Trees p = problemOf(op);
  for (int64_t rows : {1, 4, 8, 12})
    for (int64_t trees : {1, 4, 8, 12})
      for (int64_t steps : {2, 3, 4, 5, 6, 8}) {
        if (!cost::fitsRegisters(rows, target) || !cost::fitsRegisters(trees, target))
          continue;
        for (int64_t tiles : {4, 16, 64}) {
          int64_t block = rows * tiles, before = 0;
          for (int64_t part : fractions(p.rows, rows))
            if (int64_t grain = std::max(part, block); grain != before) {
              Schedule s;
              s.set("rows", rows);
              s.set("trees", trees);
              s.set("steps", steps);
              s.set("block", block);
              s.set("grain", llvm::alignTo(grain, block));
              body(s);
              before = grain;
            }
        }
      }
}

double score(Operation *op, const Schedule &s, const Target &target) {
  return cost::overThreads(cost::estimate(problemOf(op), fromKnobs(s), target), target);
}

std::string violation(const Schedule &s, Operation *, const Target &) {
  if (s["block"] % s["rows"])
    return llvm::formatv("block = {0} must be a multiple of rows = {1}", s["block"], s["rows"]).str();
  return "";
}

} // namespace

const Family treesFamily{overSpace, score, violation};

} // namespace fathom
