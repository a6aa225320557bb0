// Rules of reductions and of softmax.
#include "compiler/passes/gradient/Rules.h"

#include "compiler/graph/SizeMath.h"

using namespace mlir;
using namespace fathom::graph;

namespace fathom::gradient {
namespace {

struct Reduced {
  SmallVector<int64_t> axes;
  Sizes kept; // of the result, as if its axes had stayed
};

template <typename Op> Reduced reducedBy(Op op) {
  Sizes sizes = sizesOf(op.getInput());
  Reduced reduced;
  if (!isa<NoneType>(op.getAxes().getType()))
    if (auto axes = constantElementsOf(op.getAxes()))
      for (int64_t axis : *axes)
        reduced.axes.push_back(*normalizeAxis(axis, sizes.size()));
  if (reduced.axes.empty() && !op.getNoopWithEmptyAxes())
    reduced.axes = llvm::to_vector(llvm::seq<int64_t>(0, sizes.size()));
  llvm::sort(reduced.axes);
  reduced.kept = sizes;
  for (int64_t axis : reduced.axes)
    reduced.kept[axis] = getAffineConstantExpr(1, op.getContext());
  return reduced;
}

// The rule of a reduction by a formula of its slopes, from the input, the result with its axes, and the axes.
template <typename Op, Value (*slope)(Term adjoint, Term x, Term y, ArrayRef<int64_t> axes)>
LogicalResult followReduction(Op op, Backward &back) {
  return back.addIfActive(op.getInput(), [&] {
    Reduced reduced = reducedBy(op);
    return slope(back.adjoint().reshaped(reduced.kept), back.term(op.getInput()),
                 back.term(op.getResult()).reshaped(reduced.kept), reduced.axes);
  });
}

Value sumSlope(Term adjoint, Term, Term, ArrayRef<int64_t>) { return adjoint; }
Value l1Slope(Term adjoint, Term x, Term, ArrayRef<int64_t>) { return adjoint * sign(x); }
// The root of nothing but zeros has no slope; 0 is one of many.
Value l2Slope(Term adjoint, Term x, Term y, ArrayRef<int64_t>) {
  Term isZero = y == 0;
  return isZero.choose(y.number(0), adjoint / isZero.choose(y.number(1), y)) * x;
}
Value logSumSlope(Term adjoint, Term, Term y, ArrayRef<int64_t>) { return adjoint * exp(-y); }
Value logSumExpSlope(Term adjoint, Term x, Term y, ArrayRef<int64_t>) { return adjoint * exp(x - y); }
Value sumSquareSlope(Term adjoint, Term x, Term, ArrayRef<int64_t>) { return 2 * adjoint * x; }
// Equal ones share.
Value extremeSlope(Term adjoint, Term x, Term y, ArrayRef<int64_t> axes) {
  Term chosen = (x == y).choose(x.number(1), x.number(0));
  return (adjoint / chosen.sum(axes)) * chosen;
}
// The product of all others: of a factor that is zero, that of the rest.
Value productSlope(Term adjoint, Term x, Term, ArrayRef<int64_t> axes) {
  Term isZero = x == 0, zeros = isZero.choose(x.number(1), x.number(0)).sum(axes), rest = isZero.choose(x.number(1), x);
  Emitter &ops = x.ops();
  Term others = rest.apply<ReduceProdOp>(ops.ints(axes), ops.attr(1), ops.attr(0));
  Term where = (zeros == 1).choose(others, others.number(0)), none = (zeros == 0).choose(others, others.number(0));
  return adjoint * isZero.choose(where, none / rest);
}

LogicalResult addMean(ReduceMeanOp op, Backward &back) {
  return back.addIfActive(op.getInput(), [&] {
    Reduced reduced = reducedBy(op);
    Sizes sizes = sizesOf(op.getInput()), along;
    for (int64_t axis : reduced.axes)
      along.push_back(sizes[axis]);
    Term adjoint = back.adjoint().reshaped(reduced.kept);
    return adjoint / countOf(back, along, adjoint.type().getElementType());
  });
}

template <typename Op> int64_t axisOf(Op op) { return *normalizeAxis(op.getAxis(), op.getType().getRank()); }

LogicalResult addSoftmax(SoftmaxOp op, Backward &back) {
  return back.addIfActive(op.getInput(), [&] {
    Term y = back.term(op.getResult()), part = back.adjoint() * y;
    return part - y * part.sum(axisOf(op));
  });
}

LogicalResult addLogSoftmax(LogSoftmaxOp op, Backward &back) {
  return back.addIfActive(op.getInput(), [&] {
    Term adjoint = back.adjoint();
    return adjoint - exp(back.term(op.getResult())) * adjoint.sum(axisOf(op));
  });
}

} // namespace

void addReductionRules(Rules &rules) {
  rules.add(followReduction<ReduceL1Op, l1Slope>);
  rules.add(followReduction<ReduceL2Op, l2Slope>);
  rules.add(followReduction<ReduceLogSumOp, logSumSlope>);
  rules.add(followReduction<ReduceLogSumExpOp, logSumExpSlope>);
  rules.add(followReduction<ReduceMaxOp, extremeSlope>);
  rules.add(followReduction<ReduceMinOp, extremeSlope>);
  rules.add(followReduction<ReduceProdOp, productSlope>);
  rules.add(followReduction<ReduceSumOp, sumSlope>);
  rules.add(followReduction<ReduceSumSquareOp, sumSquareSlope>);
  rules.add(addLogSoftmax);
  rules.add(addMean);
  rules.add(addSoftmax);
  rules.addFlat<ArgMaxOp, ArgMinOp, HardmaxOp>();
}

} // namespace fathom::gradient
