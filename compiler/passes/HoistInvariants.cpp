// What is the same in every iteration is computed in front of the loop, once; what a loop only hands on is not carried.
// Weights that a body brings into another form are then constants like all others, folded and packed ahead.
#include "compiler/graph/SizeMath.h"
#include "compiler/graph/SymbolRewrite.h"
#include "compiler/graph/Views.h"
#include "compiler/passes/Passes.h"

using namespace mlir;
using namespace fathom::graph;

namespace fathom {
#define GEN_PASS_DEF_HOISTINVARIANTSPASS
#include "compiler/passes/Passes.h.inc"

namespace {

// Ops that end the run where an index lies outside: a loop without an iteration must not do that.
bool mayFault(Operation *op) {
  return isa<GatherOp, GatherElementsOp, GatherNDOp, ScatterElementsOp, ScatterNDOp, TensorScatterOp, DynamicSliceOp,
             ReverseSequenceOp, OneHotOp, UniqueOp, NonZeroOp>(op);
}

bool runsAtLeastOnce(LoopOp loop) {
  auto isAtLeastOne = [](Value value) {
    if (isa<NoneType>(value.getType()))
      return true;
    std::optional<SmallVector<int64_t>> known = constantElementsOf(value);
    return known && known->size() == 1 && known->front() >= 1;
  };
  return isAtLeastOne(loop.getTrip()) && isAtLeastOne(loop.getCondition());
}

class Hoisting {
public:
  explicit Hoisting(LoopOp loop) : loop(loop), body(&loop.getBody().front()) {}

  void run() {
    dropUnchanged();
    defined = llvm::SmallDenseSet<int64_t>(loop.getBodySymbols().begin(), loop.getBodySymbols().end());
    loop.getBody().walk([&](Operation *op) {
      if (auto pin = dyn_cast<PinOp>(op))
        defined.insert_range(pin.getSymbols());
      if (auto branch = dyn_cast<IfOp>(op))
        defined.insert_range(branch.getSymbols());
      if (auto inner = dyn_cast<LoopOp>(op)) {
        defined.insert_range(inner.getSymbols());
        defined.insert_range(inner.getBodySymbols());
      }
    });
    bool faultsAllowed = runsAtLeastOnce(loop);
    llvm::SmallSetVector<Operation *, 16> same;
    for (Operation &op : body->without_terminator())
      if (isInvariant(op, same) && (faultsAllowed || !mayFault(&op)))
        same.insert(&op);
    // Backwards: what an op that moves reads, moves as well.
    llvm::SmallDenseSet<Operation *> moves;
    for (Operation *op : llvm::reverse(same))
      if (isWorthwhile(op) || llvm::any_of(op->getUsers(), [&](Operation *user) { return moves.contains(user); }))
        moves.insert(op);
    for (Operation *op : same)
      if (moves.contains(op))
        op->moveBefore(loop);
  }

private:
  bool isInvariant(Operation &op, const llvm::SmallSetVector<Operation *, 16> &same) {
    if (op.getNumRegions() || !isMemoryEffectFree(&op) || op.getNumResults() == 0)
      return false;
    if (llvm::any_of(usedSymbols(&op), [&](unsigned symbol) { return defined.contains(symbol); }))
      return false;
    return llvm::all_of(op.getOperands(), [&](Value operand) {
      return operand.getParentBlock() != body || (operand.getDefiningOp() && same.contains(operand.getDefiningOp()));
    });
  }

  // An elementwise op or movement that makes more of its operands, which other elementwise ops read, costs less where
  // it is: it is never stored there.
  static bool isWorthwhile(Operation *op) {
    if (isAnchor(op) || isKnown(op) || isa<RelayoutOp>(op))
      return true;
    Sizes sizes = sizesOf(op->getResult(0));
    auto elements = [](Value value) -> std::optional<int64_t> {
      auto type = dyn_cast<RankedTensorType>(value.getType());
      return type && type.hasStaticShape() ? std::optional(type.getNumElements()) : std::nullopt;
    };
    std::optional<int64_t> made = elements(op->getResult(0));
    for (Value operand : op->getOperands()) {
      if (!isa<RankedTensorType>(operand.getType()))
        continue;
      std::optional<int64_t> given = elements(operand);
      if ((made && given && *given >= *made) || sizesOf(operand) == sizes)
        return true;
    }
    // A product reads its operands from memory in any case.
    return isView(op) || llvm::any_of(op->getUsers(), isAnchor);
  }

  // Carried values that every iteration hands on as they are.
  void dropUnchanged() {
    auto yield = cast<YieldOp>(body->getTerminator());
    llvm::BitVector unchanged(loop.getCarried().size());
    for (auto [i, initial] : llvm::enumerate(loop.getCarried())) {
      Value argument = body->getArgument(i + 2);
      if (yield.getValues()[i + 1] != argument || argument.getType() != initial.getType() ||
          loop.getResult(i).getType() != initial.getType())
        continue;
      unchanged.set(i);
      argument.replaceAllUsesWith(initial);
      loop.getResult(i).replaceAllUsesWith(initial);
    }
    if (unchanged.none())
      return;
    SmallVector<Value> carried;
    SmallVector<Type> types;
    SmallVector<Value> results;
    for (auto [i, result] : llvm::enumerate(loop.getResults())) {
      if (i < unchanged.size() && unchanged.test(i))
        continue;
      types.push_back(result.getType());
      results.push_back(result);
      if (i < unchanged.size())
        carried.push_back(loop.getCarried()[i]);
    }
    OpBuilder b(loop);
    auto slim = LoopOp::create(b, loop.getLoc(), types, loop.getTrip(), loop.getCondition(), carried,
                               loop.getBodySymbols(), loop.getSymbols());
    slim->setDiscardableAttrs(loop->getDiscardableAttrDictionary());
    slim.getBody().takeBody(loop.getBody());
    body = &slim.getBody().front();
    for (auto [result, replacement] : llvm::zip_equal(results, slim.getResults()))
      result.replaceAllUsesWith(replacement);
    loop.erase();
    loop = slim;
    llvm::BitVector arguments(body->getNumArguments()), yielded(yield.getNumOperands());
    for (unsigned i : unchanged.set_bits())
      arguments.set(i + 2), yielded.set(i + 1);
    body->eraseArguments(arguments);
    yield->eraseOperands(yielded);
  }

  LoopOp loop;
  Block *body;
  llvm::SmallDenseSet<int64_t> defined; // symbols that get their values inside
};

struct HoistInvariantsPass : impl::HoistInvariantsPassBase<HoistInvariantsPass> {
  LogicalResult runOnFunction(func::FuncOp function) override {
    // Inner loops first: what leaves one may leave the next.
    SmallVector<LoopOp> loops;
    function.walk([&](LoopOp loop) { loops.push_back(loop); });
    for (LoopOp loop : loops)
      Hoisting(loop).run();
    return success();
  }
};

} // namespace
} // namespace fathom
