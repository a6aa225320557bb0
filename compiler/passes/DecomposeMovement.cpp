// Rearrangements of blocks as a transpose between two reshapes.
#include "compiler/passes/Decompose.h"

using namespace mlir;
using namespace fathom::graph;

namespace fathom {

Value sizesOperand(OpBuilder &b, Operation *like, ArrayRef<AffineExpr> sizes) {
  SmallVector<int64_t> constants;
  unsigned symbols = 0;
  for (AffineExpr size : sizes) {
    if (auto constant = constantSize(size))
      constants.push_back(*constant);
    size.walk([&](AffineExpr part) {
      if (auto symbol = dyn_cast<AffineSymbolExpr>(part))
        symbols = std::max(symbols, symbol.getPosition() + 1);
    });
  }
  if (constants.size() == sizes.size())
    return makeInts(b, like, constants);
  auto type = RankedTensorType::get({int64_t(sizes.size())}, b.getI64Type());
  return SizesOp::create(b, like->getLoc(), type, AffineMap::get(0, symbols, sizes, like->getContext()));
}

Value reshape(OpBuilder &b, Operation *like, StringRef suffix, Value input, ArrayRef<AffineExpr> sizes) {
  // A zero is a size here, not "as it was".
  return createNamed<ReshapeOp>(b, like, suffix, input, sizesOperand(b, like, sizes), b.getI64IntegerAttr(1));
}

namespace {

template <typename Op>
LogicalResult shuffle(Op op, PatternRewriter &rewriter, ArrayRef<AffineExpr> split, ArrayRef<int64_t> perm) {
  Value blocks = reshape(rewriter, op, ".blocks", op.getInput(), split);
  Value moved = createNamed<TransposeOp>(rewriter, op, ".moved", blocks, rewriter.getDenseI64ArrayAttr(perm));
  rewriter.replaceOp(op, reshape(rewriter, op, "", moved, sizesOf(op.getType())));
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
