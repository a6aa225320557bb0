// Elements that are known at compile time, moved: shapes are taken apart, joined and put together again by these ops.
#include "compiler/graph/ShapeSupport.h"

using namespace mlir;

namespace fathom::graph {

std::optional<Elements> IdentityOp::elements() { return elementsOf(getInput()); }
std::optional<Elements> ReshapeOp::elements() { return elementsOf(getInput()); }
std::optional<Elements> SqueezeOp::elements() { return elementsOf(getInput()); }
std::optional<Elements> UnsqueezeOp::elements() { return elementsOf(getInput()); }

std::optional<Elements> ShapeOp::elements() {
  auto [begin, end] = shapeRange(*this);
  Sizes sizes = sizesOf(getInput());
  Elements result;
  for (int64_t dim = begin; dim < end; ++dim)
    result.push_back(size::canonical(sizes[dim]));
  return result;
}

std::optional<Elements> SizeOp::elements() {
  AffineExpr total = product(sizesOf(getInput()), getContext());
  return total ? std::optional(Elements{total}) : std::nullopt;
}

std::optional<Elements> ConstantOfShapeOp::elements() {
  auto type = getValue() ? dyn_cast<IntegerType>(getValue()->getElementType()) : IntegerType();
  auto value = type ? dyn_cast<DenseIntElementsAttr>(*getValue()) : DenseIntElementsAttr();
  std::optional<Elements> shape = elementsOf(getShape());
  if (!value || value.getNumElements() != 1 || !shape)
    return std::nullopt;
  std::optional<int64_t> count = constantSize(product(*shape, getContext()));
  if (!count || *count < 0 || *count > 1024)
    return std::nullopt;
  APInt bits = *value.getValues<APInt>().begin();
  bool isSigned = type.isSignless() && type.getWidth() > 1;
  if (!isSigned && bits.getActiveBits() > 63)
    return std::nullopt;
  return Elements(*count,
                  getAffineConstantExpr(isSigned ? bits.getSExtValue() : int64_t(bits.getZExtValue()), getContext()));
}

std::optional<Elements> ConcatOp::elements() {
  if (getInputs().empty() || normalizeAxis(getAxis(), rankOf(getInputs()[0])) != 0)
    return std::nullopt;
  Elements result;
  for (Value input : getInputs()) {
    std::optional<Elements> part = elementsOf(input);
    if (!part)
      return std::nullopt;
    result.append(*part);
  }
  return result;
}

std::optional<Elements> GatherOp::elements() {
  if (normalizeAxis(getAxis(), rankOf(getInput())) != 0)
    return std::nullopt;
  std::optional<Elements> input = elementsOf(getInput());
  std::optional<SmallVector<int64_t>> indices = constantElementsOf(getIndices());
  std::optional<int64_t> rows = constantSize(sizesOf(getInput())[0]);
  if (!input || !indices || !rows || *rows == 0 || input->size() * indices->size() > size_t(1024) * *rows)
    return std::nullopt;
  size_t width = input->size() / *rows;
  Elements result;
  for (int64_t index : *indices) {
    std::optional<int64_t> row = normalizeAxis(index, *rows);
    if (!row)
      return std::nullopt;
    llvm::append_range(result, ArrayRef<AffineExpr>(*input).slice(*row * width, width));
  }
  return result;
}

std::optional<Elements> SliceOp::elements() {
  std::optional<Elements> input = rankOf(getInput()) == 1 ? elementsOf(getInput()) : std::nullopt;
  if (!input)
    return std::nullopt;
  FailureOr<SmallVector<SliceRange>> ranges = getSlice(*this);
  std::optional<int64_t> start = failed(ranges) ? std::nullopt : constantSize(ranges->front().start);
  std::optional<int64_t> count = failed(ranges) ? std::nullopt : constantSize(ranges->front().size);
  if (!start || !count)
    return std::nullopt;
  Elements result;
  for (int64_t i = 0, index = *start; i < *count; ++i, index += ranges->front().step)
    result.push_back((*input)[index]);
  return result;
}

std::optional<Elements> ExpandOp::elements() {
  std::optional<Elements> input = elementsOf(getInput());
  std::optional<SmallVector<int64_t>> shape = constantElementsOf(getShape());
  // Only from one element, which needs no index arithmetic.
  if (!input || !shape || input->size() != 1)
    return std::nullopt;
  int64_t count = 1;
  for (int64_t size : *shape) {
    if (size < 0 || (size > 0 && count > 1024 / size))
      return std::nullopt;
    count *= size;
  }
  return Elements(count, input->front());
}

} // namespace fathom::graph
