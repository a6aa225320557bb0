// Rules of matrix products.
#include "compiler/passes/gradient/Rules.h"

#include "compiler/graph/SizeMath.h"

using namespace mlir;
using namespace fathom::graph;

namespace fathom::gradient {
namespace {

Term product(Term a, Term b) { return a.apply<MatMulOp>(Value(b)); }

// All rows of a batch as one matrix.
FailureOr<Term> rowsOf(Term batch) {
  Sizes sizes = batch.sizes();
  AffineExpr rows = graph::product(ArrayRef(sizes).drop_back(), batch.type().getContext());
  if (!rows)
    return failure();
  return batch.reshaped({rows, sizes.back()});
}

// A matrix that every entry of a batch is multiplied by is one product with all rows; sums over the batch are in it.
LogicalResult addMatMul(MatMulOp op, Backward &back) {
  Term a = back.term(op.getLhs()), b = back.term(op.getRhs()), adjoint = back.adjoint();
  if (failed(back.addIfActive(a, [&] { return product(adjoint, b.exchanged()); })))
    return failure();
  if (!back.isActive(b))
    return success();
  if (b.rank() == 2 && a.rank() > 2) {
    FailureOr<Term> rows = rowsOf(a), adjoints = rowsOf(adjoint);
    if (succeeded(rows) && succeeded(adjoints))
      return back.add(b, product(rows->exchanged(), *adjoints));
  }
  return back.add(b, product(a.exchanged(), adjoint));
}

} // namespace

void addContractionRules(Rules &rules) { rules.add(addMatMul); }

} // namespace fathom::gradient
