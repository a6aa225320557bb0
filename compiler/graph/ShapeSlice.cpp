// Slice: resolves negative, too large and symbolic indices to ranges inside the tensor.
#include "compiler/graph/ShapeSupport.h"

using namespace mlir;

namespace fathom::graph {
namespace {

// Whether comparisons hold is asked of the symbols' ranges; what they leave open is collected.
struct Resolver {
  const SymbolList &symbols;
  SmallVector<AffineExpr> needs;
  // A slice of a symbolic dimension may be clamped for some of its sizes, which are as legal as the others.
  bool onlyStatic = false;

  bool isAtLeast(AffineExpr a, AffineExpr b) { return size::isAtLeast(a, b, symbols); }
  void need(AffineExpr a, AffineExpr b) {
    if (!isAtLeast(a, b))
      needs.push_back(size::sub(a, b));
  }

  // An index into a dimension of `size` elements, clamped to [low, high].
  AffineExpr index(AffineExpr given, AffineExpr size, AffineExpr low, AffineExpr high) {
    // Exporters write "to the end" as the largest integer; adding a size to it would overflow.
    if (std::optional<int64_t> constant = constantSize(given)) {
      if (*constant > maxElements)
        return high;
      if (*constant < -maxElements)
        return low;
    }
    if (size::upperBound(given, symbols).value_or(0) < 0)
      given = size::add(given, size);
    else
      need(given, getAffineConstantExpr(0, given.getContext()));
    if (isAtLeast(given, high))
      return high;
    if (isAtLeast(low, given))
      return low;
    need(given, low);
    need(high, given);
    return given;
  }

  SliceRange range(AffineExpr start, AffineExpr end, AffineExpr size, int64_t step) {
    AffineExpr zero = getAffineConstantExpr(0, size.getContext()), last = size::add(size, -1);
    bool isForward = step > 0;
    start = index(start, size, zero, isForward ? size : last);
    end = index(end, size, isForward ? zero : size::add(zero, -1), isForward ? size : last);
    AffineExpr span = isForward ? size::sub(end, start) : size::sub(start, end);
    if (isAtLeast(zero, span))
      return {start, zero, step};
    need(span, zero);
    return {start, size::ceilDiv(span, isForward ? step : -step), step};
  }
};

FailureOr<SmallVector<SliceRange>> resolve(SliceOp op, Resolver &resolver) {
  Sizes sizes = sizesOf(op.getInput());
  FailureOr<Elements> starts = neededElements(op, op.getStarts(), "starts"),
                      ends = neededElements(op, op.getEnds(), "ends");
  if (failed(starts) || failed(ends))
    return failure();
  SmallVector<int64_t> axes = llvm::to_vector(llvm::seq<int64_t>(0, starts->size())), steps(starts->size(), 1);
  for (auto [operand, list, name] :
       {std::tuple(op.getAxes(), &axes, "axes"), std::tuple(op.getSteps(), &steps, "steps")}) {
    if (isAbsent(operand))
      continue;
    FailureOr<SmallVector<int64_t>> constants = neededConstants(op, operand, name);
    if (failed(constants))
      return failure();
    *list = *constants;
  }
  if (ends->size() != starts->size() || axes.size() != starts->size() || steps.size() != starts->size())
    return emitError(op, ErrorCode::BadShape)
           << "starts, ends, axes and steps have " << starts->size() << ", " << ends->size() << ", " << axes.size()
           << " and " << steps.size() << " elements";
  FailureOr<SmallVector<int64_t>> normal = checkAxes(op, axes, sizes.size());
  if (failed(normal))
    return failure();
  SmallVector<SliceRange> ranges;
  for (AffineExpr size : sizes)
    ranges.push_back({getAffineConstantExpr(0, op.getContext()), size, 1});
  for (auto [index, axis] : llvm::enumerate(*normal)) {
    if (resolver.onlyStatic && !constantSize(sizes[axis]))
      continue;
    if (steps[index] == 0)
      return emitError(op, ErrorCode::BadAttribute) << "step 0 along axis " << axis;
    // A larger step takes one element as this one does.
    int64_t step = std::clamp(steps[index], -maxElements, maxElements);
    ranges[axis] = resolver.range((*starts)[index], (*ends)[index], sizes[axis], step);
  }
  return ranges;
}

} // namespace

SmallVector<AffineExpr> sliceNeeds(Operation *op, const SymbolList &symbols) {
  auto slice = cast<SliceOp>(op);
  // Only for its findings: errors are reported by the shape function.
  ScopedDiagnosticHandler quiet(op->getContext(), [](Diagnostic &) { return success(); });
  Resolver resolver{symbols, {}, /*onlyStatic=*/true};
  return failed(resolve(slice, resolver)) ? SmallVector<AffineExpr>() : resolver.needs;
}

FailureOr<SmallVector<SliceRange>> getSlice(Operation *op) {
  SymbolList symbols = symbolsFor(op);
  Resolver resolver{symbols, {}};
  FailureOr<SmallVector<SliceRange>> ranges = resolve(cast<SliceOp>(op), resolver);
  if (failed(ranges) || resolver.needs.empty())
    return ranges;
  return hint(emitError(op, ErrorCode::UnsupportedShape) << "the slice lies inside its tensor only where "
                                                         << text(op, resolver.needs[0]) << " is not negative",
              "declare a range for the symbolic dimension");
}

LogicalResult SliceOp::inferTypes(SmallVectorImpl<Type> &types) {
  FailureOr<SmallVector<SliceRange>> ranges = getSlice(*this);
  if (failed(ranges))
    return failure();
  Sizes sizes;
  for (const SliceRange &range : *ranges)
    sizes.push_back(range.size);
  return addResult(*this, types, sizes, elementOf(getInput()));
}

} // namespace fathom::graph
