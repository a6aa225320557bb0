// Fusion: forward from anchors through elementwise consumers, then backward over producers that only one kernel reads,
// then maps that go on with the elements of another.
#include "compiler/passes/FuseOps.h"

#include "compiler/codegen/common/Emitter.h"
#include "compiler/kernel/AttentionChoice.h"
#include "compiler/kernel/Choices.h"
#include "compiler/kernel/KernelClass.h"
#include "compiler/passes/FusionRules.h"
#include "compiler/passes/Passes.h"
#include "compiler/passes/Pieces.h"
#include "compiler/passes/PlannedGroups.h"

using namespace mlir;
using namespace fathom::graph;

namespace fathom {
#define GEN_PASS_DEF_FUSEOPSPASS
#include "compiler/passes/Passes.h.inc"

bool isPackedWeight(Value value) {
  if (auto relayout = value.getDefiningOp<RelayoutOp>()) {
    if (!relayout.getType().hasStaticShape()) // where an element goes is only known when it runs
      return false;
    value = relayout.getInput();
  }
  return isConstantValue(value);
}

bool needsNoKernel(Operation *op) {
  return isa<ConstantOp, NoneOp, SizesOp, PinOp, AssertOp, IfOp, LoopOp, YieldOp, func::ReturnOp>(op) || isView(op) ||
         isInPlace(op) || (isa<RelayoutOp>(op) && isPackedWeight(op->getResult(0)) && !op->hasAttr("graph.output"));
}

namespace {

// How far ahead of an anchor a consumer may be found: bounds the search on huge graphs.
constexpr unsigned horizon = 64;

class Fusion {
public:
  Fusion(Block &block, const Target *target) : block(block), target(target) {
    for (auto [i, op] : llvm::enumerate(block))
      position[&op] = i;
  }

  std::vector<FusionGroup> run() {
    // Before others take in the ops between the products.
    for (Operation &op : block)
      if (std::optional<Attention> attention = attentionOf(&op); attention && isWorthFusing(*attention))
        growAttention(*attention);
    for (Operation &op : block)
      if (!needsNoKernel(&op) && !groupOf.contains(&op))
        grow(&op);
    mergeProducers();
    mergeMaps();
    std::vector<FusionGroup> result;
    for (FusionGroup &group : groups)
      if (!group.empty())
        result.push_back(std::move(group));
    llvm::sort(result,
               [&](const FusionGroup &a, const FusionGroup &b) { return position[a.back()] < position[b.back()]; });
    return result;
  }

private:
  // The values of `group` that are used outside it.
  SmallVector<Value> liveOut(const llvm::SmallSetVector<Operation *, 8> &group) {
    SmallVector<Value> out;
    for (Operation *op : group)
      for (Value result : op->getResults())
        if (llvm::any_of(result.getUsers(), [&](Operation *user) { return !group.contains(user); }))
          out.push_back(result);
    return out;
  }

  void growAttention(const Attention &attention) {
    llvm::SmallSetVector<Operation *, 8> group;
    group.insert(attention.scores);
    group.insert_range(attention.chain);
    group.insert(attention.softmax);
    group.insert(attention.product);
    grow(attention.product, std::move(group));
  }

  void grow(Operation *seed) {
    llvm::SmallSetVector<Operation *, 8> group;
    group.insert(seed);
    grow(seed, std::move(group));
  }

  // Takes in elementwise consumers as long as a single value leaves the group in the end.
  void grow(Operation *seed, llvm::SmallSetVector<Operation *, 8> group) {
    size_t committed = group.size();
    bool growable = seed->getNumResults() > 0 && kernelClassOf(seed).takesConsumers && liveOut(group).size() == 1;
    DenseSet<Operation *> tainted; // depends on the group without being in it
    unsigned seen = 0;
    for (Operation *op = seed->getNextNode(); growable && op && seen < horizon; op = op->getNextNode(), ++seen) {
      bool uses = usesAny(op, [&](Operation *def) { return group.contains(def); });
      bool dependent = usesAny(op, [&](Operation *def) { return tainted.contains(def); });
      if (!uses && !dependent)
        continue;
      bool takes =
          uses && !dependent && op->hasTrait<Elementwise>() && !groupOf.contains(op) && sameIteration(op, seed);
      if (!takes) {
        tainted.insert(op);
        continue;
      }
      group.insert(op);
      SmallVector<Value> out = liveOut(group);
      if (out.size() == 1 && out[0].getDefiningOp() == op)
        committed = group.size();
    }
    FusionGroup ops(group.begin(), group.begin() + committed);
    for (Operation *op : ops)
      groupOf[op] = groups.size();
    groups.push_back(std::move(ops));
  }

  // A producer without an anchor joins the only kernel that reads it, if each of its elements is read once.
  void mergeProducers() {
    for (size_t g = groups.size(); g-- > 0;) {
      for (bool changed = true; changed;) {
        changed = false;
        for (Operation *op : groups[g]) {
          for (Value operand : op->getOperands()) {
            Operation *def = operand.getDefiningOp();
            auto found = def ? groupOf.find(def) : groupOf.end();
            if (found == groupOf.end() || found->second == g || !joins(operand, op, groups[found->second], g))
              continue;
            size_t from = found->second;
            for (Operation *moved : groups[from])
              groupOf[moved] = g;
            groups[g].insert(groups[g].begin(), groups[from].begin(), groups[from].end());
            groups[from].clear();
            changed = true;
            break;
          }
          if (changed)
            break;
        }
      }
      llvm::sort(groups[g], [&](Operation *a, Operation *b) { return position[a] < position[b]; });
    }
  }

  bool joins(Value value, Operation *consumer, const FusionGroup &producer, size_t g) {
    if (llvm::any_of(producer, [](Operation *op) { return isAnchor(op) || isa<RelayoutOp>(op); }) ||
        producer.back()->getResult(0) != value)
      return false;
    if (!llvm::all_of(value.getUsers(),
                      [&](Operation *user) { return groupOf.lookup_or(user, SIZE_MAX) == g && user == consumer; }))
      return false;
    // An attention's queries are packed, tile by tile.
    std::optional<Attention> attention = attentionOf(lastAnchor(groups[g]));
    bool takesQueries = attention && attention->scores == consumer;
    if (isAnchor(consumer))
      return consumer->getOperand(0) == value &&
             (takesQueries || (takesProducer(consumer) && (!target || !isa<ConvOp>(consumer) ||
                                                           gainsFromProducer(consumer, producer.size(), *target))));
    // Broadcast operands would be computed again for every element they spread to.
    return consumer->hasTrait<Elementwise>() && sizesOf(value) == sizesOf(consumer->getResult(0));
  }

  // A map that goes on with the elements of another joins it, and both results leave: they need not be read again.
  void mergeMaps() {
    for (size_t g = 0; g < groups.size(); ++g) {
      for (bool changed = !groups[g].empty() && isMap(groups[g]); changed;) {
        changed = false;
        for (Operation *user : groups[g].back()->getUsers()) {
          size_t next = groupOf.lookup_or(user, SIZE_MAX);
          if (next == SIZE_MAX || next == g || !goesOn(g, next))
            continue;
          for (Operation *moved : groups[next])
            groupOf[moved] = g;
          llvm::append_range(groups[g], groups[next]);
          groups[next].clear();
          llvm::sort(groups[g], [&](Operation *a, Operation *b) { return position[a] < position[b]; });
          changed = true;
          break;
        }
      }
    }
  }

  // Whether what the next group computes of the first one's values is computed at their own indices, and nobody needs
  // those values earlier.
  bool goesOn(size_t first, size_t next) {
    Operation *last = groups[first].back(), *end = groups[next].back();
    if (!isMap(groups[next]) || !sameIteration(last, end) || position[last] > position[end])
      return false;
    DenseSet<Operation *> dependent(groups[first].begin(), groups[first].end());
    for (Operation *op : groups[next])
      if (usesAny(op, [&](Operation *def) { return dependent.contains(def); })) {
        if (!op->hasTrait<Elementwise>() || !sameIteration(op, last))
          return false;
        dependent.insert(op);
      }
    return llvm::all_of(groups[first], [&](Operation *op) {
      return llvm::all_of(op->getUsers(), [&](Operation *user) {
        size_t group = groupOf.lookup_or(user, SIZE_MAX);
        return group == first || group == next || runsBehind(user, end);
      });
    });
  }

  // Whether the kernel or host code that a user is part of runs behind the kernel that ends with `end`.
  bool runsBehind(Operation *user, Operation *end) {
    Operation *here = block.findAncestorOpInBlock(*user);
    size_t group = groupOf.lookup_or(here, SIZE_MAX);
    // A view of the value may be read by a kernel before.
    bool isRead = group != SIZE_MAX || here->hasTrait<OpTrait::IsTerminator>();
    return isRead && position[group == SIZE_MAX ? here : groups[group].back()] > position[end];
  }

  Block &block;
  const Target *target;
  DenseMap<Operation *, size_t> position, groupOf;
  std::vector<FusionGroup> groups;
};

struct FuseOpsPass : impl::FuseOpsPassBase<FuseOpsPass> {
  void runOnOperation() override {
    auto groups = fuseOps(getOperation(), nullptr, nullptr);
    if (failed(groups))
      return signalPassFailure();
    OpBuilder b(&getContext());
    for (auto [i, group] : llvm::enumerate(*groups))
      for (Operation *op : group)
        op->setAttr("graph.kernel", b.getI64IntegerAttr(i));
  }
};

} // namespace

FailureOr<std::vector<FusionGroup>> fuseOps(func::FuncOp main, const Target *target, const Plan *plan) {
  if (plan)
    return plannedGroups(main, *plan);
  std::vector<FusionGroup> groups;
  main.walk<WalkOrder::PreOrder>([&](Block *block) { llvm::append_range(groups, Fusion(*block, target).run()); });
  DenseMap<Operation *, size_t> position;
  main.walk<WalkOrder::PreOrder>([&](Operation *op) { position[op] = position.size(); });
  llvm::sort(groups,
             [&](const FusionGroup &a, const FusionGroup &b) { return position[a.back()] < position[b.back()]; });
  return groups;
}

} // namespace fathom
