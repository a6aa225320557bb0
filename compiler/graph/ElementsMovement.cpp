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

// The elements at base + the sum of index * stride, for all indices below `sizes` in row-major order.
static std::optional<Elements> pick(ArrayRef<AffineExpr> input, ArrayRef<int64_t> sizes, ArrayRef<int64_t> strides,
                                    int64_t base) {
  int64_t count = 1;
  for (int64_t size : sizes) {
    if (size < 0 || (size > 0 && count > 1024 / size))
      return std::nullopt;
    count *= size;
  }
  Elements result;
  for (int64_t flat = 0; flat < count; ++flat) {
    int64_t position = base, rest = flat;
    for (size_t dim = sizes.size(); dim-- > 0; rest /= sizes[dim])
      position += rest % sizes[dim] * strides[dim];
    if (position < 0 || position >= int64_t(input.size()))
      return std::nullopt;
    result.push_back(input[position]);
  }
  return result;
}

// Row-major strides of a tensor whose elements are known, and so its sizes.
static SmallVector<int64_t> stridesOf(Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<int64_t> strides(type.getRank(), 1);
  for (int64_t dim = type.getRank() - 1; dim > 0; --dim)
    strides[dim - 1] = strides[dim] * type.getDimSize(dim);
  return strides;
}

std::optional<Elements> SliceOp::elements() {
  std::optional<Elements> input = elementsOf(getInput());
  if (!input)
    return std::nullopt;
  FailureOr<SmallVector<SliceRange>> ranges = getSlice(*this);
  if (failed(ranges))
    return std::nullopt;
  SmallVector<int64_t> sizes, strides = stridesOf(getInput());
  int64_t base = 0;
  for (auto [range, stride] : llvm::zip_equal(*ranges, strides)) {
    std::optional<int64_t> start = constantSize(range.start), size = constantSize(range.size);
    if (!start || !size)
      return std::nullopt;
    sizes.push_back(*size);
    base += *start * stride;
    // A step past the end is never taken, but may be too large to multiply.
    stride = *size > 1 ? stride * range.step : 0;
  }
  return pick(*input, sizes, strides, base);
}

std::optional<Elements> TransposeOp::elements() {
  std::optional<Elements> input = elementsOf(getInput());
  SmallVector<int64_t> perm = llvm::to_vector(llvm::reverse(llvm::seq<int64_t>(0, rankOf(getInput()))));
  if (getPerm())
    perm.assign(getPerm()->begin(), getPerm()->end());
  if (!input || int64_t(perm.size()) != rankOf(getInput()))
    return std::nullopt;
  SmallVector<int64_t> sizes, strides, old = stridesOf(getInput());
  for (int64_t axis : perm) {
    std::optional<int64_t> dim = normalizeAxis(axis, perm.size());
    if (!dim)
      return std::nullopt;
    sizes.push_back(getInput().getType().getDimSize(*dim));
    strides.push_back(old[*dim]);
  }
  return pick(*input, sizes, strides, 0);
}

std::optional<Elements> ExpandOp::elements() {
  std::optional<Elements> input = elementsOf(getInput());
  std::optional<SmallVector<int64_t>> shape = constantElementsOf(getShape());
  if (!input || !shape)
    return std::nullopt;
  ArrayRef<int64_t> own = getInput().getType().getShape();
  SmallVector<int64_t> old = stridesOf(getInput());
  size_t rank = std::max(own.size(), shape->size());
  SmallVector<int64_t> sizes(rank, 1), strides(rank, 0);
  for (size_t i = 1; i <= rank; ++i) {
    int64_t have = i <= own.size() ? own[own.size() - i] : 1,
            want = i <= shape->size() ? (*shape)[shape->size() - i] : 1;
    sizes[rank - i] = have == 1 ? want : have;
    strides[rank - i] = have == 1 ? 0 : old[old.size() - i];
  }
  return pick(*input, sizes, strides, 0);
}

std::optional<Elements> RangeOp::elements() {
  std::optional<Elements> start = elementsOf(getStart()), delta = elementsOf(getDelta());
  if (!start || !delta || start->size() != 1 || delta->size() != 1)
    return std::nullopt;
  Elements result;
  for (int64_t i = 0; i < getType().getNumElements(); ++i) {
    AffineExpr step = size::mul(delta->front(), i);
    AffineExpr element = step ? size::add(start->front(), step) : AffineExpr();
    if (!element)
      return std::nullopt;
    result.push_back(element);
  }
  return result;
}

LogicalResult SizesOp::inferTypes(SmallVectorImpl<Type> &types) {
  RankedTensorType type = getType();
  if (!type.hasStaticShape() || !isa<IntegerType>(type.getElementType()) ||
      type.getNumElements() != getValues().getNumResults())
    return fathom::emitError(getOperation(), ErrorCode::BadShape)
           << "needs an integer tensor with one element for each expression";
  types.push_back(type);
  return success();
}

std::optional<Elements> SizesOp::elements() { return Elements(getValues().getResults()); }

} // namespace fathom::graph
