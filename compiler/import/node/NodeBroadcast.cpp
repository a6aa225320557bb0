// Broadcasting of sizes that are only known when the model runs, of which one may turn out to be 1. The ops themselves
// take symbolic sizes that meet to be the same; where they need not be, the operands are expanded to a common size
// first, and that they go together is checked at run time.
#include "compiler/graph/Graph.h"
#include "compiler/graph/SizeMath.h"
#include "compiler/graph/Traits.h"
#include "compiler/import/node/Node.h"

using namespace mlir;

namespace fathom::importer {

static llvm::SmallBitVector symbolsIn(AffineExpr size) {
  llvm::SmallBitVector used;
  graph::collectSymbols(size, used);
  return used;
}

static bool isMany(AffineExpr size, const graph::SymbolList &symbols) {
  return graph::size::lowerBound(size, symbols).value_or(0) >= 2;
}

// Two expressions over the same symbols are one size, computed in two ways: the rows of an image that was halved and
// doubled and those of the image itself. Taking these to be the same keeps what is known about them, unless
// they cannot be. And two sizes that cannot be 1 must be equal.
bool Node::areMeantEqual(AffineExpr a, AffineExpr b) {
  if (graph::size::same(a, b) || (graph::constantSize(a) && graph::constantSize(b)))
    return true;
  graph::SymbolList symbols = this->symbols();
  if (graph::constantSize(a) || graph::constantSize(b))
    return isMany(graph::constantSize(a) ? b : a, symbols);
  llvm::SmallBitVector x = symbolsIn(a), y = symbolsIn(b);
  x.resize(std::max(x.size(), y.size()));
  y.resize(x.size());
  // Twice a size is larger, too, but for none.
  auto isLarger = [&](AffineExpr larger, AffineExpr smaller) {
    return graph::size::isAtLeast(larger, graph::size::add(smaller, 1), symbols) ||
           graph::size::isAtLeast(larger, graph::size::mul(smaller, 2), symbols);
  };
  bool areOneSize = x == y && !isLarger(a, b) && !isLarger(b, a);
  return areOneSize || (isMany(a, symbols) && isMany(b, symbols));
}

AffineExpr Node::commonSize(AffineExpr a, AffineExpr b) {
  // Whatever the other is, it must be 1 or the same.
  if (graph::constantSize(a) || graph::constantSize(b))
    return graph::constantSize(a) && !graph::isConstant(a, 1) ? a : b;
  graph::SymbolList symbols = this->symbols();
  if (isMany(a, symbols) || isMany(b, symbols))
    return isMany(a, symbols) ? a : b;
  auto partsOf = [&](AffineExpr size) {
    auto found = session.parts.find(size);
    return found == session.parts.end() ? SmallVector<AffineExpr>{size} : found->second;
  };
  SmallVector<AffineExpr> ofA = partsOf(a), ofB = partsOf(b);
  auto covers = [](ArrayRef<AffineExpr> whole, ArrayRef<AffineExpr> parts) {
    return llvm::all_of(parts, [&](AffineExpr part) { return llvm::is_contained(whole, part); });
  };
  if (covers(ofA, ofB))
    return a;
  if (covers(ofB, ofA))
    return b;
  for (auto key : {std::pair(a, b), std::pair(b, a)})
    if (auto found = session.common.find(key); found != session.common.end())
      return found->second;
  auto isPositive = [&](AffineExpr size) {
    return session.parts.contains(size) || graph::size::lowerBound(size, symbols).value_or(0) >= 1;
  };
  AffineExpr size;
  bool isEverywhere = true;
  // With both positive, (a*a + b*b) / (a + b), rounded up, is b for a = 1, a for b = 1 and both where they are the
  // same.
  if (isPositive(a) && isPositive(b) && !graph::isComputed(a, symbols) && !graph::isComputed(b, symbols)) {
    AffineExpr sum = graph::size::add(a, b);
    AffineExpr squares = graph::size::add(graph::size::mul(a, a), graph::size::mul(b, b));
    size = graph::size::floorDiv(graph::size::add(graph::size::add(squares, sum), -1), sum);
  }
  if (!size) {
    Value x = sizesValue({a}, false, "size"), y = sizesValue({b}, false, "size");
    Value isOne = emit("Equal", {x, ints({1}, "one")}, {}, "is_one");
    Value known = pinned(emit("Where", {isOne, y, x}, {}, "common"), "common");
    std::optional<graph::Elements> elements = known ? graph::elementsOf(known) : std::nullopt;
    if (!elements)
      return {};
    size = elements->front();
    // A size that is computed in a branch or loop has no value outside of it.
    isEverywhere = session.builder.getInsertionBlock() == &session.main.getBody().front();
  }
  if (isEverywhere)
    session.common[{a, b}] = size;
  for (AffineExpr part : ofB)
    if (!llvm::is_contained(ofA, part))
      ofA.push_back(part);
  session.parts[size] = std::move(ofA);
  return size;
}

Value Node::expanded(Value value, ArrayRef<AffineExpr> sizes) {
  if (llvm::is_contained(sizes, AffineExpr()))
    return {};
  return emit("Expand", {value, sizesValue(sizes, false, "sizes")}, {}, "expanded");
}

// Expands `value` to `sizes` along the dimensions where it may have 1 instead.
Value Node::expandedWhereOne(Value value, ArrayRef<AffineExpr> sizes) {
  graph::Sizes own = graph::sizesOf(value);
  if (own.size() > sizes.size())
    return value;
  bool isChanged = false;
  for (auto [size, target] : llvm::zip_equal(own, sizes.take_back(own.size()))) {
    // A constant other than 1 must be the same.
    if (graph::constantSize(size) || areMeantEqual(size, target))
      continue;
    size = target;
    isChanged = true;
  }
  return isChanged ? expanded(value, own) : value;
}

// Brings operands that broadcast against each other, but for their last `skipped` dimensions, to common sizes where
// these are not meant to be equal.
bool Node::alignOperands(MutableArrayRef<Value> operands, size_t skipped) {
  auto sizeFromEnd = [&](Value operand, size_t i) -> AffineExpr {
    auto type = dyn_cast<RankedTensorType>(operand.getType());
    return type && i < size_t(type.getRank()) ? graph::sizesOf(type)[type.getRank() - 1 - i] : AffineExpr();
  };
  size_t rank = 0;
  for (Value operand : operands)
    if (auto type = dyn_cast<RankedTensorType>(operand.getType()))
      rank = std::max<size_t>(rank, type.getRank());
  llvm::SmallDenseMap<size_t, AffineExpr> targets;
  for (size_t i = skipped; i < rank; ++i) {
    SmallVector<AffineExpr> sizes;
    for (Value operand : operands)
      if (AffineExpr size = sizeFromEnd(operand, i); size && !graph::isConstant(size, 1))
        sizes.push_back(size);
    if (sizes.empty())
      continue;
    // A known size is what all others have or are expanded to.
    auto known = llvm::find_if(sizes, [](AffineExpr size) { return graph::constantSize(size).has_value(); });
    AffineExpr common = known == sizes.end() ? sizes.front() : *known;
    bool isMixed = false;
    for (AffineExpr size : sizes) {
      if (areMeantEqual(common, size))
        continue;
      isMixed = true;
      common = commonSize(common, size);
      if (!common)
        return false;
    }
    if (isMixed)
      targets[i] = common;
  }
  for (Value &operand : operands) {
    auto type = dyn_cast<RankedTensorType>(operand.getType());
    if (!type)
      continue;
    graph::Sizes sizes = graph::sizesOf(type);
    bool isChanged = false;
    for (size_t i = 0; i < sizes.size(); ++i) {
      AffineExpr &size = sizes[sizes.size() - 1 - i], target = targets.lookup(i);
      if (!target || graph::isConstant(size, 1) || graph::size::same(size, target) ||
          (graph::constantSize(target) && areMeantEqual(size, target)))
        continue;
      size = target;
      isChanged = true;
    }
    if (isChanged && !(operand = expanded(operand, sizes)))
      return false;
  }
  return true;
}

// Where the scales and zero points of quantised products and convolutions are, and the numbers that they belong to.
struct Quantized {
  StringLiteral op;
  bool isProduct;
  unsigned left, right;
  ArrayRef<unsigned> ofLeft, ofRight;
};
static const Quantized *quantized(StringRef op) {
  static constexpr unsigned second[] = {2}, third[] = {3}, left[] = {1, 2}, right[] = {4, 5};
  static constexpr Quantized all[] = {{"MatMulInteger", true, 0, 1, second, third},
                                      {"ConvInteger", false, 0, 1, second, third},
                                      {"QLinearMatMul", true, 0, 3, left, right},
                                      {"QLinearConv", false, 0, 3, left, right}};
  const Quantized *found = llvm::find_if(all, [&](const Quantized &entry) { return entry.op == op; });
  return found == std::end(all) ? nullptr : found;
}

bool Node::alignForBroadcast(StringRef op, SmallVectorImpl<Value> &operands, ArrayRef<NamedAttribute> attrs) {
  auto isTensor = [&](size_t i, int64_t rank) {
    auto type = i < operands.size() ? dyn_cast<RankedTensorType>(operands[i].getType()) : RankedTensorType();
    return type && type.getRank() >= rank;
  };
  // Some operands only broadcast to another one, which has the result's sizes.
  auto expandTo = [&](size_t i, ArrayRef<AffineExpr> sizes) {
    return !isTensor(i, 1) || (operands[i] = expandedWhereOne(operands[i], sizes));
  };
  if (llvm::is_contained({"PRelu", "QuantizeLinear", "DequantizeLinear", "LayerNormalization", "RMSNormalization"},
                         op)) {
    if (!isTensor(0, 1))
      return true;
    graph::Sizes sizes = graph::sizesOf(operands[0]);
    return expandTo(1, sizes) && expandTo(2, sizes);
  }
  if (const Quantized *q = quantized(op)) {
    if (!isTensor(q->left, 1) || !isTensor(q->right, 1))
      return true;
    Value matrices[] = {operands[q->left], operands[q->right]};
    if (q->isProduct && isTensor(q->left, 3) && isTensor(q->right, 3) && !alignOperands(matrices, /*skipped=*/2))
      return false;
    operands[q->left] = matrices[0], operands[q->right] = matrices[1];
    graph::Sizes left = graph::sizesOf(matrices[0]), right = graph::sizesOf(matrices[1]);
    return llvm::all_of(q->ofLeft, [&](unsigned i) { return expandTo(i, left); }) &&
           llvm::all_of(q->ofRight, [&](unsigned i) { return expandTo(i, right); });
  }
  if (op == "Gemm") {
    if (!isTensor(0, 2) || !isTensor(1, 2))
      return true;
    auto isTransposed = [&](StringRef name) {
      return llvm::any_of(attrs, [&](NamedAttribute attribute) {
        auto value = dyn_cast<IntegerAttr>(attribute.getValue());
        return attribute.getName() == name && value && value.getInt() != 0;
      });
    };
    AffineExpr rows = graph::sizesOf(operands[0])[isTransposed("transA") ? 1 : 0],
               columns = graph::sizesOf(operands[1])[isTransposed("transB") ? 0 : 1];
    return expandTo(2, {rows, columns});
  }
  if (op == "MatMul")
    return !isTensor(0, 3) || !isTensor(1, 3) || alignOperands(operands, /*skipped=*/2);
  // The bounds of Clip are scalars.
  OperationName name(("graph." + op).str(), context());
  if (operands.size() < 2 || op == "Clip" || !name.hasTrait<graph::Elementwise>())
    return true;
  return alignOperands(operands, /*skipped=*/0);
}

} // namespace fathom::importer
