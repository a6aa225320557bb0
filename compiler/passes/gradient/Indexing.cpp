// Rules of operators that choose elements by indices: what was read is added to, what was written is read.
#include "compiler/passes/gradient/Parts.h"
#include "compiler/passes/gradient/Rules.h"
#include "compiler/support/Diagnostics.h"

using namespace mlir;
using namespace fathom::graph;

namespace fathom::gradient {
namespace {

StringAttr adds(Backward &back) { return back.builder().getStringAttr("add"); }
StringAttr overwrites(Backward &back) { return back.builder().getStringAttr("none"); }

LogicalResult addGather(GatherOp op, Backward &back) {
  return back.addIfActive(op.getInput(), [&]() -> Value {
    int64_t axis = *normalizeAxis(op.getAxis(), back.term(op.getInput()).rank());
    Sizes sizes = sizesOf(op.getInput());
    auto index = constantElementsOf(op.getIndices());
    auto size = constantSize(sizes[axis]);
    if (index && index->size() == 1 && size) {
      int64_t place = index->front() < 0 ? index->front() + *size : index->front();
      Sizes one = sizes;
      one[axis] = getAffineConstantExpr(1, op.getContext());
      return padded(back.adjoint().reshaped(one), axis, getAffineConstantExpr(place, op.getContext()),
                    getAffineConstantExpr(*size - 1 - place, op.getContext()));
    }
    return scattered(back.adjoint(), axis, back.term(op.getIndices()), sizes);
  });
}

LogicalResult addGatherElements(GatherElementsOp op, Backward &back) {
  return back.addIfActive(op.getInput(), [&] {
    return zerosLike(back, op.getInput())
        .apply<ScatterElementsOp>(op.getIndices(), Value(back.adjoint()), op.getAxisAttr(), adds(back));
  });
}

// The coordinates that indices leave to their place in a batch, in front of them.
Term withBatch(Term indices, int64_t batch) {
  Sizes sizes = indices.sizes();
  sizes.back() = getAffineConstantExpr(1, indices.type().getContext());
  SmallVector<Value> parts;
  for (int64_t d = 0; d < batch; ++d) {
    Sizes along(sizes.size(), getAffineConstantExpr(1, indices.type().getContext()));
    along[d] = sizes[d];
    parts.push_back(
        counted(indices.ops(), sizes[d]).cast(indices.type().getElementType()).reshaped(along).expanded(sizes));
  }
  parts.push_back(indices);
  return {indices.ops(), indices.ops().emit<ConcatOp>(parts, indices.ops().attr(sizes.size() - 1))};
}

LogicalResult addGatherND(GatherNDOp op, Backward &back) {
  return back.addIfActive(op.getInput(), [&] {
    Term indices = back.term(op.getIndices());
    if (op.getBatchDims() > 0)
      indices = withBatch(indices, op.getBatchDims());
    return zerosLike(back, op.getInput()).apply<ScatterNDOp>(Value(indices), Value(back.adjoint()), adds(back));
  });
}

// What updates are added to or put in the place of: of the latter nothing is left in the input's adjoint, `rest`.
template <typename Op>
LogicalResult addScatter(Op op, Backward &back, function_ref<Value(Term)> rest, function_ref<Value(Term)> updates) {
  Term adjoint = back.adjoint();
  bool isSum = op.getReduction() == "add";
  if (op.getReduction() != "none" && !isSum)
    return hint(emitError(op, ErrorCode::UnsupportedOp)
                    << op->getName().stripDialect() << " has no gradient with reduction '" << op.getReduction() << "'",
                "it has one with 'none' and 'add'");
  if (failed(back.addIfActive(op.getInput(), [&] { return isSum ? Value(adjoint) : rest(adjoint); })))
    return failure();
  return back.addIfActive(op.getUpdates(), [&] { return updates(adjoint); });
}

LogicalResult addScatterElements(ScatterElementsOp op, Backward &back) {
  auto rest = [&](Term adjoint) -> Value {
    Value zeros = zerosLike(back, op.getUpdates());
    return adjoint.apply<ScatterElementsOp>(op.getIndices(), zeros, op.getAxisAttr(), overwrites(back));
  };
  return addScatter(op, back, rest, [&](Term adjoint) -> Value {
    return adjoint.apply<GatherElementsOp>(op.getIndices(), op.getAxisAttr());
  });
}

LogicalResult addScatterND(ScatterNDOp op, Backward &back) {
  auto rest = [&](Term adjoint) -> Value {
    Value zeros = zerosLike(back, op.getUpdates());
    return adjoint.apply<ScatterNDOp>(op.getIndices(), zeros, overwrites(back));
  };
  return addScatter(op, back, rest, [&](Term adjoint) -> Value {
    return adjoint.apply<GatherNDOp>(op.getIndices(), back.ops().attr(0));
  });
}

LogicalResult addTopK(TopKOp op, Backward &back) {
  if (!back.hasAdjoint(0))
    return success();
  return back.addIfActive(op.getInput(), [&] {
    return zerosLike(back, op.getInput())
        .apply<ScatterElementsOp>(op.getIndices(), Value(back.adjoint()), op.getAxisAttr(), overwrites(back));
  });
}

LogicalResult addCumSum(CumSumOp op, Backward &back) {
  return back.addIfActive(op.getInput(), [&] {
    return back.adjoint().apply<CumSumOp>(op.getAxis(), op.getExclusiveAttr(), back.ops().attr(!op.getReverse()));
  });
}

LogicalResult addTrilu(TriluOp op, Backward &back) {
  return back.addIfActive(op.getInput(), [&] { return back.adjoint().apply<TriluOp>(op.getK(), op.getUpperAttr()); });
}

LogicalResult addReverseSequence(ReverseSequenceOp op, Backward &back) {
  return back.addIfActive(op.getInput(), [&] {
    return back.adjoint().apply<ReverseSequenceOp>(op.getSequenceLens(), op.getBatchAxisAttr(), op.getTimeAxisAttr());
  });
}

} // namespace

void addIndexingRules(Rules &rules) {
  rules.add(addCumSum);
  rules.add(addGather);
  rules.add(addGatherElements);
  rules.add(addGatherND);
  rules.add(addReverseSequence);
  rules.add(addScatterElements);
  rules.add(addScatterND);
  rules.add(addTopK);
  rules.add(addTrilu);
  rules.addFlat<ShapeOp, SizeOp, EyeLikeOp, ConstantOfShapeOp, NonZeroOp, UniqueOp>();
}

} // namespace fathom::gradient
