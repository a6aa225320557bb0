// Casts where they fuse best: a chain of casts is one, and a cast to a wider type that several ops read is one for each
// of them, so that what lies in memory between kernels is the narrow tensor.
#include "compiler/passes/Passes.h"

#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;
using namespace fathom::graph;

namespace fathom {
#define GEN_PASS_DEF_CANONICALIZECASTPASS
#include "compiler/passes/Passes.h.inc"

namespace {

Type elementOf(Value value) { return cast<RankedTensorType>(value.getType()).getElementType(); }

// Whether every number of one type is one of the other.
bool holdsAll(Type from, Type to) {
  if (from == to)
    return true;
  auto fromFloat = dyn_cast<FloatType>(from), toFloat = dyn_cast<FloatType>(to);
  auto fromInt = dyn_cast<IntegerType>(from), toInt = dyn_cast<IntegerType>(to);
  if (fromFloat && toFloat) {
    auto &narrow = fromFloat.getFloatSemantics(), &wide = toFloat.getFloatSemantics();
    return APFloat::isRepresentableBy(narrow, wide);
  }
  if (fromInt && fromInt.getWidth() == 1)
    return toFloat || toInt;
  if (fromInt && toFloat)
    return fromInt.getWidth() - !fromInt.isUnsigned() <= toFloat.getFPMantissaWidth();
  if (!fromInt || !toInt)
    return false;
  if (fromInt.isUnsigned() == toInt.isUnsigned())
    return fromInt.getWidth() <= toInt.getWidth();
  return fromInt.isUnsigned() && fromInt.getWidth() < toInt.getWidth();
}

// Cast(Cast(x)) is Cast(x) where the type between holds all numbers of x's.
struct JoinCasts : OpRewritePattern<CastOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(CastOp op, PatternRewriter &rewriter) const override {
    auto inner = op.getInput().getDefiningOp<CastOp>();
    if (!inner || !holdsAll(elementOf(inner.getInput()), elementOf(inner)))
      return failure();
    if (elementOf(inner.getInput()) == elementOf(op))
      rewriter.replaceOp(op, inner.getInput());
    else
      rewriter.modifyOpInPlace(op, [&] { op.getInputMutable().assign(inner.getInput()); });
    return success();
  }
};

bool isWidening(CastOp op) {
  return elementOf(op.getInput()).getIntOrFloatBitWidth() < elementOf(op).getIntOrFloatBitWidth();
}

struct CanonicalizeCastPass : impl::CanonicalizeCastPassBase<CanonicalizeCastPass> {
  LogicalResult runOnFunction(func::FuncOp function) override {
    RewritePatternSet patterns(&getContext());
    patterns.add<JoinCasts>(&getContext());
    if (failed(applyPatternsGreedily(function, std::move(patterns))))
      return failure();
    SmallVector<CastOp> shared;
    function.walk([&](CastOp op) {
      if (isWidening(op) && !op->hasOneUse())
        shared.push_back(op);
    });
    for (CastOp op : shared)
      giveEachItsOwn(op);
    return settleTypes(function);
  }

  // One for each reader that computes elements on demand; what others read stays one.
  void giveEachItsOwn(CastOp op) {
    SmallVector<Operation *> readers;
    for (Operation *user : op->getUsers())
      if (user->hasTrait<Elementwise>() && !llvm::is_contained(readers, user))
        readers.push_back(user);
    bool others = !llvm::all_of(op->getUsers(), [](Operation *user) { return user->hasTrait<Elementwise>(); });
    // The list of uses runs backwards.
    std::reverse(readers.begin(), readers.end());
    for (Operation *reader : ArrayRef(readers).drop_front(others || readers.empty() ? 0 : 1)) {
      OpBuilder b(reader);
      Operation *own = b.clone(*op);
      nameAfter(own, reader, ".cast");
      reader->replaceUsesOfWith(op, own->getResult(0));
    }
  }
};

} // namespace
} // namespace fathom
