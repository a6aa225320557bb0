// Rules of branches and loops. What a region computed on the way is computed again where its gradient is: a loop keeps
// only what it carried into each iteration.
#include "compiler/passes/gradient/Parts.h"
#include "compiler/passes/gradient/Rules.h"

#include "compiler/graph/SizeMath.h"
#include "compiler/support/Diagnostics.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace fathom::graph;

namespace fathom::gradient {
namespace {

LogicalResult refuseSizes(Operation *op) {
  return hint(emitError(op, ErrorCode::UnsupportedShape)
                  << "there is no gradient where sizes are only known inside of a branch or loop",
              "give the model's dynamic dimensions sizes with --dim");
}

// A symbol that is computed in a region would be computed twice.
bool hasOwnSizes(Operation *op) {
  return op
      ->walk([&](Operation *inner) {
        auto branch = dyn_cast<IfOp>(inner);
        auto loop = dyn_cast<LoopOp>(inner);
        bool hasSymbols = isa<PinOp, AssertOp>(inner) || (branch && !branch.getSymbols().empty()) ||
                          (loop && !loop.getBodySymbols().empty()) ||
                          (loop && loop != op && !loop.getSymbols().empty());
        return hasSymbols ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

// What regions use from around them, as far as somebody asks for its adjoint; in order.
SmallVector<Value> activeCaptures(Operation *op, const Backward &back) {
  llvm::SetVector<Value> captured;
  getUsedValuesDefinedAbove(op->getRegions(), captured);
  return llvm::to_vector(llvm::make_filter_range(captured, [&](Value value) { return back.isActive(value); }));
}

// Ops of a block, but for its terminator, behind those where the builder stands.
void cloneBody(Block &from, IRMapping &mapping, OpBuilder &builder) {
  for (Operation &op : from.without_terminator())
    builder.clone(op, mapping);
}

bool haveSameSizes(Value a, Value b) { return sizesOf(a) == sizesOf(b); }

// The adjoints of what a region captured, or zeros.
SmallVector<Value> adjointsOf(Backward &inner, ArrayRef<Value> values) {
  return llvm::map_to_vector(values, [&](Value value) {
    Value adjoint = inner.adjointOf(value);
    return adjoint ? adjoint : Value(zerosLike(inner, value));
  });
}

LogicalResult addIf(IfOp op, Backward &back) {
  if (hasOwnSizes(op))
    return refuseSizes(op);
  SmallVector<Value> captures = activeCaptures(op, back);
  Emitter &ops = back.ops();
  OperationState state(op.getLoc(), IfOp::getOperationName());
  state.addOperands(op.getCondition());
  state.addTypes(ValueRange(captures).getTypes());
  state.addAttribute("symbols", ops.builder.getDenseI64ArrayAttr({}));
  for (int i = 0; i < 2; ++i)
    state.addRegion()->emplaceBlock();
  auto made = cast<IfOp>(ops.builder.create(state));
  nameAfter(made, op, ops.suffix);
  for (auto [from, to] : llvm::zip_equal(op->getRegions(), made->getRegions())) {
    OpBuilder builder = OpBuilder::atBlockEnd(&to.front());
    IRMapping mapping;
    cloneBody(from.front(), mapping, builder);
    Backward inner(builder);
    inner.setOp(op);
    inner.activate(captures, to.front());
    for (auto [result, value] : llvm::zip_equal(op.getResults(), from.front().getTerminator()->getOperands())) {
      Value end = mapping.lookupOrDefault(value), adjoint = back.adjointOf(result);
      if (!adjoint || !inner.isActive(end))
        continue;
      if (!haveSameSizes(adjoint, end))
        return refuseSizes(op);
      inner.addExact(end, adjoint);
    }
    if (failed(inner.run(to.front())))
      return failure();
    inner.setOp(op);
    YieldOp::create(builder, op.getLoc(), adjointsOf(inner, captures));
  }
  for (auto [value, adjoint] : llvm::zip_equal(captures, made.getResults()))
    back.addExact(value, adjoint);
  return success();
}

// A loop that runs backwards through what another one carried.
class LoopReversal {
public:
  LoopReversal(LoopOp op, Backward &back) : loop(op), back(back), ops(back.ops()) {}

  LogicalResult run() {
    if (hasOwnSizes(loop) || !findLength())
      return refuseSizes(loop);
    for (auto [argument, initial] : llvm::zip(loop.getBody().front().getArguments().drop_front(2), loop.getCarried()))
      if (!haveSameSizes(argument, initial))
        return refuseSizes(loop);
    keepStates();
    captures = activeCaptures(loop, back);
    return reverse();
  }

private:
  // How often it runs, as a size: what it stacks has as many slices.
  bool findLength() {
    unsigned carried = loop.getCarried().size();
    if (loop.getNumResults() > carried) {
      length = sizesOf(loop.getResult(carried))[0];
      return true;
    }
    auto isAlways = [&](Value value) {
      auto known = isa<NoneType>(value.getType()) ? std::nullopt : constantElementsOf(value);
      return isa<NoneType>(value.getType()) || value == loop.getBody().front().getArgument(1) ||
             (known && known->front());
    };
    bool hasTrip = !isa<NoneType>(loop.getTrip().getType());
    auto trip = hasTrip ? elementsOf(loop.getTrip()) : std::nullopt;
    if (!trip || !isAlways(loop.getCondition()) || !isAlways(loop.getBody().front().getTerminator()->getOperand(0)))
      return false;
    length = trip->front();
    return size::isAtLeast(length, getAffineConstantExpr(0, loop.getContext()), symbolsFor(loop));
  }

  // The loop once more, with a slice of every carried value as it was when an iteration began.
  void keepStates() {
    Block &body = loop.getBody().front();
    auto arguments = body.getArguments().drop_front(2);
    unsigned results = loop.getNumResults();
    SmallVector<Type> types(loop.getResultTypes());
    for (Value argument : arguments) {
      Sizes sizes = sizesOf(argument);
      sizes.insert(sizes.begin(), length);
      types.push_back(tensorOf(sizes, cast<RankedTensorType>(argument.getType()).getElementType()));
    }
    auto yield = cast<YieldOp>(body.getTerminator());
    yield->insertOperands(yield.getNumOperands(), arguments);
    OperationState state(loop.getLoc(), LoopOp::getOperationName());
    state.addOperands(loop->getOperands());
    state.addTypes(types);
    state.addAttributes(loop->getAttrs());
    state.addRegion()->takeBody(loop.getBody());
    OpBuilder builder(loop);
    auto made = cast<LoopOp>(builder.create(state));
    for (unsigned i = 0; i < results; ++i)
      back.replace(loop.getResult(i), made.getResult(i));
    loop.erase();
    loop = made;
    back.setOp(loop);
    unsigned carried = loop.getCarried().size();
    llvm::append_range(states, loop.getResults().drop_front(results));
    llvm::append_range(stacked, loop.getResults().slice(carried, results - carried));
  }

  // One of what was stacked.
  static Value sliceOf(Backward &inner, Value whole, Value number) {
    return inner.ops().emit<GatherOp>(whole, number, inner.ops().attr(0));
  }

  static bool isFloat(Value value) { return isa<FloatType>(cast<RankedTensorType>(value.getType()).getElementType()); }

  LogicalResult reverse() {
    // What goes from iteration to iteration: adjoints of what is carried, and sums for what is captured.
    SmallVector<unsigned> smooth;
    SmallVector<Value> carried;
    for (auto [i, initial] : llvm::enumerate(loop.getCarried()))
      if (isFloat(initial)) {
        smooth.push_back(i);
        Value adjoint = back.adjointOf(loop.getResult(i));
        carried.push_back(adjoint ? adjoint : Value(zerosLike(back, initial)));
      }
    // Shape functions look for symbols around their op: the body is made where it belongs, in an op without results.
    Location loc = loop.getLoc();
    auto draft = LoopOp::create(ops.builder, loc, TypeRange(), ops.none(), ops.none(), ValueRange(),
                                ops.builder.getDenseI64ArrayAttr({}), ops.builder.getDenseI64ArrayAttr({}));
    Block &block = draft.getBody().emplaceBlock();
    Value number = block.addArgument(RankedTensorType::get({}, ops.builder.getI64Type()), loc);
    Value condition = block.addArgument(RankedTensorType::get({}, ops.builder.getI1Type()), loc);
    for (Value value : carried)
      block.addArgument(value.getType(), loc);
    OpBuilder builder = OpBuilder::atBlockEnd(&block);
    Backward inner(builder);
    inner.setOp(loop);
    // From the last iteration to the first.
    Term last = inner.term(sizesOperand(builder, loop, {size::add(length, -1)})).reshaped({});
    Term place = last - inner.term(number);
    Block &forward = loop.getBody().front();
    IRMapping mapping;
    mapping.map(forward.getArgument(0), Value(place));
    mapping.map(forward.getArgument(1), condition);
    SmallVector<Value> begins;
    for (auto [argument, state] : llvm::zip_equal(forward.getArguments().drop_front(2), states)) {
      begins.push_back(sliceOf(inner, state, place));
      mapping.map(argument, begins.back());
    }
    cloneBody(forward, mapping, builder);

    // Of a sequence that is read slice by slice, each iteration has the adjoint of its own.
    SmallVector<Value> sequences, slices, sums;
    for (Value value : captures) {
      SmallVector<Value> found;
      bool isSequence = readsSlices(value, place, block, found);
      for (Value slice : isSequence ? found : SmallVector<Value>())
        sequences.push_back(value), slices.push_back(slice);
      if (!isSequence)
        sums.push_back(value);
    }
    SmallVector<Value> sources = sums;
    llvm::append_range(sources, slices);
    for (unsigned i : smooth)
      sources.push_back(begins[i]);
    inner.activate(sources, block);

    Operation *end = forward.getTerminator();
    unsigned count = loop.getCarried().size();
    for (auto [k, i] : llvm::enumerate(smooth))
      seed(inner, mapping.lookupOrDefault(end->getOperand(1 + i)), block.getArgument(2 + k));
    for (auto [i, result] : llvm::enumerate(stacked))
      if (Value adjoint = back.adjointOf(result))
        seed(inner, mapping.lookupOrDefault(end->getOperand(1 + count + i)), sliceOf(inner, adjoint, place));
    if (isUnfit)
      return refuseSizes(loop);
    if (failed(inner.run(block)))
      return failure();
    inner.setOp(loop);

    SmallVector<Value> yields{condition};
    for (unsigned i : smooth)
      yields.push_back(adjointsOf(inner, begins[i]).front());
    for (Value value : sums) {
      Value sum = block.addArgument(value.getType(), loc), adjoint = inner.adjointOf(value);
      carried.push_back(zerosLike(back, value));
      yields.push_back(adjoint ? Value(inner.term(sum) + inner.term(adjoint)) : sum);
    }
    llvm::append_range(yields, adjointsOf(inner, slices));
    YieldOp::create(builder, loc, yields);
    return finish(draft, carried, smooth, sums, sequences, slices);
  }

  LogicalResult finish(LoopOp draft, ArrayRef<Value> carried, ArrayRef<unsigned> smooth, ArrayRef<Value> sums,
                       ArrayRef<Value> sequences, ArrayRef<Value> slices) {
    OperationState state(loop.getLoc(), LoopOp::getOperationName());
    state.addOperands({Value(back.term(sizesOperand(ops.builder, loop, {length})).reshaped({})), ops.none()});
    state.addOperands(carried);
    state.addTypes(ValueRange(carried).getTypes());
    for (Value slice : slices) {
      Sizes sizes = sizesOf(slice);
      sizes.insert(sizes.begin(), length);
      state.addTypes(tensorOf(sizes, cast<RankedTensorType>(slice.getType()).getElementType()));
    }
    state.addAttribute("body_symbols", ops.builder.getDenseI64ArrayAttr({}));
    state.addAttribute("symbols", ops.builder.getDenseI64ArrayAttr({}));
    state.addRegion()->takeBody(draft.getBody());
    auto made = cast<LoopOp>(ops.builder.create(state));
    draft.erase();
    nameAfter(made, loop, ops.suffix);
    auto results = made.getResults();
    for (auto [k, i] : llvm::enumerate(smooth))
      if (failed(back.add(loop.getCarried()[i], results[k])))
        return failure();
    results = results.drop_front(smooth.size());
    for (auto [k, value] : llvm::enumerate(sums))
      back.addExact(value, results[k]);
    results = results.drop_front(sums.size());
    for (auto [k, value] : llvm::enumerate(sequences))
      back.addExact(
          value,
          back.term(results[k]).apply<SliceOp>(ops.ints({-1}), ops.ints({INT64_MIN}), ops.ints({0}), ops.ints({-1})));
    return success();
  }

  // Whether all that the body takes of a value is the slice of the iteration's number; and these.
  bool readsSlices(Value value, Value number, Block &block, SmallVectorImpl<Value> &found) {
    auto type = cast<RankedTensorType>(value.getType());
    if (type.getRank() == 0 || sizesOf(value)[0] != length)
      return false;
    for (OpOperand &use : value.getUses()) {
      if (!block.getParent()->isAncestor(use.getOwner()->getParentRegion()))
        continue;
      auto gather = dyn_cast<GatherOp>(use.getOwner());
      if (!gather || gather.getIndices() != number || gather.getInput() != value || gather->getBlock() != &block ||
          *normalizeAxis(gather.getAxis(), type.getRank()) != 0)
        return false;
      found.push_back(gather.getResult());
    }
    return true;
  }

  void seed(Backward &inner, Value value, Value adjoint) {
    if (!inner.isActive(value))
      return;
    isUnfit |= !haveSameSizes(value, adjoint);
    inner.addExact(value, adjoint);
  }

  LoopOp loop;
  Backward &back;
  Emitter &ops;
  AffineExpr length;
  SmallVector<Value> states, stacked, captures;
  bool isUnfit = false;
};

LogicalResult addLoop(LoopOp op, Backward &back) { return LoopReversal(op, back).run(); }

} // namespace

void addControlRules(Rules &rules) {
  rules.add(addIf);
  rules.add(addLoop);
}

} // namespace fathom::gradient
