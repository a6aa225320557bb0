// Groups that a plan lists, checked one by one and then together: each kernel must have a single anchor (or an
// attention's), and run before whatever uses its values.
#include "compiler/plan/PlannedGroups.h"

#include "compiler/graph/OpNames.h"
#include "compiler/kernel/Attention.h"
#include "compiler/kernel/Backend.h"
#include "compiler/kernel/VectorWork.h"
#include "compiler/plan/FusionRules.h"
#include "compiler/support/Diagnostics.h"

using namespace mlir;
using namespace fathom::graph;

namespace fathom {

FailureOr<std::vector<FusionGroup>> plannedGroups(func::FuncOp main, const Backend &backend, const Plan &plan) {
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
    int64_t instructions = emittedInstructions(group), most = anchor ? maxAnchoredInstructions : maxMapInstructions;
    if (group.size() > 1 && instructions > most)
      return refuse(kernel, "its ops come to more instructions for a vector of elements (" + Twine(instructions) +
                                ") than a kernel may have (" + Twine(most) + ")");
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
      if (anchor && op != anchor && consumers.contains(op) && !kernelClassOf(anchor, backend).takesConsumers)
        return refuse(kernel, "'" + opName(op) + "' cannot follow '" + opName(anchor) + "' in one kernel: class '" +
                                  kernelClassOf(anchor, backend).name + "' takes no consumers");
    for (Operation *op : group)
      if (anchor && op != anchor && consumers.contains(op) && !op->hasTrait<Elementwise>())
        return refuse(kernel, "'" + opName(op) + "' cannot follow '" + opName(anchor) +
                                  "' in one kernel: it is not elementwise");
    for (Operation *op : group)
      if (anchor && op != anchor && position[op] < position[anchor] && !takesProducer(anchor) && !attention &&
          !llvm::is_contained(widenedBy(anchor, backend), op) &&
          llvm::is_contained(op->getResult(0).getUsers(), anchor))
        return refuse(kernel, "'" + opName(op) + "' cannot be computed inside '" + opName(anchor) + "'");
    // Bytes are read from memory, and widened here or not at all.
    SmallVector<Operation *> widened = widenedBy(anchor, backend);
    auto isHere = [&](Operation *op) { return op && llvm::is_contained(group, op); };
    if (llvm::any_of(widened, isHere) &&
        (!llvm::all_of(widened, isHere) || isHere(widened.back()->getOperand(0).getDefiningOp())))
      return refuse(kernel, "'" + opName(anchor) + "' widens an image of bytes from memory, by all ops that do so");
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

} // namespace fathom
