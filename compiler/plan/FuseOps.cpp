// Fusion: forward from anchors through elementwise consumers, then backward over producers that only one kernel reads,
// then maps that go on with the elements of another.
#include "compiler/plan/FuseOps.h"

#include "compiler/graph/Pieces.h"
#include "compiler/kernel/Backend.h"
#include "compiler/kernel/Choices.h"
#include "compiler/kernel/VectorWork.h"
#include "compiler/passes/Passes.h"
#include "compiler/plan/AttentionChoice.h"
#include "compiler/plan/Chooser.h"
#include "compiler/plan/FusionRules.h"

using namespace mlir;
using namespace fathom::graph;

namespace fathom {
#define GEN_PASS_DEF_FUSEOPSPASS
#include "compiler/passes/Passes.h.inc"

bool needsNoKernel(Operation *op) {
  return isKnown(op) || op->hasTrait<OnHost>() || isa<func::ReturnOp>(op) || isView(op) || isInPlace(op) ||
         (isa<RelayoutOp>(op) && isPackedWeight(op->getResult(0)) && !op->hasAttr("graph.output"));
}

namespace {

// How far ahead of an anchor a consumer may be found: bounds the search on huge graphs.
constexpr unsigned horizon = 64;

class Fusion {
public:
  Fusion(Block &block, const Target &target, const FusionDecider &decider)
      : block(block), backend(backendOf(target)), target(target), decider(decider) {
    for (auto [i, op] : llvm::enumerate(block))
      position[&op] = i;
  }

  std::vector<FusionGroup> run() {
    // Before others take in the ops between the products.
    for (Operation &op : block)
      if (std::optional<Attention> attention = attentionOf(&op);
          attention && backend.has(Algorithm::Attention) &&
          instructionsOf(attention->chain) <= maxAnchoredInstructions && decide(&op, isWorthFusing(*attention)))
        growAttention(*attention);
    for (Operation &op : block)
      if (!needsNoKernel(&op) && !groupOf.contains(&op))
        grow(&op);
    mergeProducers();
    mergeMaps();
    std::vector<FusionGroup> result;
    for (Group &group : groups)
      if (!group.ops.empty())
        result.push_back(std::move(group.ops));
    llvm::sort(result,
               [&](const FusionGroup &a, const FusionGroup &b) { return position[a.back()] < position[b.back()]; });
    return result;
  }

private:
  struct Group {
    FusionGroup ops;
    bool isMap;
    bool isPlain; // neither an anchor nor a relayout: what another kernel can compute on demand
    int64_t instructions;
  };

  static bool fits(int64_t instructions, bool isPlain) {
    return instructions <= (isPlain ? maxMapInstructions : maxAnchoredInstructions);
  }

  bool decide(Operation *reader, bool proposed) const { return decider ? decider(reader, proposed) : proposed; }

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
    size_t committed = group.size(), seeds = group.size();
    bool growable =
        seed->getNumResults() > 0 && kernelClassOf(seed, backend).takesConsumers && liveOut(group).size() == 1;
    bool isPlain = !isAnchor(seed);
    int64_t instructions = instructionsOf(group.getArrayRef());
    DenseSet<Operation *> tainted; // depends on the group without being in it
    unsigned seen = 0;
    for (Operation *op = seed->getNextNode(); growable && op && seen < horizon; op = op->getNextNode(), ++seen) {
      bool uses = usesAny(op, [&](Operation *def) { return group.contains(def); });
      bool dependent = usesAny(op, [&](Operation *def) { return tainted.contains(def); });
      if (!uses && !dependent)
        continue;
      bool takes = uses && !dependent && op->hasTrait<Elementwise>() && !groupOf.contains(op) &&
                   !isWidenedByItsReader(op, backend) && sameIteration(op, seed) &&
                   fits(instructions + instructionsOf(op), isPlain) &&
                   (isPlain || group.size() > seeds || decide(op, true));
      if (!takes) {
        tainted.insert(op);
        continue;
      }
      group.insert(op);
      instructions += instructionsOf(op);
      SmallVector<Value> out = liveOut(group);
      if (out.size() == 1 && out[0].getDefiningOp() == op)
        committed = group.size();
    }
    FusionGroup ops(group.begin(), group.begin() + committed);
    for (Operation *op : ops)
      groupOf[op] = groups.size();
    isPlain = llvm::none_of(ops, [](Operation *op) { return isAnchor(op) || isa<RelayoutOp>(op); });
    instructions = instructionsOf(ops);
    bool isAMap = isMap(ops);
    groups.push_back({std::move(ops), isAMap, isPlain, instructions});
  }

  // A producer without an anchor joins the only kernel that reads it, if each of its elements is read once.
  void mergeProducers() {
    for (size_t g = groups.size(); g-- > 0;) {
      FusionGroup &ops = groups[g].ops;
      // An attention's queries are packed, tile by tile.
      std::optional<Attention> attention = attentionOf(lastAnchor(ops));
      Operation *takesQueries = attention ? attention->scores : nullptr;
      // What joins is looked at in turn.
      for (size_t i = 0; i < ops.size(); ++i)
        for (Value operand : ops[i]->getOperands()) {
          size_t from = groupOf.lookup_or(operand.getDefiningOp(), SIZE_MAX);
          if (from != SIZE_MAX && from != g && joins(operand, ops[i], from, g, takesQueries))
            join(from, g);
        }
      llvm::sort(ops, [&](Operation *a, Operation *b) { return position[a] < position[b]; });
    }
  }

  void join(size_t from, size_t g) {
    for (Operation *moved : groups[from].ops)
      groupOf[moved] = g;
    llvm::append_range(groups[g].ops, groups[from].ops);
    groups[g].instructions += groups[from].instructions;
    groups[from].ops.clear();
  }

  bool joins(Value value, Operation *consumer, size_t from, size_t g, Operation *takesQueries) {
    const Group &producer = groups[from];
    if (!producer.isPlain || producer.ops.back()->getResult(0) != value ||
        !fits(producer.instructions + groups[g].instructions, groups[g].isPlain))
      return false;
    if (!llvm::all_of(value.getUsers(), [&](Operation *user) { return user == consumer; }))
      return false;
    if (isAnchor(consumer))
      return consumer->getOperand(0) == value &&
             (consumer == takesQueries || !widenedBy(consumer, backend).empty() ||
              (takesProducer(consumer) && kernelClassOf(consumer, backend).takesProducers &&
               decide(consumer, !isa<ConvOp>(consumer) || gainsFromProducer(consumer, producer.ops.size(), target))));
    // Bytes that are widened for a reader come from memory.
    if (isWidenedByItsReader(consumer, backend) && !isWidenedByItsReader(value.getDefiningOp(), backend))
      return false;
    if (auto pad = dyn_cast<PadOp>(consumer))
      return pad.getInput() == value && padsOnDemand(pad, producer.instructions, target);
    // Broadcast operands would be computed again for every element they spread to.
    return consumer->hasTrait<Elementwise>() && sizesOf(value) == sizesOf(consumer->getResult(0));
  }

  // A map that goes on with the elements of another joins it, and both results leave: they need not be read again.
  void mergeMaps() {
    for (size_t g = 0; g < groups.size(); ++g) {
      for (bool changed = !groups[g].ops.empty() && groups[g].isMap; changed;) {
        changed = false;
        std::optional<Readers> readers;
        for (Operation *user : groups[g].ops.back()->getUsers()) {
          size_t next = groupOf.lookup_or(user, SIZE_MAX);
          if (next == SIZE_MAX || next == g || !goesOn(g, next))
            continue;
          if (!readers)
            readers = readersOf(g);
          if (readers->firstBeside(next) <= position[groups[next].ops.back()])
            continue;
          join(next, g);
          llvm::sort(groups[g].ops, [&](Operation *a, Operation *b) { return position[a] < position[b]; });
          changed = true;
          break;
        }
      }
    }
  }

  // Whether what the next group computes of the first one's values is computed at their own indices.
  bool goesOn(size_t first, size_t next) {
    Operation *last = groups[first].ops.back(), *end = groups[next].ops.back();
    if (!groups[next].isMap || !fits(groups[first].instructions + groups[next].instructions, true) ||
        !sameIteration(last, end) || position[last] > position[end])
      return false;
    DenseSet<Operation *> dependent;
    for (Operation *op : groups[next].ops)
      if (usesAny(op, [&](Operation *def) {
            return dependent.contains(def) || groupOf.lookup_or(def, SIZE_MAX) == first;
          })) {
        if (!op->hasTrait<Elementwise>() || !sameIteration(op, last))
          return false;
        dependent.insert(op);
      }
    return true;
  }

  // Where the first of the kernels that read a group's values runs, and the first besides that one.
  struct Readers {
    size_t group = SIZE_MAX, first = SIZE_MAX, second = SIZE_MAX;
    size_t firstBeside(size_t other) const { return other != SIZE_MAX && other == group ? second : first; }
  };
  Readers readersOf(size_t g) {
    Readers readers;
    for (Operation *op : groups[g].ops)
      for (Operation *user : op->getUsers()) {
        Operation *here = block.findAncestorOpInBlock(*user);
        size_t group = groupOf.lookup_or(here, SIZE_MAX);
        if (group == g)
          continue;
        size_t at = runsAt(here, group);
        if (group != SIZE_MAX && group == readers.group)
          continue;
        if (at < readers.first) {
          readers.second = readers.first;
          readers.first = at, readers.group = group;
        } else {
          readers.second = std::min(readers.second, at);
        }
      }
    return readers;
  }

  // Where the kernel or host code runs that an op of this block is part of. A view of a value may be read by any
  // kernel.
  size_t runsAt(Operation *op, size_t group) {
    if (group != SIZE_MAX)
      return position[groups[group].ops.back()];
    return op->hasTrait<OpTrait::IsTerminator>() ? position[op] : 0;
  }

  Block &block;
  const Backend &backend;
  const Target &target;
  const FusionDecider &decider;
  DenseMap<Operation *, size_t> position, groupOf;
  std::vector<Group> groups;
};

struct FuseOpsPass : impl::FuseOpsPassBase<FuseOpsPass> {
  LogicalResult runOnFunction(func::FuncOp function) override {
    FailureOr<std::vector<FusionGroup>> groups = context().chooser->groups(function);
    if (failed(groups))
      return failure();
    OpBuilder b(&getContext());
    for (auto [i, group] : llvm::enumerate(*groups))
      for (Operation *op : group)
        op->setAttr("graph.kernel", b.getI64IntegerAttr(i));
    return success();
  }
};

} // namespace

bool isTogether(Operation *reader, ArrayRef<Operation *> group) {
  auto isHere = [&](Value value) { return llvm::is_contained(group, value.getDefiningOp()); };
  if (isAnchor(reader))
    return isHere(reader->getOperand(0));
  return llvm::any_of(reader->getOperands(), [&](Value value) {
    return value.getDefiningOp() && isHere(value) && isAnchor(value.getDefiningOp());
  });
}

std::vector<FusionGroup> fuseOps(func::FuncOp main, const Target &target, const FusionDecider &decide) {
  std::vector<FusionGroup> groups;
  main.walk<WalkOrder::PreOrder>(
      [&](Block *block) { llvm::append_range(groups, Fusion(*block, target, decide).run()); });
  DenseMap<Operation *, size_t> position;
  main.walk<WalkOrder::PreOrder>([&](Operation *op) { position[op] = position.size(); });
  llvm::sort(groups,
             [&](const FusionGroup &a, const FusionGroup &b) { return position[a.back()] < position[b.back()]; });
  return groups;
}

} // namespace fathom
