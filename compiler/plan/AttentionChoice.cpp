// The estimates of the families, side by side.
#include "compiler/plan/AttentionChoice.h"

#include "compiler/cost/Sweep.h"
#include "compiler/kernel/Backend.h"
#include "compiler/kernel/Choices.h"
#include "compiler/kernel/KernelClass.h"
#include "compiler/kernel/VectorWork.h"
#include "compiler/passes/Passes.h"

using namespace mlir;
using namespace fathom::graph;

namespace fathom {
namespace {

constexpr StringLiteral attribute = "graph.attention_cycles";

// The softmax as a kernel of its own, which reads scores and writes them again.
double softmaxAlone(Attention attention, const Target &target) {
  auto size = [&](AffineExpr expr) { return std::max<int64_t>(1, representative(attention.softmax, expr)); };
  Sizes sizes = sizesOf(attention.softmax.getResult());
  cost::Sweep sweep;
  sweep.length = size(sizes.back());
  for (AffineExpr outer : ArrayRef(sizes).drop_back())
    sweep.rows *= size(outer);
  // All passes, for a vector: most of it is the exponential.
  const Calibration &c = target.calibration;
  sweep.instructions = c.softmaxInstructions, sweep.latency = c.softmaxLatency, sweep.live = c.softmaxLive;
  sweep.acrossLanes = true;
  sweep.bytes = 2.0 * double(sweep.rows * sweep.length) * 4;
  int64_t lanes = target.lanes(sweep.bits);
  return cost::estimate(sweep, {lanes, cost::leastGrain(sweep, lanes, target)}, target).total();
}

} // namespace

AttentionCosts attentionCosts(Attention attention, const Target &machine) {
  // How work divides among many cores would hide small differences between the ways: the best of one thread are
  // compared.
  Target target = machine;
  target.cores = 1;
  double fused = bestAttention(attention.product, target).estimate.total();
  double apart = bestContract(attention.scores, target).estimate.total() + softmaxAlone(attention, target) +
                 bestContract(attention.product, target).estimate.total();
  auto cycles = [](double estimate) { return int64_t(std::min(estimate, 1e18)); };
  return {cycles(fused), cycles(apart)};
}

void noteCosts(Attention attention, const AttentionCosts &costs) {
  auto note = DenseI64ArrayAttr::get(attention.product.getContext(), {costs.fused, costs.apart});
  for (Operation *op :
       {attention.scores.getOperation(), attention.softmax.getOperation(), attention.product.getOperation()})
    op->setAttr(attribute, note);
}

static bool costTheSame(Attention a, Attention b) {
  return costAlike(a.scores, b.scores) && costAlike(a.product, b.product) && llvm::equal(a.chain, b.chain, costAlike);
}

void noteAttentionCosts(func::FuncOp main, const Target &target) {
  // Models repeat their layers: equal ones are weighed once.
  std::vector<std::pair<Attention, AttentionCosts>> weighed;
  main.walk([&](MatMulOp product) {
    std::optional<Attention> attention = attentionOf(product);
    if (!attention)
      return;
    auto found = llvm::find_if(weighed, [&](const auto &entry) { return costTheSame(entry.first, *attention); });
    // What a back end has no kernel for stays apart.
    constexpr AttentionCosts never{1, 0};
    bool isThere = backendOf(target).has(Algorithm::Attention);
    if (found == weighed.end())
      found = weighed.insert(found, {*attention, isThere ? attentionCosts(*attention, target) : never});
    noteCosts(*attention, found->second);
  });
}

std::optional<AttentionCosts> notedCosts(Operation *op) {
  auto note = op->getAttrOfType<DenseI64ArrayAttr>(attribute);
  if (!note || note.size() != 2)
    return std::nullopt;
  return AttentionCosts{note[0], note[1]};
}

void removeNotedCosts(Operation *op) { op->removeAttr(attribute); }

bool isWorthFusing(Attention attention) {
  std::optional<AttentionCosts> costs = notedCosts(attention.product);
  return !costs || costs->isFused();
}

} // namespace fathom
