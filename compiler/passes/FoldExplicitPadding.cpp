// Moves a Pad in front of a window into the window's own padding, which costs no copy.
#include "compiler/passes/Passes.h"

#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;
using namespace fathom::graph;

namespace fathom {
#define GEN_PASS_DEF_FOLDEXPLICITPADDINGPASS
#include "compiler/passes/Passes.h.inc"

namespace {

// The number that the padding consists of, where it is known.
std::optional<double> paddingOf(PadOp pad) {
  auto type = cast<RankedTensorType>(pad.getInput().getType());
  if (pad.getMode() != "constant" || !isa<FloatType>(type.getElementType()))
    return std::nullopt;
  if (isa<NoneType>(pad.getConstantValue().getType()))
    return 0;
  auto constant = pad.getConstantValue().getDefiningOp<ConstantOp>();
  auto value = constant ? dyn_cast<DenseElementsAttr>(constant.getValue()) : DenseElementsAttr();
  if (!value || value.getNumElements() != 1)
    return std::nullopt;
  APFloat number = *value.value_begin<APFloat>();
  return number.convertToDouble();
}

// What is added before and behind each spatial dimension (all befores first), where nothing else is and nothing is cut
// away.
std::optional<SmallVector<int64_t>> spatialPads(PadOp pad) {
  int64_t rank = cast<RankedTensorType>(pad.getInput().getType()).getRank();
  auto given = constantElementsOf(pad.getPads());
  auto axes = isa<NoneType>(pad.getAxes().getType()) ? llvm::to_vector(llvm::seq<int64_t>(0, rank))
                                                     : constantElementsOf(pad.getAxes());
  if (!given || !axes || rank < 3)
    return std::nullopt;
  SmallVector<int64_t> pads(2 * (rank - 2), 0);
  for (auto [i, axis] : llvm::enumerate(*axes))
    for (int64_t side : {0, 1}) {
      int64_t amount = (*given)[i + side * axes->size()], dim = *normalizeAxis(axis, rank);
      if (amount < 0 || (amount > 0 && dim < 2))
        return std::nullopt;
      if (dim >= 2)
        pads[side * (rank - 2) + dim - 2] = amount;
    }
  return pads;
}

template <typename Op> struct FoldPad : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;
  LogicalResult matchAndRewrite(Op op, PatternRewriter &rewriter) const override {
    auto pad = op.getInput().template getDefiningOp<PadOp>();
    if (!pad || op.getAutoPad().starts_with("SAME"))
      return failure();
    std::optional<double> padding = paddingOf(pad), own = ownPadding(op);
    std::optional<SmallVector<int64_t>> pads = spatialPads(pad);
    if (!padding || !own || !pads || *padding != *own)
      return failure();
    if (op.getPads())
      for (auto [sum, before] : llvm::zip(*pads, *op.getPads()))
        sum += before;
    rewriter.modifyOpInPlace(op, [&] {
      op.getInputMutable().assign(pad.getInput());
      op.setPads(*pads);
      op.setAutoPad("NOTSET");
      op->setLoc(rewriter.getFusedLoc({pad.getLoc(), op->getLoc()}));
    });
    return success();
  }

  // The number that the window's own padding stands for, if there is one. Positions of maxima would count from another
  // origin, and a rounded-up result might reach farther.
  static std::optional<double> ownPadding(ConvOp) { return 0; }
  static std::optional<double> ownPadding(MaxPoolOp op) {
    if (op.getCeilMode() || op.getIndices())
      return std::nullopt;
    return -std::numeric_limits<double>::infinity();
  }
};

struct FoldExplicitPaddingPass : impl::FoldExplicitPaddingPassBase<FoldExplicitPaddingPass> {
  LogicalResult runOnFunction(func::FuncOp function) override {
    RewritePatternSet patterns(&getContext());
    patterns.add<FoldPad<ConvOp>, FoldPad<MaxPoolOp>>(&getContext());
    return success(succeeded(applyPatternsGreedily(function, std::move(patterns))) && succeeded(settleTypes(function)));
  }
};

} // namespace
} // namespace fathom
