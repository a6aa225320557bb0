// Rematerialisation: what gradients need of the way to the loss is kept until then, or computed once more from what is.
// Only ops without loops of their own are computed twice; these cost little beside what reads them.
#include "compiler/passes/gradient/Request.h"

#include "compiler/graph/SizeMath.h"
#include "compiler/passes/Passes.h"
#include "compiler/support/Diagnostics.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace fathom::graph;
using namespace fathom::gradient;

namespace fathom {
#define GEN_PASS_DEF_REMATERIALIZEPASS
#include "compiler/passes/Passes.h.inc"

namespace {

// What a value takes; of sizes that are not known, as much as for the sizes that are likely.
int64_t bytesOf(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type)
    return 0;
  int64_t bytes = std::max<int64_t>(type.getElementTypeBitWidth() / 8, 1);
  SymbolList symbols = type.hasStaticShape() ? SymbolList() : symbolsFor(value.getParentBlock()->getParentOp());
  SmallVector<int64_t> likely;
  for (const Symbol &symbol : symbols)
    likely.push_back(symbol.likely ? symbol.likely : std::max<int64_t>(symbol.min, 1));
  for (AffineExpr size : sizesOf(type))
    bytes *= std::max<int64_t>(size::evaluate(size, likely).value_or(1), 0);
  return bytes;
}

class Rematerialization {
public:
  explicit Rematerialization(func::FuncOp main) : main(main), block(main.front()) {
    for (Operation &op : block)
      place[&op] = ops.size(), ops.push_back(&op);
    Operation *loss = block.getTerminator()->getOperand(0).getDefiningOp();
    lossPlace = loss ? place[loss] : 0;
    for (Operation *op : ops)
      for (Value result : op->getResults())
        describe(result);
    // The largest first.
    llvm::stable_sort(candidates, [&](Value a, Value b) { return uses[a].bytes > uses[b].bytes; });
  }

  void run(int64_t budget) {
    if (peakWith(0) <= budget)
      return;
    // The fewest that are enough, or all.
    size_t low = 0, high = candidates.size();
    while (low < high) {
      size_t middle = (low + high) / 2;
      if (peakWith(middle) <= budget)
        high = middle;
      else
        low = middle + 1;
    }
    int64_t peak = peakWith(low);
    if (peak > budget)
      hint(emitWarning(main.getLoc()) << "values of a step take about " << peak / double(1 << 20)
                                      << " MiB at a time, more than the budget",
           "what only products and convolutions compute is not computed twice; smaller batches need less");
    apply(low);
  }

private:
  struct Uses {
    int64_t bytes = 0;
    size_t made = 0, lastBefore = 0, first = 0, last = 0; // behind the loss: the first and last use, or 0
  };

  static bool isCheap(Operation *op) {
    return !isAnchor(op) && op->getNumRegions() == 0 && isMemoryEffectFree(op) && op->getNumResults() == 1;
  }

  void describe(Value value) {
    Operation *op = value.getDefiningOp();
    Uses found;
    found.bytes = isKnown(op) ? 0 : bytesOf(value);
    found.made = found.lastBefore = place[op];
    for (Operation *user : value.getUsers()) {
      size_t at = place[block.findAncestorOpInBlock(*user)];
      if (at <= lossPlace) {
        found.lastBefore = std::max(found.lastBefore, at);
      } else {
        found.first = found.first ? std::min(found.first, at) : at;
        found.last = std::max(found.last, at);
      }
    }
    uses[value] = found;
    if (found.made < lossPlace && found.first && found.bytes >= leastBytes && isCheap(op))
      candidates.push_back(value);
  }

  // What values that are not kept are computed from, through cheap ops that are not kept either, is kept until the last
  // of them is computed once more.
  void keepSources(DenseMap<Value, size_t> &until) {
    DenseMap<Value, size_t> again; // when a value is computed last
    for (Operation *op : llvm::reverse(ops)) {
      if (op->getNumResults() != 1 || !isLeft(op->getResult(0)))
        continue;
      Value value = op->getResult(0);
      size_t when = std::max(again.lookup(value), left.contains(value) ? uses[value].first : 0);
      for (Value operand : op->getOperands())
        if (operand.getDefiningOp()) {
          size_t &last = isLeft(operand) ? again[operand] : until[operand];
          last = std::max(last, when);
        }
    }
  }
  // Also what nothing behind the loss needs by itself.
  bool isLeft(Value value) {
    return left.contains(value) || (isCheap(value.getDefiningOp()) && uses[value].first == 0);
  }

  // How much lives at a time if the first candidates are not kept.
  int64_t peakWith(size_t count) {
    left.clear();
    left.insert(candidates.begin(), candidates.begin() + count);
    DenseMap<Value, size_t> until;
    for (auto &[value, use] : uses)
      until[value] = left.contains(value) ? use.lastBefore : std::max(use.lastBefore, use.last);
    SmallVector<int64_t> change(ops.size() + 1, 0);
    keepSources(until);
    for (Value value : ArrayRef(candidates).take_front(count)) {
      const Uses &use = uses[value];
      change[use.first] += use.bytes, change[use.last + 1] -= use.bytes;
    }
    for (auto &[value, use] : uses)
      change[use.made] += use.bytes, change[until[value] + 1] -= use.bytes;
    int64_t now = 0, peak = 0;
    for (int64_t step : change)
      now += step, peak = std::max(peak, now);
    return peak;
  }

  void apply(size_t count) {
    (void)peakWith(count);
    SmallVector<Value> chosen(candidates.begin(), candidates.begin() + count);
    llvm::stable_sort(chosen, [&](Value a, Value b) { return uses[a].first < uses[b].first; });
    IRMapping again;
    for (Value value : chosen)
      if (!again.contains(value))
        recompute(value, ops[uses[value].first], again);
  }

  // Copies of the ops that make a value, in front of its first use; uses behind the loss have the copy.
  void recompute(Value value, Operation *before, IRMapping &again) {
    OpBuilder builder(before);
    SmallVector<Value> open{value};
    while (!open.empty()) {
      Value next = open.back();
      Operation *op = next.getDefiningOp();
      size_t depth = open.size();
      for (Value operand : op->getOperands())
        if (operand.getDefiningOp() && isLeft(operand) && !again.contains(operand))
          open.push_back(operand);
      if (open.size() > depth)
        continue;
      open.pop_back();
      if (again.contains(next))
        continue;
      Operation *copy = builder.clone(*op, again);
      copy->setAttr(recomputedAttrName, builder.getUnitAttr());
      nameAfter(copy, op, ".again");
      again.map(next, copy->getResult(0));
      if (left.contains(next))
        next.replaceUsesWithIf(copy->getResult(0), [&](OpOperand &use) {
          Operation *user = block.findAncestorOpInBlock(*use.getOwner());
          auto found = place.find(user);
          return found != place.end() && found->second > lossPlace;
        });
    }
  }

  static constexpr int64_t leastBytes = 4096;
  func::FuncOp main;
  Block &block;
  SmallVector<Operation *> ops;
  DenseMap<Operation *, size_t> place;
  size_t lossPlace = 0;
  llvm::MapVector<Value, Uses> uses;
  SmallVector<Value> candidates;
  DenseSet<Value> left;
};

struct RematerializePass : impl::RematerializePassBase<RematerializePass> {
  LogicalResult runOnFunction(func::FuncOp main) override {
    if (auto budget = getOperation()->getAttrOfType<IntegerAttr>(memoryBudgetAttrName))
      Rematerialization(main).run(budget.getInt());
    getOperation()->removeAttr(memoryBudgetAttrName);
    return success();
  }
};

} // namespace
} // namespace fathom
