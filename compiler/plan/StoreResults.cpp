// Brings into memory what has no memory of its own where it is needed: what leaves a block without being a kernel's
// result of it, and sizes that kernels read.
#include "compiler/graph/Layout.h"
#include "compiler/graph/OpNames.h"
#include "compiler/graph/SymbolRewrite.h"
#include "compiler/graph/Views.h"
#include "compiler/passes/Passes.h"
#include "compiler/plan/FuseOps.h"

using namespace mlir;
using namespace fathom::graph;

namespace fathom {
#define GEN_PASS_DEF_STORERESULTSPASS
#include "compiler/passes/Passes.h.inc"

namespace {

// Whether a view's sizes have their values already where the tensor is made that it is a view of.
bool areSizesKnownAt(Operation *made, Value view) {
  llvm::SmallBitVector used;
  for (AffineExpr size : sizesOf(view))
    collectSymbols(size, used);
  auto isUsed = [&](int64_t symbol) { return symbol < int64_t(used.size()) && used.test(symbol); };
  for (Operation *op = made->getNextNode(); op; op = op->getNextNode()) {
    bool isLate = TypeSwitch<Operation *, bool>(op)
                      .Case<PinOp, IfOp, LoopOp>([&](auto op) { return llvm::any_of(op.getSymbols(), isUsed); })
                      .Default([](Operation *) { return false; });
    if (isLate)
      return false;
  }
  return true;
}

bool isDataSized(Value value, const SymbolList &symbols) {
  return llvm::any_of(sizesOf(value), [&](AffineExpr size) { return isComputed(size, symbols); });
}

// Whether what branch or loop takes the block's value number `index` has a size that data decides.
bool isTakenAsDataSized(Block &block, unsigned index, const SymbolList &symbols) {
  if (auto branch = dyn_cast<IfOp>(block.getParentOp()))
    return isDataSized(branch.getResult(index), symbols);
  if (isa<LoopOp>(block.getParentOp()) && index + 1 < block.getNumArguments())
    return isDataSized(block.getArgument(index + 1), symbols);
  return false;
}

// What must be a kernel's result of this block to leave it: arguments, constants, values from elsewhere, values that
// leave twice and views of a size that is known too late are copied.
void copyPassedThrough(Block &block) {
  Operation *terminator = block.getTerminator();
  OpBuilder b(terminator);
  std::string prefix = isa<func::FuncOp>(block.getParentOp()) ? "" : opName(block.getParentOp()).str() + ".";
  if (isa<IfOp>(block.getParentOp()))
    prefix += block.getParent()->getRegionNumber() ? "else." : "then.";
  DenseSet<Value> returned;
  SymbolList symbols = symbolsFor(terminator);
  for (auto [i, operand] : llvm::enumerate(terminator->getOpOperands())) {
    Value root = bufferRoot(operand.get());
    // The next condition of a loop is only read.
    if (isa<LoopOp>(block.getParentOp()) && i == 0)
      continue;
    bool isKernelResult =
        root.getDefiningOp() && !needsNoKernel(root.getDefiningOp()) && root.getParentBlock() == &block;
    // What a branch or loop inside has in the arena cannot be handed on by its address.
    bool isInArena = isKernelResult && root.getDefiningOp()->getNumRegions() && !isDataSized(root, symbols) &&
                     isTakenAsDataSized(block, i, symbols);
    // The memory of a result is made for the sizes it leaves with.
    bool isReady = isKernelResult && !isInArena && areSizesKnownAt(root.getDefiningOp(), operand.get());
    if (isReady && returned.insert(root).second)
      continue;
    auto copy = RelayoutOp::create(b, operand.get().getLoc(), operand.get().getType(), operand.get());
    copy->setAttr("graph.name", b.getStringAttr(prefix + "output" + std::to_string(i) + ".copy"));
    copy->setAttr("graph.output", b.getUnitAttr());
    operand.set(copy);
  }
}

// Sizes known as expressions have no memory of their own, but what a loop starts from, what a view lies over and what
// is multiplied in tiles must be in memory.
void storeSizes(Operation *op) {
  OpBuilder b(op);
  auto store = [&](OpOperand &operand, const Twine &suffix) {
    if (!operand.get().getDefiningOp<SizesOp>())
      return;
    auto copy = RelayoutOp::create(b, op->getLoc(), operand.get().getType(), operand.get());
    copy->setAttr("graph.name", b.getStringAttr(opName(op) + suffix));
    copy->setAttr("graph.output", b.getUnitAttr());
    operand.set(copy);
  };
  if (auto loop = dyn_cast<LoopOp>(op))
    for (auto [i, operand] : llvm::enumerate(loop.getCarriedMutable()))
      store(operand, ".carried" + Twine(i));
  else if (isView(op))
    store(op->getOpOperand(0), ".stored");
  else if (isa<MatMulOp, GemmOp>(op))
    for (unsigned i : {0u, 1u})
      store(op->getOpOperand(i), i ? ".right" : ".left");
}

struct StoreResultsPass : impl::StoreResultsPassBase<StoreResultsPass> {
  LogicalResult runOnFunction(func::FuncOp function) override {
    function.walk([](Block *block) { copyPassedThrough(*block); });
    function.walk([](Operation *op) { storeSizes(op); });
    return success();
  }
};

} // namespace
} // namespace fathom
