// Fusion: forward from anchors through elementwise consumers, then backward over producers that only one kernel reads,
// then maps that go on with the elements of another.
#include "compiler/passes/FuseOps.h"

#include "compiler/codegen/common/Emitter.h"
#include "compiler/kernel/AttentionChoice.h"
#include "compiler/kernel/ConvAlgorithm.h"
#include "compiler/kernel/KernelClass.h"
#include "compiler/kernel/Spaces.h"
#include "compiler/passes/Passes.h"
#include "compiler/passes/Pieces.h"
#include "compiler/support/Diagnostics.h"

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

RankedTensorType typeOf(Value value) { return dyn_cast<RankedTensorType>(value.getType()); }

// Whether an anchor computes its first operand's elements on demand, each about once: reductions, and products that
// pack their rows.
bool takesProducer(Operation *anchor) {
  if (anchor->hasTrait<Reduction>())
    return true;
  // Nothing to pack leaves no block that could store the result.
  if (auto left = typeOf(anchor->getOperand(0)); left.hasStaticShape() && left.getNumElements() == 0)
    return false;
  // Known sizes, and enough columns that packing costs little; a window would compute every pixel once for each of its
  // positions.
  auto type = typeOf(anchor->getResult(0));
  if (isa<MatMulOp>(anchor))
    return type.hasStaticShape() && typeOf(anchor->getOperand(0)).hasStaticShape();
  auto conv = dyn_cast<ConvOp>(anchor);
  auto window = conv ? getWindow(conv) : FailureOr<Window>(failure());
  bool readsInPlace = conv && (algorithmOf(conv) == "direct" || takesSpatialPack(conv));
  return succeeded(window) && !readsInPlace && conv.getGroup() == 1 &&
         llvm::all_of(window->kernel, [](int64_t k) { return k == 1; }) &&
         llvm::all_of(window->strides, [](int64_t s) { return s == 1; }) &&
         llvm::all_of(window->padsBegin, [](int64_t p) { return p == 0; }) &&
         llvm::all_of(window->padsEnd, [](int64_t p) { return p == 0; });
}

// The anchor that decides a group's loops: of an attention's, the last.
Operation *lastAnchor(ArrayRef<Operation *> group) {
  auto found = llvm::find_if(llvm::reverse(group), isAnchor);
  return found == llvm::reverse(group).end() ? nullptr : *found;
}

// How far ahead of an anchor a consumer may be found: bounds the search on huge graphs.
constexpr unsigned horizon = 64;

// Whether the op, or one inside it, uses a value that one of these ops defines.
template <typename Contains> bool usesAny(Operation *op, Contains contains) {
  return op
      ->walk([&](Operation *inner) {
        for (Value operand : inner->getOperands())
          if (Operation *def = operand.getDefiningOp(); def && contains(def))
            return WalkResult::interrupt();
        return WalkResult::advance();
      })
      .wasInterrupted();
}

bool sameIteration(Operation *op, Operation *seed) {
  auto a = typeOf(op->getResult(0)), b = typeOf(seed->getResult(0));
  return sizesOf(a) == sizesOf(b) && orderOf(a) == orderOf(b);
}

bool isMap(const FusionGroup &group) {
  return llvm::none_of(group,
                       [](Operation *op) { return isAnchor(op) || isa<RelayoutOp>(op) || op->getNumResults() != 1; });
}

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

// Groups as a plan lists them; every rule of the fusion is checked.
FailureOr<std::vector<FusionGroup>> plannedGroups(func::FuncOp main, const Plan &plan) {
  llvm::MapVector<StringRef, Operation *> byName;
  DenseMap<Operation *, size_t> position;
  main.walk<WalkOrder::PreOrder>([&](Operation *op) {
    position[op] = position.size();
    if (op != main && !needsNoKernel(op))
      byName[opName(op)] = op;
  });
  std::vector<FusionGroup> groups;
  DenseSet<Operation *> taken;
  auto refuse = [&](const PlannedKernel &kernel, const Twine &why) {
    emitError(main.getLoc(), ErrorCode::BadPlan) << "kernel '" << kernel.name << "': " << why;
    return failure();
  };
  for (const PlannedKernel &kernel : plan.kernels) {
    FusionGroup group;
    for (const std::string &name : kernel.ops) {
      Operation *op = byName.lookup(name);
      if (!op)
        return refuse(kernel, "the graph has no op '" + name + "'");
      if (!taken.insert(op).second)
        return refuse(kernel, "op '" + name + "' is in more than one kernel");
      if (!group.empty() && group.front()->getBlock() != op->getBlock())
        return refuse(kernel, "'" + name + "' is in another branch or loop than '" + opName(group.front()) + "'");
      group.push_back(op);
    }
    if (group.empty())
      return refuse(kernel, "it has no ops");
    llvm::sort(group, [&](Operation *a, Operation *b) { return position[a] < position[b]; });
    Operation *anchor = lastAnchor(group);
    // The one kernel with several anchors.
    std::optional<Attention> attention = attentionOf(anchor);
    if (attention && !llvm::is_contained(group, attention->scores))
      attention.reset(); // what lies between them is checked below
    for (Operation *op : group) {
      if (isAnchor(op) && op != anchor && !(attention && attention->contains(op)))
        return refuse(kernel, "'" + opName(op) + "' and '" + opName(anchor) + "' both need a kernel of their own");
      bool leavesBesideOthers = isMap(group) && sameIteration(op, group.back());
      for (Value result : op->getResults())
        for (Operation *user : result.getUsers())
          if (op != group.back() && group.size() > 1 && !llvm::is_contained(group, user) && !leavesBesideOthers)
            return refuse(kernel,
                          "'" + opName(op) + "' is also used by '" + opName(user) + "', which is in another kernel");
    }
    // Others behind the anchor compute further operands of its consumers.
    DenseSet<Operation *> consumers{anchor};
    for (Operation *op : group)
      if (usesAny(op, [&](Operation *def) { return consumers.contains(def); }))
        consumers.insert(op);
    for (Operation *op : group)
      if (anchor && op != anchor && consumers.contains(op) && !kernelClassOf(anchor).takesConsumers)
        return refuse(kernel, "'" + opName(op) + "' cannot follow '" + opName(anchor) + "' in one kernel: class '" +
                                  kernelClassOf(anchor).name + "' takes no consumers");
    for (Operation *op : group)
      if (anchor && op != anchor && consumers.contains(op) && !op->hasTrait<Elementwise>())
        return refuse(kernel, "'" + opName(op) + "' cannot follow '" + opName(anchor) +
                                  "' in one kernel: it is not elementwise");
    for (Operation *op : group)
      if (anchor && op != anchor && position[op] < position[anchor] && !takesProducer(anchor) && !attention &&
          llvm::is_contained(op->getResult(0).getUsers(), anchor))
        return refuse(kernel, "'" + opName(op) + "' cannot be computed inside '" + opName(anchor) + "'");
    // Keys and values are read from memory, packed.
    for (Operation *op : group)
      for (Operation *user : op->getResult(0).getUsers())
        if (auto product = dyn_cast<MatMulOp>(user);
            product && product.getRhs() == op->getResult(0) && llvm::is_contained(group, user))
          return refuse(kernel, "'" + opName(op) + "' cannot be computed inside '" + opName(product) + "'");
    groups.push_back(std::move(group));
  }
  // Whatever uses a value must run behind the kernel that computes it, which runs where its last op stands.
  DenseMap<Operation *, Operation *> lastOf;
  for (const FusionGroup &group : groups)
    for (Operation *op : group)
      lastOf[op] = group.back();
  for (auto [group, kernel] : llvm::zip(groups, plan.kernels))
    for (Operation *op : group)
      for (Operation *user : op->getUsers()) {
        Operation *here = group.back()->getBlock()->findAncestorOpInBlock(*user);
        Operation *runs = here ? lastOf.lookup_or(here, here) : nullptr;
        if (runs && runs != group.back() && position[runs] < position[group.back()])
          return refuse(kernel, "'" + opName(op) + "' is also used by '" + opName(user) + "', which runs before it");
      }
  for (auto &[name, op] : byName)
    if (!taken.contains(op)) {
      emitError(op, ErrorCode::BadPlan) << "the plan has no kernel for op '" << name << "'";
      return failure();
    }
  llvm::sort(groups,
             [&](const FusionGroup &a, const FusionGroup &b) { return position[a.back()] < position[b.back()]; });
  return groups;
}

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
