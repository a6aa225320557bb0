// Parts of tensors in larger ones.
#include "compiler/passes/gradient/Parts.h"

#include "compiler/graph/SizeMath.h"

using namespace mlir;
using namespace fathom::graph;

namespace fathom::gradient {

Term zerosLike(Backward &back, Value value) {
  Type element = cast<RankedTensorType>(value.getType()).getElementType();
  return Term(back.ops(), makeScalar(back.builder(), back.op(), element, 0)).expanded(sizesOf(value));
}

Term unitMatrix(Backward &back, int64_t size, Type element) {
  AffineExpr count = getAffineConstantExpr(size, element.getContext()),
             one = getAffineConstantExpr(1, element.getContext());
  Term row = counted(back.ops(), count);
  Term isDiagonal = row.reshaped({count, one}) == row.reshaped({one, count});
  Term number = back.term(makeScalar(back.builder(), back.op(), element, 1));
  return isDiagonal.choose(number, number.number(0));
}

Term counted(Emitter &ops, AffineExpr count) {
  Type index = ops.builder.getI64Type();
  auto scalar = [&](int64_t value) {
    return makeConstant(ops.builder, ops.like,
                        DenseElementsAttr::get(RankedTensorType::get({}, index), ArrayRef<int64_t>(value)));
  };
  if (auto known = constantSize(count))
    return {ops, ops.ints(llvm::to_vector(llvm::seq<int64_t>(0, *known)))};
  Value limit = reshape(ops.builder, ops.like, ".gradient", sizesOperand(ops.builder, ops.like, {count}), {});
  return {ops, ops.emit<RangeOp>(scalar(0), limit, scalar(1))};
}

Term padded(Term part, int64_t axis, AffineExpr before, AffineExpr after) {
  if (isConstant(before, 0) && isConstant(after, 0))
    return part;
  Emitter &ops = part.ops();
  return part.apply<PadOp>(sizesOperand(ops.builder, ops.like, {before, after}), ops.none(), ops.ints({axis}),
                           ops.builder.getStringAttr("constant"));
}

Term sliced(Term whole, int64_t axis, AffineExpr start, AffineExpr size) {
  if (size == whole.sizes()[axis])
    return whole;
  Emitter &ops = whole.ops();
  auto from = constantSize(start), length = constantSize(size);
  if (from && length && constantSize(whole.sizes()[axis]))
    return whole.apply<SliceOp>(ops.ints({*from}), ops.ints({*from + *length}), ops.ints({axis}), ops.none());
  return whole.apply<DynamicSliceOp>(sizesOperand(ops.builder, ops.like, {start}),
                                     sizesOperand(ops.builder, ops.like, {size}),
                                     ops.builder.getDenseI64ArrayAttr({axis}), ops.builder.getDenseI64ArrayAttr({1}));
}

Term scattered(Term parts, int64_t axis, Term indices, const Sizes &sizes) {
  Emitter &ops = parts.ops();
  int64_t count = indices.rank(), rank = sizes.size();
  // The dimensions that are indexed come first.
  SmallVector<int64_t> order = llvm::to_vector(llvm::seq<int64_t>(axis, axis + count)), back;
  llvm::append_range(order, llvm::seq<int64_t>(0, axis));
  llvm::append_range(order, llvm::seq<int64_t>(axis + count, parts.rank()));
  Sizes turned{sizes[axis]}, places = indices.sizes();
  for (int64_t d = 0; d < rank; ++d)
    if (d != axis)
      turned.push_back(sizes[d]);
  places.push_back(getAffineConstantExpr(1, sizes[axis].getContext()));
  if (axis != 0)
    parts = parts.transposed(order);
  Term zeros = parts.number(0).expanded(turned);
  Term sum = zeros.apply<ScatterNDOp>(Value(indices.reshaped(places)), Value(parts), ops.builder.getStringAttr("add"));
  if (axis == 0)
    return sum;
  for (int64_t d = 0; d < rank; ++d)
    back.push_back(d == axis ? 0 : d < axis ? d + 1 : d);
  return sum.transposed(back);
}

Term multipliedAlong(Term term, int64_t axis, Term matrix) {
  int64_t last = term.rank() - 1;
  SmallVector<int64_t> order = llvm::to_vector(llvm::seq<int64_t>(0, last + 1));
  std::swap(order[axis], order[last]);
  if (axis != last)
    term = term.transposed(order);
  Term product = term.apply<MatMulOp>(Value(matrix));
  return axis == last ? product : product.transposed(order);
}

} // namespace fathom::gradient
