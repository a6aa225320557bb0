// What classes of kernels share.
#include "compiler/kernel/KernelClass.h"

#include "compiler/graph/Layout.h"
#include "compiler/graph/SizeMath.h"

using namespace mlir;
using namespace fathom::graph;

namespace fathom {

int64_t representative(Operation *op, AffineExpr size) {
  if (std::optional<int64_t> constant = constantSize(size))
    return *constant;
  SmallVector<int64_t> likely;
  for (const Symbol &symbol : symbolsFor(op))
    likely.push_back(symbol.likely);
  // A product with a size of which nothing is said stays a guess.
  llvm::SmallBitVector used;
  collectSymbols(size, used);
  bool isSaid = llvm::all_of(used.set_bits(), [&](unsigned i) { return i < likely.size() && likely[i] > 0; });
  return isSaid ? size::evaluate(size, likely).value_or(128) : 128;
}

bool isDepthwise(Operation *op) {
  auto conv = dyn_cast<ConvOp>(op);
  if (!conv || conv.getGroup() == 1)
    return false;
  auto weight = cast<RankedTensorType>(conv.getWeight().getType());
  bool multiplied = weight.getDimSize(0) != conv.getGroup();
  return weight.getDimSize(1) == 1 && !multiplied && conv.getType().getElementType().isF32();
}

bool leavesOutEnds(Operation *depthwise) {
  constexpr int64_t most = 16; // pixels
  auto conv = cast<ConvOp>(depthwise);
  FailureOr<Window> window = getWindow(conv);
  return succeeded(window) && std::max(window->padsBegin.back(), window->padsEnd.back()) <= most &&
         constantSize(sizesOf(conv.getType()).back()) && constantSize(sizesOf(conv.getInput()).back());
}

SmallVector<Operation *> widenedImage(Operation *depthwise) {
  constexpr size_t most = 3; // a cast, a zero point and another cast
  SmallVector<Operation *> ops;
  auto conv = dyn_cast_or_null<ConvOp>(depthwise);
  if (!conv || !isDepthwise(conv) || !leavesOutEnds(conv))
    return {};
  auto type = cast<RankedTensorType>(conv.getInput().getType());
  for (Value value = conv.getInput(); ops.size() <= most; value = ops.back()->getOperand(0)) {
    auto from = cast<RankedTensorType>(value.getType());
    if (from.getElementType().isInteger(8))
      return ops;
    Operation *op = value.getDefiningOp();
    bool isPart = isa_and_nonnull<CastOp>(op) ||
                  (isa_and_nonnull<SubOp>(op) && cast<RankedTensorType>(op->getOperand(1).getType()).getRank() == 0);
    // Bytes lie as the floats would.
    if (!isPart || !value.hasOneUse() || sizesOf(op->getOperand(0)) != sizesOf(type) || layoutOf(from).hasHalo() ||
        orderOf(cast<RankedTensorType>(op->getOperand(0).getType())) != orderOf(type))
      return {};
    ops.push_back(op);
  }
  return {};
}

const KernelClass *findKernelClass(StringRef name) {
  auto found = llvm::find_if(allKernelClasses(), [&](const KernelClass *klass) { return klass->name == name; });
  return found == allKernelClasses().end() ? nullptr : *found;
}

bool isInKernel(Operation *op) { return op->getParentOfType<func::FuncOp>().isPrivate(); }

Operation *anchorOf(func::FuncOp kernel) {
  // Of an attention's anchors, the last is the kernel's: it knows the others.
  for (Operation &op : llvm::reverse(kernel.getBody().front().without_terminator()))
    if (isAnchor(&op))
      return &op;
  return nullptr;
}

Operation *anchorOrEnd(func::FuncOp kernel) {
  Operation *anchor = anchorOf(kernel);
  return anchor ? anchor : kernel.front().getTerminator();
}

llvm::Error checkKnobs(const KernelClass &klass, const Schedule &schedule) {
  std::vector<Knob> knobs = klass.family.knobs();
  for (const auto &[name, value] : schedule.knobs) {
    auto knob = llvm::find_if(knobs, [&, name = StringRef(name)](const Knob &k) { return k.name == name; });
    if (knob == knobs.end())
      return llvm::createStringError("class '%s' has no knob '%s'", klass.name.data(), name.c_str());
    if (value < knob->min || value > knob->max)
      return llvm::createStringError("%s = %lld is outside [%lld, %lld]", name.c_str(), (long long)value,
                                     (long long)knob->min, (long long)knob->max);
  }
  return llvm::Error::success();
}

llvm::Error checkSchedule(const KernelClass &klass, const Schedule &schedule, const Space &space) {
  if (llvm::Error error = checkKnobs(klass, schedule))
    return error;
  for (const Knob &knob : klass.family.knobs())
    if (!schedule.has(knob.name))
      return llvm::createStringError("knob '%s' is missing", knob.name.data());
  if (std::string violation = space.violation(schedule); !violation.empty())
    return llvm::createStringError("%s", violation.c_str());
  return llvm::Error::success();
}

llvm::Error checkSchedule(const KernelClass &klass, const Schedule &schedule, Operation *site, const Target &target) {
  return checkSchedule(klass, schedule, *klass.family.spaceOf(site, target));
}

Schedule inOrder(const Schedule &schedule, const KernelClass &klass) {
  Schedule ordered;
  for (const Knob &knob : klass.family.knobs())
    ordered.set(knob.name, schedule.value(knob.name));
  return ordered;
}

} // namespace fathom
