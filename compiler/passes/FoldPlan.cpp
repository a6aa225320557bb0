// Everything over constants is folded first; where that is more than the budget has, the ops whose results are largest
// for the work that they save go back to the run.
#include "compiler/passes/FoldPlan.h"

#include "compiler/graph/Layout.h"
#include "compiler/graph/Views.h"

using namespace mlir;
using namespace fathom::graph;

namespace fathom {

static constexpr int64_t baseBytes = 32 << 20, bytesPerByte = 3; // 8-bit weights may become 32-bit ones
static constexpr int64_t baseWork = 256 << 20,
                         workPerByte = 8;            // a second or so, and what a few passes over weights take
static constexpr int64_t largestPerByte = 8;         // what others consume may be larger than what stays
static constexpr int64_t freeBytes = 4096;           // axes, sizes and scales are always known
static constexpr int64_t multiplyAddsPerElement = 8; // products are faster than anything else

llvm::DenseSet<Value> constantsIn(Block &block) {
  llvm::DenseSet<Value> constants;
  for (Operation &op : block)
    if (isa<ConstantOp>(op) || (isView(&op) && constants.contains(op.getOperand(0))))
      constants.insert(op.getResult(0));
  return constants;
}

FoldBudget FoldBudget::forModel(ModuleOp module, double factor) {
  double given = constantBytes(module);
  auto scaled = [&](double amount) { return int64_t(std::min(factor * amount, double(int64_t(1) << 60))); };
  FoldBudget budget;
  budget.bytes = scaled(baseBytes + bytesPerByte * given);
  budget.work = scaled(baseWork + workPerByte * given);
  budget.largest = scaled(largestPerByte * (baseBytes + bytesPerByte * given));
  return budget;
}

namespace {

bool isStatic(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && type.hasStaticShape();
}

int64_t elementsOf(Value value) {
  return isStatic(value) ? cast<RankedTensorType>(value.getType()).getNumElements() : 0;
}

int64_t bytesOf(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type ? elementsOf(value) * elementBytes(type.getElementType()) : 0;
}

// Elements that the op computes or looks at.
int64_t workOf(Operation *op) {
  int64_t most = 0;
  for (Value value : llvm::concat<Value>(op->getOperands(), op->getResults()))
    most = std::max(most, elementsOf(value));
  // Multiply-adds for each element of the result.
  int64_t depth = TypeSwitch<Operation *, int64_t>(op)
                      .Case([](MatMulOp product) {
                        auto type = cast<RankedTensorType>(product->getOperand(0).getType());
                        return type.getRank() ? type.getShape().back() : 1;
                      })
                      .Case<ConvOp, ConvTransposeOp>([](auto conv) {
                        auto type = cast<RankedTensorType>(conv.getWeight().getType());
                        return type.getNumElements() / std::max<int64_t>(1, type.getDimSize(0));
                      })
                      // Boxes are compared with each other.
                      .Case([](NonMaxSuppressionOp boxes) { return elementsOf(boxes.getBoxes()); })
                      .Default([](Operation *) { return 0; });
  int64_t products = llvm::SaturatingMultiply<uint64_t>(elementsOf(op->getResult(0)), std::max<int64_t>(depth, 0)) /
                     multiplyAddsPerElement;
  return std::max(most, products);
}

class Planner {
public:
  Planner(func::FuncOp main, FoldBudget &budget)
      : main(main), budget(budget), constants(constantsIn(main.getBody().front())) {}

  std::vector<Operation *> run() {
    collect();
    for (bool progress = true; progress && growth() > budget.bytes;)
      progress = shrink();
    budget.bytes -= std::max<int64_t>(growth(), 0);
    for (Operation *op : folded)
      if (!isFree(op))
        budget.work -= workOf(op);
    return inOrder();
  }

private:
  // Ops of which everything they read is known, as far as there is work left.
  void collect() {
    int64_t work = budget.work;
    for (Operation &op : main.getBody().front()) {
      if (!isa_and_nonnull<GraphDialect>(op.getDialect()) || isLiteral(&op) || op.getNumResults() == 0 ||
          op.getNumRegions() || op.getNumOperands() == 0)
        continue;
      // A view of a constant costs nothing, unless a pass wants its elements.
      if (constants.contains(op.getResult(0)) && !op.hasAttr("graph.ahead"))
        continue;
      bool isKnown = llvm::all_of(op.getOperands(), [&](Value operand) {
        Operation *def = operand.getDefiningOp();
        // A view of a constant may have sizes that only the run knows.
        return def && (isa<NoneOp>(def) || (constants.contains(operand) && isStatic(operand)) || folded.contains(def));
      });
      if (!isKnown || !llvm::all_of(op.getResults(), isStatic))
        continue;
      if (!isFree(&op)) {
        bool isLarge = llvm::any_of(op.getResults(), [&](Value result) { return bytesOf(result) > budget.largest; });
        if (isLarge || workOf(&op) > work)
          continue;
        work -= workOf(&op);
      }
      folded.insert(&op);
    }
  }

  static bool isFree(Operation *op) {
    return op->hasAttr("graph.ahead") ||
           (llvm::all_of(op->getResults(), [](Value result) { return bytesOf(result) <= freeBytes; }) &&
            workOf(op) <= freeBytes);
  }

  // A value has to be stored if something reads it that is not folded itself.
  bool isStored(Value value) {
    SmallVector<Value> open{value};
    while (!open.empty())
      for (Operation *user : open.pop_back_val().getUsers()) {
        if (folded.contains(user))
          continue;
        if (!isView(user) || !constants.contains(user->getResult(0)))
          return true;
        open.push_back(user->getResult(0));
      }
    return false;
  }

  // Bytes that are stored beyond those that were there.
  int64_t growth() {
    int64_t bytes = 0;
    for (Operation *op : folded)
      if (!op->hasAttr("graph.ahead"))
        for (Value result : op->getResults())
          bytes += isStored(result) ? bytesOf(result) : 0;
    for (auto constant : main.getBody().front().getOps<ConstantOp>())
      if (!constant->use_empty() && !isStored(constant))
        bytes -= bytesOf(constant);
    return bytes;
  }

  // Ops that go back to the run together: one whose result is stored, and producers that only it needs.
  struct Return {
    SmallVector<Operation *> ops;
    int64_t saved = 0, work = 1;
    double gain() const { return double(saved) / double(work); }
  };

  // Nothing that is folded reads it.
  bool isLast(Operation *op) {
    return llvm::none_of(op->getUsers(), [&](Operation *user) { return folded.contains(user); });
  }

  // What is stored in place of the op's results when the op is not folded.
  Return returning(Operation *last, int64_t enough) {
    constexpr size_t most = 64;
    Return best, now;
    Operation *next = last;
    while (next && now.ops.size() < most) {
      Operation *op = next;
      now.ops.push_back(op);
      now.work += workOf(op);
      for (Value result : op->getResults())
        now.saved += isStored(result) ? bytesOf(result) : 0;
      // What it reads is stored from now on.
      llvm::SmallSetVector<Value, 4> read;
      for (Value operand : op->getOperands())
        read.insert(constants.contains(operand) ? bufferRoot(operand) : operand);
      for (Value operand : read)
        now.saved -= isStored(operand) ? 0 : bytesOf(operand);
      folded.erase(op);
      next = nullptr;
      for (Value operand : read) {
        Operation *def = operand.getDefiningOp();
        if (folded.contains(def) && !isFree(def) && isLast(def) &&
            (!next || bytesOf(operand) > bytesOf(next->getResult(0))))
          next = def;
      }
      if (now.saved > 0 && (best.ops.empty() || now.gain() >= best.gain()))
        best = now;
      if (best.saved >= enough)
        break;
    }
    for (Operation *op : now.ops)
      folded.insert(op);
    return best;
  }

  // Gives ops back until there is room enough, those first that save most bytes for their work.
  bool shrink() {
    int64_t over = growth() - budget.bytes;
    SmallVector<Return> returns;
    SmallVector<Operation *> lasts;
    for (Operation *op : inOrder())
      if (!isFree(op) && isLast(op))
        lasts.push_back(op);
    for (Operation *op : lasts)
      if (Return found = returning(op, over); found.saved > 0)
        returns.push_back(std::move(found));
    llvm::stable_sort(returns, [](const Return &a, const Return &b) { return a.gain() > b.gain(); });
    // One alone saves nothing where several share what they read: then all go.
    if (returns.empty())
      for (Operation *op : lasts)
        folded.erase(op);
    for (const Return &group : returns) {
      if (over <= 0)
        break;
      over -= group.saved;
      for (Operation *op : group.ops)
        folded.erase(op);
    }
    return !lasts.empty();
  }

  std::vector<Operation *> inOrder() {
    std::vector<Operation *> ops;
    for (Operation &op : main.getBody().front())
      if (folded.contains(&op))
        ops.push_back(&op);
    return ops;
  }

  func::FuncOp main;
  FoldBudget &budget;
  llvm::DenseSet<Value> constants;
  llvm::DenseSet<Operation *> folded;
};

} // namespace

std::vector<Operation *> planFolding(func::FuncOp main, FoldBudget &budget) { return Planner(main, budget).run(); }

} // namespace fathom
