// Attention found by its structure alone, so that the graph and the kernel made of it agree.
#include "compiler/kernel/Attention.h"

using namespace mlir;
using namespace fathom::graph;

namespace fathom {

bool Attention::contains(Operation *op) const {
  return op == scores || op == softmax || op == product || llvm::is_contained(chain, op);
}

namespace {

// Chains are short; what is longer is not one of scale, mask and bias.
constexpr size_t longestChain = 8;
// Elements of a key or a value that a kernel keeps a tile of rows of in scratch.
constexpr int64_t deepest = 4096;

bool isFloat(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && type.getElementType().isF32();
}

// The product that a value is computed from by elementwise ops, which are noted from the last to the first.
MatMulOp findScores(Value value, const Sizes &sizes, Block *block, SmallVectorImpl<Operation *> &chain) {
  Operation *op = value.getDefiningOp();
  if (!op || op->getBlock() != block || !value.hasOneUse() || !isFloat(value) || sizesOf(value) != sizes)
    return {};
  if (auto scores = dyn_cast<MatMulOp>(op)) {
    // The product at the end of one attention does not begin another.
    bool endsAnother = scores.getLhs().getDefiningOp<SoftmaxOp>();
    return isFloat(scores.getLhs()) && isFloat(scores.getRhs()) && !endsAnother ? scores : MatMulOp();
  }
  if (!op->hasTrait<Elementwise>() || chain.size() == longestChain)
    return {};
  chain.push_back(op);
  size_t length = chain.size();
  for (Value operand : op->getOperands()) {
    if (MatMulOp scores = findScores(operand, sizes, block, chain))
      return scores;
    chain.resize(length);
  }
  return {};
}

} // namespace

std::optional<Attention> attentionOf(Operation *op) {
  auto product = dyn_cast_or_null<MatMulOp>(op);
  auto softmax = product ? product.getLhs().getDefiningOp<SoftmaxOp>() : SoftmaxOp();
  if (!softmax || softmax->getBlock() != op->getBlock() || !softmax->hasOneUse() || !isFloat(softmax.getResult()) ||
      !isFloat(product.getRhs()) || !isFloat(product.getResult()))
    return std::nullopt;
  Sizes sizes = sizesOf(softmax.getResult()), results = sizesOf(product.getResult());
  if (sizes.size() < 2 || *normalizeAxis(softmax.getAxis(), sizes.size()) != int64_t(sizes.size()) - 1)
    return std::nullopt;
  // One softmax for each batch of values: these are not shared out among more than the scores have.
  if (results.size() != sizes.size() || !llvm::equal(ArrayRef(results).drop_back(), ArrayRef(sizes).drop_back()))
    return std::nullopt;
  Attention attention;
  attention.softmax = softmax, attention.product = product;
  attention.scores = findScores(softmax.getInput(), sizes, op->getBlock(), attention.chain);
  if (!attention.scores)
    return std::nullopt;
  std::reverse(attention.chain.begin(), attention.chain.end());
  Sizes left = sizesOf(attention.scores.getLhs());
  bool areMatrices =
      left.size() >= 2 && sizesOf(attention.scores.getRhs()).size() >= 2 && sizesOf(product.getRhs()).size() >= 2;
  auto fits = [](AffineExpr size) { return constantSize(size).value_or(INT64_MAX) <= deepest; };
  if (!areMatrices || !fits(left.back()) || !fits(results.back()))
    return std::nullopt;
  return attention;
}

std::optional<Attention> attentionAround(Operation *product) {
  if (std::optional<Attention> attention = attentionOf(product))
    return attention;
  Operation *op = product;
  for (size_t length = 0; isa<MatMulOp>(product) && length <= longestChain + 2; ++length) {
    if (!op->hasOneUse() || (op != product && !op->hasTrait<Elementwise>() && !isa<SoftmaxOp>(op)))
      return std::nullopt;
    op = *op->user_begin();
    if (std::optional<Attention> attention = attentionOf(op))
      return attention->scores == product ? attention : std::nullopt;
  }
  return std::nullopt;
}

AffineExpr queriesOf(Attention attention) { return *(sizesOf(attention.softmax.getResult()).end() - 2); }
AffineExpr keysOf(Attention attention) { return sizesOf(attention.softmax.getResult()).back(); }
int64_t keyDepth(Attention attention) { return *constantSize(sizesOf(attention.scores.getLhs()).back()); }
int64_t valueDepth(Attention attention) { return *constantSize(sizesOf(attention.product.getResult()).back()); }

AffineExpr attentionRows(Operation *anchor) { return *(sizesOf(anchor->getResult(0)).end() - 2); }

} // namespace fathom
