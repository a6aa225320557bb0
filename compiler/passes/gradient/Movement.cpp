// Rules of operators that only move elements: adjoints move back.
#include "compiler/passes/gradient/Rules.h"

#include "compiler/graph/SizeMath.h"

using namespace mlir;
using namespace fathom::graph;

namespace fathom::gradient {
namespace {

template <typename Op> LogicalResult reshapeBack(Op op, Backward &back) {
  return back.addIfActive(op.getInput(), [&] { return back.adjoint().reshaped(sizesOf(op.getInput())); });
}

LogicalResult addIdentity(IdentityOp op, Backward &back) { return back.add(op.getInput(), back.adjoint()); }

LogicalResult addExpand(ExpandOp op, Backward &back) { return back.add(op.getInput(), back.adjoint()); }

LogicalResult addTranspose(TransposeOp op, Backward &back) {
  int64_t rank = op.getType().getRank();
  SmallVector<int64_t> order = llvm::to_vector(llvm::reverse(llvm::seq<int64_t>(0, rank))), inverse(rank);
  if (op.getPerm())
    order = llvm::to_vector(*op.getPerm());
  for (auto [to, from] : llvm::enumerate(order))
    inverse[from] = to;
  return back.addIfActive(op.getInput(), [&] { return back.adjoint().transposed(inverse); });
}

} // namespace

void addMovementRules(Rules &rules) {
  rules.add(addExpand);
  rules.add(addIdentity);
  rules.add(addTranspose);
  rules.add(reshapeBack<FlattenOp>);
  rules.add(reshapeBack<ReshapeOp>);
  rules.add(reshapeBack<SqueezeOp>);
  rules.add(reshapeBack<UnsqueezeOp>);
}

} // namespace fathom::gradient
