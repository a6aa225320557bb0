// Expresses ops by the few that have kernels of their own, and drops ops that change nothing.
#include "compiler/graph/SizeMath.h"
#include "compiler/graph/Views.h"
#include "compiler/passes/Decompose.h"
#include "compiler/passes/Passes.h"

#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;
using namespace fathom::graph;

namespace fathom {
#define GEN_PASS_DEF_CANONICALIZEOPSPASS
#include "compiler/passes/Passes.h.inc"

namespace {

template <typename Op> struct Rewrite : OpRewritePattern<Op> {
  using Function = LogicalResult (*)(Op, PatternRewriter &);
  Rewrite(MLIRContext *context, Function function) : OpRewritePattern<Op>(context), function(function) {}
  LogicalResult matchAndRewrite(Op op, PatternRewriter &rewriter) const override { return function(op, rewriter); }
  Function function;
};

int64_t rankOf(Value value) { return cast<RankedTensorType>(value.getType()).getRank(); }

LogicalResult dropIdentity(IdentityOp op, PatternRewriter &rewriter) {
  rewriter.replaceOp(op, op.getInput());
  return success();
}

LogicalResult dropSameCast(CastOp op, PatternRewriter &rewriter) {
  if (op.getInput().getType() != op.getType())
    return failure();
  rewriter.replaceOp(op, op.getInput());
  return success();
}

template <typename Op> LogicalResult dropSameShape(Op op, PatternRewriter &rewriter) {
  if (op.getInput().getType() != op.getType())
    return failure();
  rewriter.replaceOp(op, op.getInput());
  return success();
}

LogicalResult mergeTransposes(TransposeOp op, PatternRewriter &rewriter) {
  int64_t rank = rankOf(op.getInput());
  auto permOf = [rank](TransposeOp t) {
    if (t.getPerm())
      return llvm::to_vector(*t.getPerm());
    return llvm::to_vector(llvm::reverse(llvm::seq<int64_t>(0, rank)));
  };
  SmallVector<int64_t> perm = permOf(op);
  if (llvm::equal(perm, llvm::seq<int64_t>(0, rank))) {
    rewriter.replaceOp(op, op.getInput());
    return success();
  }
  auto inner = op.getInput().getDefiningOp<TransposeOp>();
  if (!inner)
    return failure();
  SmallVector<int64_t> first = permOf(inner), both;
  for (int64_t p : perm)
    both.push_back(first[p]);
  auto merged = createNamed<TransposeOp>(rewriter, op, "", inner.getInput(), rewriter.getDenseI64ArrayAttr(both));
  rewriter.replaceOp(op, merged);
  return success();
}

Value transpose(PatternRewriter &rewriter, Operation *like, Value matrix, StringRef suffix) {
  return createNamed<TransposeOp>(rewriter, like, suffix, matrix, rewriter.getDenseI64ArrayAttr({1, 0}));
}

LogicalResult expandGemm(GemmOp op, PatternRewriter &rewriter) {
  Value lhs = op.getTransA() ? transpose(rewriter, op, op.getLhs(), ".a") : op.getLhs();
  Value rhs = op.getTransB() ? transpose(rewriter, op, op.getRhs(), ".b") : op.getRhs();
  Type element = op.getType().getElementType();
  bool hasBias = !isa<NoneType>(op.getBias().getType());
  auto scaled = [&](Value x, const APFloat &factor, StringRef suffix) -> Value {
    if (factor.isExactlyValue(1.0))
      return x;
    Value constant;
    if (isa<FloatType>(element))
      constant = makeScalar(rewriter, op, element, factor.convertToDouble());
    else
      constant =
          makeConstant(rewriter, op,
                       DenseElementsAttr::get(RankedTensorType::get({}, element),
                                              rewriter.getIntegerAttr(element, int64_t(factor.convertToDouble()))));
    return createNamed<MulOp>(rewriter, op, suffix, x, constant);
  };
  bool plain = op.getAlpha().isExactlyValue(1.0) && !hasBias;
  Value result = createNamed<MatMulOp>(rewriter, op, plain ? "" : ".product", lhs, rhs);
  result = scaled(result, op.getAlpha(), hasBias ? ".alpha" : "");
  if (hasBias) {
    Value bias = scaled(op.getBias(), op.getBeta(), ".beta");
    result = createNamed<AddOp>(rewriter, op, "", result, bias);
  }
  rewriter.replaceOp(op, result);
  return success();
}

// A vector operand is a matrix of one row or column.
LogicalResult expandVectorMatMul(MatMulOp op, PatternRewriter &rewriter) {
  int64_t left = rankOf(op.getLhs()), right = rankOf(op.getRhs());
  if (left > 1 && right > 1)
    return failure();
  Value lhs = op.getLhs(), rhs = op.getRhs();
  SmallVector<int64_t> dropped;
  if (left == 1)
    lhs = createNamed<UnsqueezeOp>(rewriter, op, ".lhs", lhs, makeInts(rewriter, op, {0}));
  if (right == 1)
    rhs = createNamed<UnsqueezeOp>(rewriter, op, ".rhs", rhs, makeInts(rewriter, op, {1}));
  Value product = createNamed<MatMulOp>(rewriter, op, ".product", lhs, rhs);
  if (left == 1)
    dropped.push_back(rankOf(product) - 2);
  if (right == 1)
    dropped.push_back(rankOf(product) - 1);
  rewriter.replaceOp(op, createNamed<SqueezeOp>(rewriter, op, "", product, makeInts(rewriter, op, dropped)));
  return success();
}

// Whether folding makes a constant of it.
bool isWeight(Value value) {
  while (Operation *op = value.getDefiningOp())
    if (isReshape(op) || isa<TransposeOp>(op))
      value = op->getOperand(0);
    else
      return isConstantValue(value);
  return false;
}

// A product with one column of weights, or of two vectors, is a sum for every row: vectors along the rows waste no
// lanes, and need no panels of one column and zeros. Columns of a transposed matrix are no rows, and other matrices of
// one column may be an attention's.
LogicalResult sumOneColumn(MatMulOp op, PatternRewriter &rewriter) {
  Sizes left = sizesOf(op.getLhs()), right = sizesOf(op.getRhs());
  Type element = op.getType().getElementType();
  if (left.size() < 2 || right.size() < 2 || !isConstant(right.back(), 1) || !(element.isF32() || element.isF64()) ||
      op.getLhs().getDefiningOp<TransposeOp>() || !(isWeight(op.getRhs()) || isConstant(*(left.end() - 2), 1)))
    return failure();
  std::swap(*(right.end() - 2), right.back());
  Value row = reshape(rewriter, op, ".row", op.getRhs(), right);
  Value products = createNamed<MulOp>(rewriter, op, ".products", op.getLhs(), row);
  rewriter.replaceOp(op, createNamed<ReduceSumOp>(rewriter, op, "", products,
                                                  makeInts(rewriter, op, {rankOf(products) - 1}),
                                                  rewriter.getI64IntegerAttr(1), rewriter.getI64IntegerAttr(0)));
  return success();
}

template <typename Pool, typename Reduce> LogicalResult expandGlobalPool(Pool op, PatternRewriter &rewriter) {
  SmallVector<int64_t> axes = llvm::to_vector(llvm::seq<int64_t>(2, rankOf(op.getInput())));
  auto reduce = createNamed<Reduce>(rewriter, op, "", op.getInput(), makeInts(rewriter, op, axes),
                                    rewriter.getI64IntegerAttr(1), rewriter.getI64IntegerAttr(0));
  rewriter.replaceOp(op, reduce);
  return success();
}

// Operands without elements, and concatenations of one.
LogicalResult dropEmptyParts(ConcatOp op, PatternRewriter &rewriter) {
  int64_t axis = *normalizeAxis(op.getAxis(), op.getType().getRank());
  SmallVector<Value> parts;
  for (Value input : op.getInputs())
    if (!isConstant(sizesOf(input)[axis], 0))
      parts.push_back(input);
  if (parts.size() == 1 && parts[0].getType() == op.getType()) {
    rewriter.replaceOp(op, parts[0]);
    return success();
  }
  // The result's other sizes are those of its first operand.
  auto fits = [&](Value first) {
    Sizes sizes = sizesOf(first);
    sizes[axis] = sizesOf(op.getType())[axis];
    return sizes == sizesOf(op.getType());
  };
  if (parts.empty() || parts.size() == op.getInputs().size() || !fits(parts[0]))
    return failure();
  rewriter.modifyOpInPlace(op, [&] { op.getInputsMutable().assign(parts); });
  return success();
}

// The range along `axis` that a slice takes of its input, and all of the other dimensions; null if it is another slice.
std::optional<SliceRange> rangeAlong(Value value, int64_t axis) {
  auto slice = value.getDefiningOp<SliceOp>();
  if (!slice)
    return std::nullopt;
  auto ranges = getSlice(slice);
  if (failed(ranges))
    return std::nullopt;
  for (auto [d, size] : llvm::enumerate(sizesOf(slice.getInput())))
    if (int64_t(d) != axis && ((*ranges)[d].size != size || (*ranges)[d].step != 1))
      return std::nullopt;
  return (*ranges)[axis].step == 1 ? std::optional((*ranges)[axis]) : std::nullopt;
}

// Parts that were cut from one tensor and follow each other in it are one part.
LogicalResult joinSlices(ConcatOp op, PatternRewriter &rewriter) {
  int64_t axis = *normalizeAxis(op.getAxis(), op.getType().getRank());
  SmallVector<Value> parts{op.getInputs().front()};
  for (Value next : op.getInputs().drop_front()) {
    auto before = rangeAlong(parts.back(), axis), range = rangeAlong(next, axis);
    Value input = before ? parts.back().getDefiningOp()->getOperand(0) : Value();
    auto low = before ? constantSize(before->start) : std::nullopt;
    auto middle = range ? constantSize(range->start) : std::nullopt;
    auto length = before ? constantSize(before->size) : std::nullopt;
    auto more = range ? constantSize(range->size) : std::nullopt;
    bool follows =
        low && middle && length && more && *low + *length == *middle && next.getDefiningOp()->getOperand(0) == input;
    if (!follows) {
      parts.push_back(next);
      continue;
    }
    if (*low == 0 && isConstant(sizesOf(input)[axis], *middle + *more))
      parts.back() = input;
    else
      parts.back() = createNamed<SliceOp>(rewriter, next.getDefiningOp(), ".joined", input,
                                          makeInts(rewriter, op, {*low}), makeInts(rewriter, op, {*middle + *more}),
                                          makeInts(rewriter, op, {axis}), makeNone(rewriter, op.getLoc()));
  }
  if (parts.size() == op.getInputs().size())
    return failure();
  rewriter.modifyOpInPlace(op, [&] { op.getInputsMutable().assign(parts); });
  return success();
}

LogicalResult expandSplit(SplitOp op, PatternRewriter &rewriter) {
  int64_t axis = *normalizeAxis(op.getAxis(), rankOf(op.getInput()));
  SmallVector<Value> parts;
  AffineExpr start = getAffineConstantExpr(0, op.getContext());
  for (auto [i, part] : llvm::enumerate(op.getParts())) {
    AffineExpr extent = sizesOf(part)[axis];
    std::string name = "." + std::to_string(i);
    auto from = constantSize(start), length = constantSize(extent);
    if (from && length && constantSize(sizesOf(op.getInput())[axis]))
      parts.push_back(createNamed<SliceOp>(rewriter, op, name, op.getInput(), makeInts(rewriter, op, {*from}),
                                           makeInts(rewriter, op, {*from + *length}), makeInts(rewriter, op, {axis}),
                                           makeNone(rewriter, op.getLoc())));
    else
      // The parts fill the axis, which was checked: each lies inside it, whatever the symbols are.
      parts.push_back(createNamed<DynamicSliceOp>(
          rewriter, op, name, op.getInput(), sizesOperand(rewriter, op, {start}), sizesOperand(rewriter, op, {extent}),
          rewriter.getDenseI64ArrayAttr({axis}), rewriter.getDenseI64ArrayAttr({1})));
    start = size::add(start, extent);
    if (!start)
      return failure();
  }
  rewriter.replaceOp(op, parts);
  return success();
}

// Replaces an op whose integer elements are known at compile time by a constant, or by expressions over the symbols.
struct FoldKnownElements : RewritePattern {
  FoldKnownElements(MLIRContext *context) : RewritePattern(MatchAnyOpTypeTag(), /*benefit=*/10, context) {}
  LogicalResult matchAndRewrite(Operation *op, PatternRewriter &rewriter) const override {
    if (!isa<ShapeOpInterface>(op) || isa<ConstantOp>(op) || op->getNumResults() != 1)
      return failure();
    auto type = dyn_cast<RankedTensorType>(op->getResult(0).getType());
    if (!type || !type.hasStaticShape() || !isa<IntegerType>(type.getElementType()))
      return failure();
    auto elements = elementsOf(op->getResult(0));
    if (!elements)
      return failure();
    unsigned width = type.getElementType().getIntOrFloatBitWidth();
    SmallVector<APInt> values;
    unsigned symbols = 0;
    for (AffineExpr element : *elements) {
      if (auto constant = constantSize(element))
        values.push_back(APInt(width, *constant, /*isSigned=*/true, /*implicitTrunc=*/true));
      element.walk([&](AffineExpr part) {
        if (auto symbol = dyn_cast<AffineSymbolExpr>(part))
          symbols = std::max(symbols, symbol.getPosition() + 1);
      });
    }
    if (isa<SizesOp>(op) && values.size() < elements->size())
      return failure();
    if (values.size() == elements->size())
      rewriter.replaceOpWithNewOp<ConstantOp>(op, type, DenseElementsAttr::get(type, values));
    else
      rewriter.replaceOpWithNewOp<SizesOp>(op, type, AffineMap::get(0, symbols, *elements, op->getContext()));
    return success();
  }
};

struct CanonicalizeOpsPass : impl::CanonicalizeOpsPassBase<CanonicalizeOpsPass> {
  LogicalResult runOnFunction(func::FuncOp main) override {
    MLIRContext *context = &getContext();
    RewritePatternSet patterns(context);
    auto add = [&]<typename Op>(LogicalResult (*function)(Op, PatternRewriter &)) {
      patterns.add(std::make_unique<Rewrite<Op>>(context, function));
    };
    add(dropIdentity);
    add(dropSameCast);
    add(dropSameShape<ExpandOp>);
    add(dropSameShape<ReshapeOp>);
    add(dropEmptyParts);
    add(joinSlices);
    add(mergeTransposes);
    add(expandGemm);
    add(expandVectorMatMul);
    add(sumOneColumn);
    add(expandGlobalPool<GlobalAveragePoolOp, ReduceMeanOp>);
    add(expandGlobalPool<GlobalMaxPoolOp, ReduceMaxOp>);
    add(expandSplit);
    patterns.add<FoldKnownElements>(context);
    populateDecomposeNormalization(patterns);
    populateDecomposeMovement(patterns);
    return success(succeeded(applyPatternsGreedily(main, std::move(patterns))) && succeeded(settleTypes(main)));
  }
};

} // namespace
} // namespace fathom
