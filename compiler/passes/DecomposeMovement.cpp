// Rearrangements of blocks as a transpose between two reshapes.
#include "compiler/passes/Decompose.h"

using namespace mlir;
using namespace fathom::graph;

namespace fathom {

Value reshapeOperand(PatternRewriter &rewriter, Operation *like, Value input, ArrayRef<AffineExpr> sizes) {
  SmallVector<int64_t> shape;
  for (auto [i, size] : llvm::enumerate(sizes)) {
    auto constant = constantSize(size);
    if (!constant && i == 0 && sizesOf(input)[0] == size)
      shape.push_back(0);
    else
      shape.push_back(constant.value_or(-1));
    // A zero means "keep"; an empty dimension cannot be said.
    if (constant == 0)
      return Value();
  }
  return llvm::count(shape, -1) > 1 ? Value() : makeInts(rewriter, like, shape);
}

namespace {

template <typename Op>
LogicalResult shuffle(Op op, PatternRewriter &rewriter, ArrayRef<AffineExpr> split, ArrayRef<int64_t> perm) {
  Value inner = reshapeOperand(rewriter, op, op.getInput(), split);
  Value outer = reshapeOperand(rewriter, op, op.getInput(), sizesOf(op.getType()));
  if (!inner || !outer)
    return failure();
  Value blocks = createNamed<ReshapeOp>(rewriter, op, ".blocks", op.getInput(), inner, rewriter.getI64IntegerAttr(0));
  Value moved = createNamed<TransposeOp>(rewriter, op, ".moved", blocks, rewriter.getDenseI64ArrayAttr(perm));
  rewriter.replaceOp(op, createNamed<ReshapeOp>(rewriter, op, "", moved, outer, rewriter.getI64IntegerAttr(0)));
  return success();
}

LogicalResult expandDepthToSpace(DepthToSpaceOp op, PatternRewriter &rewriter) {
  Sizes s = sizesOf(op.getInput());
  int64_t b = op.getBlocksize();
  AffineExpr block = getAffineConstantExpr(b, op.getContext()), channels = s[1].floorDiv(b * b);
  if (op.getMode() == "CRD")
    return shuffle(op, rewriter, {s[0], channels, block, block, s[2], s[3]}, {0, 1, 4, 2, 5, 3});
  return shuffle(op, rewriter, {s[0], block, block, channels, s[2], s[3]}, {0, 3, 4, 1, 5, 2});
}

LogicalResult expandSpaceToDepth(SpaceToDepthOp op, PatternRewriter &rewriter) {
  Sizes s = sizesOf(op.getInput());
  int64_t b = op.getBlocksize();
  AffineExpr block = getAffineConstantExpr(b, op.getContext());
  SmallVector<AffineExpr> split{s[0], s[1], s[2].floorDiv(b), block, s[3].floorDiv(b), block};
  if (op.getMode() == "CRD")
    return shuffle(op, rewriter, split, {0, 1, 3, 5, 2, 4});
  return shuffle(op, rewriter, split, {0, 3, 5, 1, 2, 4});
}

} // namespace

void populateDecomposeMovement(RewritePatternSet &patterns) {
  MLIRContext *context = patterns.getContext();
  patterns.add(std::make_unique<FunctionRewrite<DepthToSpaceOp>>(context, expandDepthToSpace));
  patterns.add(std::make_unique<FunctionRewrite<SpaceToDepthOp>>(context, expandSpaceToDepth));
}

} // namespace fathom
