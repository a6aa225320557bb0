// Narrows the ranges of symbols to where the model is defined: position_ids[:seq] of 512 positions means that seq is at
// most 512. The runtime checks the ranges, so what is assumed here is refused there instead of being read out of
// bounds.
#include "compiler/graph/ShapeSupport.h"

using namespace mlir;

namespace fathom::graph {

static std::optional<unsigned> onlySymbolOf(AffineExpr expr) {
  std::optional<unsigned> result;
  bool isOnly = true;
  expr.walk([&](AffineExpr part) {
    if (auto symbol = dyn_cast<AffineSymbolExpr>(part)) {
      isOnly &= !result || *result == symbol.getPosition();
      result = symbol.getPosition();
    }
  });
  return isOnly ? result : std::nullopt;
}

// Makes `expr` not negative where one symbol decides about it and it changes its sign once.
static bool restrict(SymbolList &symbols, AffineExpr expr) {
  if (!expr || size::lowerBound(expr, symbols).value_or(-1) >= 0)
    return false;
  std::optional<unsigned> position = onlySymbolOf(expr);
  if (!position || *position >= symbols.size())
    return false;
  SmallVector<int64_t> values(*position + 1, 1);
  auto holds = [&](int64_t value) {
    values[*position] = value;
    return size::evaluate(expr, values).value_or(-1) >= 0;
  };
  Symbol before = symbols[*position], symbol = before;
  int64_t low = symbol.min, high = symbol.max;
  bool holdsBelow = holds(low);
  if (low >= high || holdsBelow == holds(high))
    return false;
  while (high - low > 1) {
    int64_t middle = low + (high - low) / 2;
    (holds(middle) == holdsBelow ? low : high) = middle;
  }
  (holdsBelow ? symbol.max : symbol.min) = holdsBelow ? low : high;
  symbols.set(*position, symbol);
  if (size::lowerBound(expr, symbols).value_or(-1) >= 0)
    return true;
  symbols.set(*position, before);
  return false;
}

// What a run says whose input is too small for the window along a dimension.
static std::string tooSmall(const Window &window, size_t dim) {
  int64_t kernel = effectiveKernel(window, dim - 2), begin = window.padsBegin[dim - 2], end = window.padsEnd[dim - 2];
  std::string text = ("dimension " + Twine(dim) + " of the input is too small for a window of " + Twine(kernel)).str();
  if (begin || end)
    text += (" with pads " + Twine(begin) + " and " + Twine(end)).str();
  return text;
}

static bool isInBranch(Operation *op) { return op->getParentOfType<IfOp>() || op->getParentOfType<LoopOp>(); }

void narrowSymbols(Operation *op, ArrayRef<Type> types) {
  SymbolList symbols = symbolsFor(op);
  if (symbols.empty())
    return;
  struct Need {
    AffineExpr notNegative;
    std::string why;
  };
  SmallVector<Need> needs;
  if (types.empty()) {
    if (isa<SliceOp>(op))
      for (AffineExpr need : sliceNeeds(op, symbols))
        needs.push_back({need, ""});
  } else {
    // A window that does not fit gives a result of no size, which ONNX does not define. No images are no problem.
    FailureOr<Window> window = failure();
    if (op->hasTrait<Windowed>())
      window = getWindow(op);
    for (Type type : types)
      for (auto [dim, size] : llvm::enumerate(sizesOf(cast<RankedTensorType>(type)))) {
        bool isWindow = succeeded(window) && dim >= 2;
        needs.push_back({isWindow ? size::add(size, -1) : size, isWindow ? tooSmall(*window, dim) : ""});
      }
  }
  bool isChanged = false;
  for (auto &[need, why] : needs) {
    // A branch that is not taken says nothing about what the model can run on. And where data decides about a window,
    // the node says so, not the one that decided.
    if (!isInBranch(op) && !(need && !why.empty() && isComputed(need, symbols)))
      isChanged |= restrict(symbols, need);
    if (need && !types.empty())
      assumeAtLeast(need, getAffineConstantExpr(0, op->getContext()), why);
  }
  Operation *holder = op;
  while (isChanged && !holder->hasAttr(symbolsAttrName))
    holder = holder->getParentOp();
  if (isChanged)
    setSymbols(holder, symbols);
}

} // namespace fathom::graph
