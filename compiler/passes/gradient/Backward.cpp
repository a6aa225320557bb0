// Adjoints and their way through a block.
#include "compiler/passes/gradient/Backward.h"

#include "compiler/graph/TypeText.h"
#include "compiler/passes/gradient/Rules.h"
#include "compiler/support/Cancellation.h"
#include "compiler/support/Diagnostics.h"

using namespace mlir;
using namespace fathom::graph;

namespace fathom::gradient {

static bool isSmoothType(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && isa<FloatType>(tensor.getElementType());
}

void Backward::activate(ValueRange sources, Block &block) {
  active.insert(sources.begin(), sources.end());
  const Rules &rules = allRules();
  for (Operation &op : block) {
    // Those of branches and bodies, too.
    bool depends = false;
    op.walk([&](Operation *inner) {
      for (OpOperand &operand : inner->getOpOperands())
        depends |= active.contains(operand.get()) && rules.isSmooth(operand);
    });
    if (depends)
      for (Value result : op.getResults())
        if (isSmoothType(result.getType()))
          active.insert(result);
  }
}

LogicalResult Backward::run(Block &block) {
  const Rules &rules = allRules();
  SmallVector<Operation *> order;
  for (Operation &op : llvm::reverse(block))
    if (llvm::any_of(op.getResults(), [&](Value result) { return active.contains(result); }))
      order.push_back(&op);
  for (Operation *op : order) {
    if (isCancelled())
      return failure();
    if (llvm::none_of(op->getResults(), [&](Value result) { return adjointOf(result); }))
      continue;
    setOp(op);
    const Rule *rule = rules.find(op);
    if (!rule)
      return hint(emitError(op, ErrorCode::UnsupportedOp) << "there is no gradient of this operator yet",
                  "name what gradients are to be taken of with --wrt, such that the loss does not depend on it through "
                  "this operator");
    if (failed((*rule)(op, *this)))
      return failure();
  }
  return success();
}

// Sums and expands until the contribution has the operand's sizes.
FailureOr<Value> Backward::fit(Value contribution, Value operand) {
  Term term = this->term(contribution);
  Sizes from = term.sizes(), to = sizesOf(operand);
  size_t more = from.size() > to.size() ? from.size() - to.size() : 0;
  SmallVector<int64_t> leading = llvm::to_vector(llvm::seq<int64_t>(0, more)), ones;
  size_t fewer = to.size() > from.size() ? to.size() - from.size() : 0;
  for (size_t i = fewer; i < to.size(); ++i) {
    AffineExpr given = from[i - fewer + more];
    if (isConstant(to[i], 1) && !isConstant(given, 1))
      ones.push_back(i - fewer + more);
    else if (given != to[i] && !isConstant(given, 1))
      return hint(emitError(op(), ErrorCode::UnsupportedShape)
                      << "whether a size of " << sizeText(to[i], symbolsFor(op())) << " is broadcast to "
                      << sizeText(given, symbolsFor(op())) << " is only known when the model runs",
                  "give the dimension a size, or a range that does not begin at 1, with --dim");
  }
  if (ones.empty())
    return Value(term.sum(leading, /*keeps=*/false).expanded(to));
  llvm::append_range(leading, ones);
  term = term.sum(leading);
  Sizes kept = to;
  for (size_t i = fewer; i < to.size(); ++i)
    kept[i] = term.sizes()[i - fewer + more];
  for (size_t i = 0; i < fewer; ++i)
    kept[i] = getAffineConstantExpr(1, to[i].getContext());
  return Value(term.reshaped(kept).expanded(to));
}

LogicalResult Backward::add(Value operand, Value contribution) {
  if (!isActive(operand))
    return success();
  FailureOr<Value> fitting = fit(contribution, operand);
  if (failed(fitting))
    return failure();
  addExact(operand, *fitting);
  return success();
}

void Backward::addExact(Value value, Value contribution) {
  Value &adjoint = adjoints[value];
  adjoint = adjoint ? Value(term(adjoint) + term(contribution)) : contribution;
}

void Backward::replace(Value old, Value now) {
  old.replaceAllUsesWith(now);
  if (active.erase(old))
    active.insert(now);
  if (Value adjoint = adjoints.lookup(old)) {
    adjoints.erase(old);
    adjoints[now] = adjoint;
  }
}

Term countOf(Backward &back, ArrayRef<AffineExpr> sizes, Type element) {
  AffineExpr count = product(sizes, element.getContext());
  if (auto known = constantSize(count))
    return back.term(makeScalar(back.builder(), back.op(), element, *known));
  return back.term(sizesOperand(back.builder(), back.op(), {count})).cast(element).reshaped({});
}

} // namespace fathom::gradient
