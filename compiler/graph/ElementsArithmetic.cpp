// Arithmetic on elements that are known at compile time, exact where they are constants and symbolic where they are
// sizes.
#include "compiler/graph/ShapeSupport.h"

#include "llvm/Support/CheckedArithmetic.h"

using namespace mlir;

namespace fathom::graph {
namespace {

// Null for a constant that the element type cannot hold: the op would wrap around there.
AffineExpr inRange(AffineExpr value, Type type) {
  std::optional<int64_t> constant = constantSize(value);
  if (!constant)
    return value;
  auto integer = cast<IntegerType>(type);
  unsigned width = integer.getWidth();
  bool isSigned = integer.isSignless() && width > 1;
  bool fits = isSigned ? llvm::isIntN(width, *constant)
                       : *constant >= 0 && (width == 64 || llvm::isUIntN(width, uint64_t(*constant)));
  return fits ? value : AffineExpr();
}

// Calls `function` with the elements at every index of the broadcast operands; it returns null for what is not known.
template <typename Function> std::optional<Elements> forEach(Operation *op, Function function) {
  if (!isa<IntegerType>(elementOf(op->getOperand(0))))
    return std::nullopt;
  SmallVector<Elements> operands;
  SmallVector<Sizes> shapes;
  for (Value operand : op->getOperands()) {
    std::optional<Elements> elements = elementsOf(operand);
    if (!elements)
      return std::nullopt;
    operands.push_back(*elements);
    shapes.push_back(sizesOf(operand));
  }
  std::optional<Sizes> shape = broadcastSizes(shapes, op->getContext());
  if (!shape)
    return std::nullopt;
  SmallVector<int64_t> sizes;
  int64_t count = 1;
  for (AffineExpr size : *shape) {
    sizes.push_back(*constantSize(size));
    count *= sizes.back();
    if (count > 1024)
      return std::nullopt;
  }
  Elements result;
  for (int64_t flat = 0; flat < count; ++flat) {
    SmallVector<AffineExpr, 3> arguments;
    for (auto [elements, own] : llvm::zip_equal(operands, shapes)) {
      int64_t rest = flat, position = 0, stride = 1;
      for (size_t i = 0; i < sizes.size(); ++i) {
        size_t dim = sizes.size() - 1 - i;
        int64_t index = rest % sizes[dim], ownSize = i < own.size() ? *constantSize(own[own.size() - 1 - i]) : 1;
        rest /= sizes[dim];
        position += ownSize == 1 ? 0 : index * stride;
        stride *= ownSize;
      }
      arguments.push_back(elements[position]);
    }
    AffineExpr element = function(arguments);
    if (!element)
      return std::nullopt;
    result.push_back(element);
  }
  return result;
}

template <typename Function> std::optional<Elements> arithmetic(Operation *op, Function function) {
  Type type = elementOf(op->getOperand(0));
  return forEach(op, [&](ArrayRef<AffineExpr> x) {
    AffineExpr result = function(x[0], x[1]);
    return result ? inRange(result, type) : AffineExpr();
  });
}

// `holds` and `fails` say for a range [low, high] of the difference of the operands whether the comparison is certain.
template <typename Holds, typename Fails> std::optional<Elements> comparison(Operation *op, Holds holds, Fails fails) {
  SymbolList symbols = symbolsFor(op);
  return forEach(op, [&](ArrayRef<AffineExpr> x) -> AffineExpr {
    AffineExpr difference = size::sub(x[0], x[1]);
    int64_t low = size::lowerBound(difference, symbols).value_or(INT64_MIN),
            high = size::upperBound(difference, symbols).value_or(INT64_MAX);
    if (!difference || (!holds(low, high) && !fails(low, high)))
      return {};
    return getAffineConstantExpr(holds(low, high), op->getContext());
  });
}

AffineExpr divide(AffineExpr a, AffineExpr b, const SymbolList &symbols) {
  std::optional<int64_t> x = constantSize(a), y = constantSize(b);
  if (x && y)
    return *y == 0 || (*x == INT64_MIN && *y == -1) ? AffineExpr() : getAffineConstantExpr(*x / *y, a.getContext());
  if (AffineExpr quotient = size::exactDiv(a, b))
    return quotient;
  // Rounding down is rounding towards zero only where nothing is negative.
  bool isNonNegative = size::lowerBound(a, symbols).value_or(-1) >= 0 && size::lowerBound(b, symbols).value_or(0) >= 1;
  return isNonNegative ? size::floorDiv(a, b) : AffineExpr();
}

AffineExpr remainder(AffineExpr a, AffineExpr b, bool signOfDividend, const SymbolList &symbols) {
  std::optional<int64_t> x = constantSize(a), y = constantSize(b);
  if (x && y) {
    if (*y == 0 || *y == -1)
      return *y ? getAffineConstantExpr(0, a.getContext()) : AffineExpr();
    int64_t rest = *x % *y;
    bool isOtherSign = !signOfDividend && rest && (rest < 0) != (*y < 0);
    return getAffineConstantExpr(isOtherSign ? rest + *y : rest, a.getContext());
  }
  bool isNonNegative = size::lowerBound(a, symbols).value_or(-1) >= 0 && size::lowerBound(b, symbols).value_or(0) >= 1;
  return isNonNegative ? size::sub(a, size::mul(size::floorDiv(a, b), b)) : AffineExpr();
}

} // namespace

std::optional<Elements> AddOp::elements() {
  return arithmetic(*this, [](AffineExpr a, AffineExpr b) { return size::add(a, b); });
}
std::optional<Elements> SubOp::elements() {
  return arithmetic(*this, [](AffineExpr a, AffineExpr b) { return size::sub(a, b); });
}
std::optional<Elements> MulOp::elements() {
  return arithmetic(*this, [](AffineExpr a, AffineExpr b) { return size::mul(a, b); });
}
std::optional<Elements> NegOp::elements() {
  Type type = elementOf(getInput());
  return forEach(*this, [&](ArrayRef<AffineExpr> x) {
    AffineExpr result = size::mul(x[0], -1);
    return result ? inRange(result, type) : AffineExpr();
  });
}
std::optional<Elements> DivOp::elements() {
  SymbolList symbols = symbolsFor(*this);
  return arithmetic(*this, [&](AffineExpr a, AffineExpr b) { return divide(a, b, symbols); });
}
std::optional<Elements> ModOp::elements() {
  SymbolList symbols = symbolsFor(*this);
  return arithmetic(*this, [&](AffineExpr a, AffineExpr b) { return remainder(a, b, getFmod() != 0, symbols); });
}
std::optional<Elements> MaxOp::elements() {
  SymbolList symbols = symbolsFor(*this);
  return arithmetic(*this, [&](AffineExpr a, AffineExpr b) {
    return size::isAtLeast(a, b, symbols) ? a : size::isAtLeast(b, a, symbols) ? b : AffineExpr();
  });
}
std::optional<Elements> MinOp::elements() {
  SymbolList symbols = symbolsFor(*this);
  return arithmetic(*this, [&](AffineExpr a, AffineExpr b) {
    return size::isAtLeast(a, b, symbols) ? b : size::isAtLeast(b, a, symbols) ? a : AffineExpr();
  });
}

std::optional<Elements> NotOp::elements() {
  return forEach(*this, [&](ArrayRef<AffineExpr> x) {
    std::optional<int64_t> input = constantSize(x[0]);
    return input ? getAffineConstantExpr(!*input, getContext()) : AffineExpr();
  });
}
std::optional<Elements> AndOp::elements() {
  return forEach(*this, [&](ArrayRef<AffineExpr> x) {
    bool isFalse = isConstant(x[0], 0) || isConstant(x[1], 0), isTrue = constantSize(x[0]) && constantSize(x[1]);
    return isFalse || isTrue ? getAffineConstantExpr(!isFalse, getContext()) : AffineExpr();
  });
}
std::optional<Elements> OrOp::elements() {
  return forEach(*this, [&](ArrayRef<AffineExpr> x) {
    bool isTrue = isConstant(x[0], 1) || isConstant(x[1], 1), isFalse = constantSize(x[0]) && constantSize(x[1]);
    return isTrue || isFalse ? getAffineConstantExpr(isTrue, getContext()) : AffineExpr();
  });
}

std::optional<Elements> EqualOp::elements() {
  return comparison(
      *this, [](int64_t low, int64_t high) { return low == 0 && high == 0; },
      [](int64_t low, int64_t high) { return low > 0 || high < 0; });
}
std::optional<Elements> GreaterOp::elements() {
  return comparison(
      *this, [](int64_t low, int64_t) { return low > 0; }, [](int64_t, int64_t high) { return high <= 0; });
}
std::optional<Elements> GreaterOrEqualOp::elements() {
  return comparison(
      *this, [](int64_t low, int64_t) { return low >= 0; }, [](int64_t, int64_t high) { return high < 0; });
}
std::optional<Elements> LessOp::elements() {
  return comparison(
      *this, [](int64_t, int64_t high) { return high < 0; }, [](int64_t low, int64_t) { return low >= 0; });
}
std::optional<Elements> LessOrEqualOp::elements() {
  return comparison(
      *this, [](int64_t, int64_t high) { return high <= 0; }, [](int64_t low, int64_t) { return low > 0; });
}

std::optional<Elements> WhereOp::elements() {
  return forEach(*this, [](ArrayRef<AffineExpr> x) {
    if (x[1] == x[2])
      return x[1];
    std::optional<int64_t> condition = constantSize(x[0]);
    return !condition ? AffineExpr() : *condition ? x[1] : x[2];
  });
}

std::optional<Elements> CastOp::elements() {
  Type to = getTo();
  if (!isa<IntegerType>(to))
    return std::nullopt;
  bool isBool = to.isSignlessInteger(1);
  SymbolList symbols = symbolsFor(*this);
  if (!isa<FloatType>(elementOf(getInput())))
    return forEach(*this, [&](ArrayRef<AffineExpr> x) {
      if (!isBool)
        return inRange(x[0], to);
      bool isTrue = size::lowerBound(x[0], symbols).value_or(0) > 0 || size::upperBound(x[0], symbols).value_or(0) < 0;
      return isTrue || isConstant(x[0], 0) ? getAffineConstantExpr(isTrue, getContext()) : AffineExpr();
    });
  std::optional<SmallVector<double>> floats = constantFloatsOf(getInput());
  if (!floats)
    return std::nullopt;
  Elements result;
  for (double value : *floats) {
    if (!(std::abs(value) <= double(maxElements)))
      return std::nullopt;
    AffineExpr element = getAffineConstantExpr(isBool ? value != 0 : int64_t(value), getContext());
    if (!inRange(element, to))
      return std::nullopt;
    result.push_back(element);
  }
  return result;
}

std::optional<Elements> ReduceProdOp::elements() {
  std::optional<Elements> input = isa<IntegerType>(elementOf(getInput())) ? elementsOf(getInput()) : std::nullopt;
  // Only the product of everything: that is the number of elements of a shape.
  bool isTotal = rankOf(getInput()) == 1 &&
                 (isAbsent(getAxes()) ? !getNoopWithEmptyAxes()
                                      : !sizesOf(getAxes()).empty() && isConstant(sizesOf(getAxes())[0], 1));
  if (!input || !isTotal)
    return std::nullopt;
  AffineExpr total = product(*input, getContext());
  total = total ? inRange(total, elementOf(getInput())) : total;
  return total ? std::optional(Elements{total}) : std::nullopt;
}

} // namespace fathom::graph
