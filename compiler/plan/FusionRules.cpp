// What an anchor takes in, and what groups have in common.
#include "compiler/plan/FusionRules.h"

#include "compiler/graph/Layout.h"
#include "compiler/kernel/Backend.h"
#include "compiler/kernel/ConvAlgorithm.h"
#include "compiler/kernel/KernelClass.h"
#include "compiler/kernel/VectorWork.h"
#include "compiler/schedule/Sweep.h"

using namespace mlir;
using namespace fathom::graph;

namespace fathom {

static RankedTensorType typeOf(Value value) { return dyn_cast<RankedTensorType>(value.getType()); }

bool takesProducer(Operation *anchor) {
  if (anchor->hasTrait<Reduction>())
    return true;
  // Nothing to pack leaves no block that could store the result.
  if (auto left = typeOf(anchor->getOperand(0)); left.hasStaticShape() && left.getNumElements() == 0)
    return false;
  // Known sizes, and enough columns that packing costs little; a window would compute every pixel once for each of its
  // positions.
  auto type = typeOf(anchor->getResult(0));
  if (isa<StrassenOp>(anchor))
    return true;
  if (isa<MatMulOp>(anchor)) {
    // Where the result cannot hold partial sums, a tile of whole rows is packed, which must fit a task's scratch.
    constexpr int64_t deepest = 1 << 17;
    auto left = typeOf(anchor->getOperand(0));
    return type.hasStaticShape() && left.hasStaticShape() && left.getShape().back() <= deepest;
  }
  auto conv = dyn_cast<ConvOp>(anchor);
  auto window = conv ? getWindow(conv) : FailureOr<Window>(failure());
  bool readsInPlace = conv && (algorithmOf(conv) == "direct" || takesSpatialPack(conv));
  return succeeded(window) && !readsInPlace && conv.getGroup() == 1 &&
         llvm::all_of(window->kernel, [](int64_t k) { return k == 1; }) &&
         llvm::all_of(window->strides, [](int64_t s) { return s == 1; }) &&
         llvm::all_of(window->padsBegin, [](int64_t p) { return p == 0; }) &&
         llvm::all_of(window->padsEnd, [](int64_t p) { return p == 0; });
}

SmallVector<Operation *> widenedBy(Operation *anchor, const Backend &backend) {
  return isAnchor(anchor) && kernelClassOf(anchor, backend).widensImages ? widenedImage(anchor)
                                                                         : SmallVector<Operation *>();
}

bool isWidenedByItsReader(Operation *op, const Backend &backend) {
  constexpr int most = 3; // ops from bytes to floats
  if (!isa<CastOp, SubOp>(op))
    return false;
  Operation *reader = op;
  for (int i = 0; i <= most && reader->hasOneUse() && !isAnchor(reader); ++i)
    reader = *reader->user_begin();
  return llvm::is_contained(widenedBy(reader, backend), op);
}

bool padsOnDemand(PadOp pad, int64_t instructions, const Target &target) {
  RankedTensorType type = pad.getType();
  int64_t dim = innermostDim(type);
  std::optional<int64_t> channels = dim < 0 ? std::nullopt : constantSize(sizesOf(type)[dim]);
  return pad.getMode() == "constant" && channels && *channels <= MapSchedule().interleaved &&
         double(instructions) <= target.calibration.fusionPadded;
}

Operation *lastAnchor(ArrayRef<Operation *> group) {
  auto found = llvm::find_if(llvm::reverse(group), isAnchor);
  return found == llvm::reverse(group).end() ? nullptr : *found;
}

bool sameIteration(Operation *op, Operation *seed) {
  auto a = typeOf(op->getResult(0)), b = typeOf(seed->getResult(0));
  return sizesOf(a) == sizesOf(b) && orderOf(a) == orderOf(b);
}

// An op with many operands loads them.
int64_t instructionsOf(Operation *op) {
  return isAnchor(op) ? 0 : int64_t(opWork(op).instructions) + op->getNumOperands() / 2;
}

int64_t instructionsOf(ArrayRef<Operation *> group) {
  int64_t sum = 0;
  for (Operation *op : group)
    sum += instructionsOf(op);
  return sum;
}

int64_t emittedInstructions(ArrayRef<Operation *> group) {
  constexpr int64_t farTooMany = 64 * maxMapInstructions;
  // An index is the one before it and what made another of it: a movement op, or the type that is broadcast.
  DenseMap<std::pair<unsigned, const void *>, unsigned> indices;
  DenseMap<Operation *, llvm::SmallSetVector<unsigned, 2>> askedAt;
  DenseSet<Operation *> members(group.begin(), group.end());
  int64_t sum = 0;
  for (Operation *op : llvm::reverse(group)) {
    llvm::SmallSetVector<unsigned, 2> asked = askedAt.lookup(op);
    if (asked.empty() || llvm::any_of(op->getUsers(), [&](Operation *user) { return !members.contains(user); }))
      asked.insert(0);
    sum += instructionsOf(op) * int64_t(asked.size());
    if (sum > farTooMany)
      return sum;
    bool isPointwise = op->hasTrait<Elementwise>();
    for (Value operand : op->getOperands()) {
      Operation *def = operand.getDefiningOp();
      if (!def || !members.contains(def))
        continue;
      if (isPointwise && sizesOf(operand) == sizesOf(op->getResult(0))) {
        askedAt[def].insert_range(asked);
        continue;
      }
      const void *how = isPointwise ? operand.getType().getAsOpaquePointer() : op;
      for (unsigned index : asked)
        askedAt[def].insert(indices.try_emplace({index, how}, indices.size() + 1).first->second);
    }
  }
  return sum;
}

bool isMap(const FusionGroup &group) {
  return llvm::none_of(group,
                       [](Operation *op) { return isAnchor(op) || isa<RelayoutOp>(op) || op->getNumResults() != 1; });
}

} // namespace fathom
