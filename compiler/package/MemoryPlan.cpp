// Liveness and placement of tensors.
#include "compiler/package/MemoryPlan.h"

#include "compiler/passes/Passes.h"

using namespace mlir;
using namespace fathom::graph;

namespace fathom {

static constexpr int64_t alignment = 64; // a cache line, and the widest vector

Value bufferRoot(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isView(op))
      break;
    value = op->getOperand(0);
  }
  return value;
}

namespace {

struct Lifetime {
  Value value;
  unsigned result; // which of its kernel's results
  int64_t first, last, bytes, offset = 0;
};

class Planner {
public:
  explicit Planner(const Program &program) : main(program.main) {}

  MemoryPlan run() {
    placeOutputs();
    for (auto [i, argument] : llvm::enumerate(main.getArguments()))
      plan.places[argument] = {Place::Input, int64_t(i)};
    int64_t step = 0;
    for (Operation &op : main.getBody().front()) {
      if (!isa<func::CallOp>(op))
        continue;
      for (Value operand : op.getOperands())
        use(operand, step);
      for (Value result : op.getResults())
        if (!plan.places.contains(result))
          born[result] = {step, step};
      ++step;
    }
    placeWeights();
    placeFixed();
    placeSlots();
    return std::move(plan);
  }

private:
  void placeOutputs() {
    for (auto [i, value] : llvm::enumerate(main.getBody().front().getTerminator()->getOperands()))
      plan.places[bufferRoot(value)] = {Place::Output, int64_t(i)};
  }

  void use(Value operand, int64_t step) {
    if (isPackedWeight(operand))
      return addWeight(operand);
    if (auto found = born.find(bufferRoot(operand)); found != born.end())
      found->second.second = step;
  }

  void addWeight(Value operand) {
    if (plan.places.contains(operand))
      return;
    Value inner = operand;
    if (auto relayout = operand.getDefiningOp<RelayoutOp>())
      inner = relayout.getInput();
    auto constant = bufferRoot(inner).getDefiningOp<ConstantOp>();
    Weight weight{constant.getValue(), cast<RankedTensorType>(inner.getType()),
                  cast<RankedTensorType>(operand.getType())};
    // The same data in the same layout is stored once.
    auto [found, inserted] = weightIndex.try_emplace({weight.value, weight.source, weight.type}, plan.weights.size());
    plan.places[operand] = {Place::WeightData, int64_t(found->second)};
    if (!inserted)
      return;
    weight.bytes = constantSize(bufferBytes(weight.type)).value_or(0);
    plan.weights.push_back(weight);
  }

  // Indices and the like first, so that an artifact without weights can keep them.
  void placeWeights() {
    for (bool floats : {false, true}) {
      for (Weight &weight : plan.weights) {
        if (isa<FloatType>(weight.type.getElementType()) != floats)
          continue;
        weight.offset = plan.weightBytes;
        plan.weightBytes = llvm::alignTo(plan.weightBytes + weight.bytes, alignment);
      }
      if (!floats)
        plan.keptBytes = plan.weightBytes;
    }
  }

  static AffineExpr alignedBytes(Value value) {
    AffineExpr bytes = bufferBytes(cast<RankedTensorType>(value.getType()));
    return simplifyAffineExpr(bytes.ceilDiv(alignment) * alignment, 0, 16);
  }

  // Largest first, each at the lowest offset where nothing alive at the same time lies.
  void placeFixed() {
    SmallVector<Lifetime> tensors;
    for (auto &[value, span] : born)
      if (auto bytes = constantSize(alignedBytes(value)))
        tensors.push_back({value, cast<OpResult>(value).getResultNumber(), span.first, span.second, *bytes});
    llvm::sort(tensors, [](const Lifetime &a, const Lifetime &b) {
      return std::tuple(-a.bytes, a.first, a.result) < std::tuple(-b.bytes, b.first, b.result);
    });
    SmallVector<Lifetime *> placed;
    for (Lifetime &tensor : tensors) {
      SmallVector<Lifetime *> neighbours;
      for (Lifetime *other : placed)
        if (other->first <= tensor.last && tensor.first <= other->last)
          neighbours.push_back(other);
      llvm::sort(neighbours, [](Lifetime *a, Lifetime *b) { return a->offset < b->offset; });
      int64_t offset = 0;
      for (Lifetime *other : neighbours) {
        if (offset + tensor.bytes <= other->offset)
          break;
        offset = std::max(offset, other->offset + other->bytes);
      }
      tensor.offset = offset;
      placed.push_back(&tensor);
      plan.places[tensor.value] = {Place::Fixed, offset};
      plan.fixedBytes = std::max(plan.fixedBytes, offset + tensor.bytes);
    }
  }

  // In order of birth, each in the first slot that is free.
  void placeSlots() {
    SmallVector<int64_t> busyUntil;
    for (auto &[value, span] : born) {
      AffineExpr bytes = alignedBytes(value);
      if (constantSize(bytes))
        continue;
      size_t slot = 0;
      while (slot < busyUntil.size() && busyUntil[slot] >= span.first)
        ++slot;
      if (slot == busyUntil.size()) {
        busyUntil.push_back(0);
        plan.slots.emplace_back();
      }
      busyUntil[slot] = span.second;
      if (!llvm::is_contained(plan.slots[slot], bytes))
        plan.slots[slot].push_back(bytes);
      plan.places[value] = {Place::Slot, int64_t(slot)};
    }
  }

  func::FuncOp main;
  MemoryPlan plan;
  llvm::MapVector<Value, std::pair<int64_t, int64_t>> born;
  DenseMap<std::tuple<Attribute, Type, Type>, size_t> weightIndex;
};

} // namespace

MemoryPlan planMemory(const Program &program) { return Planner(program).run(); }

} // namespace fathom
