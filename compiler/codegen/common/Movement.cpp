// Ops that move data, as functions from a result's index to an operand's.
#include "compiler/codegen/common/Emitter.h"
#include "compiler/graph/ByteProducts.h"
#include "compiler/graph/SizeMath.h"
#include "runtime/abi.h"

using namespace mlir;
using namespace fathom::graph;

namespace fathom {
namespace {

bool alongLanes(ArrayRef<Index> index) {
  return llvm::any_of(index, [](const Index &i) { return i.step != 0; });
}

Value transposed(Emitter &e, TransposeOp op, ArrayRef<Index> index, int64_t lanes) {
  Indices source = e.zeros(index.size());
  for (size_t i = 0; i < index.size(); ++i)
    source[op.getPerm() ? (*op.getPerm())[i] : index.size() - 1 - i] = index[i];
  return e.element(op.getInput(), source, lanes);
}

// Along a dimension that is 1 or as large as the result's, which of the two is only known when the model runs.
Value expanded(Emitter &e, ExpandOp op, Indices source, int64_t lanes, size_t dim = 0) {
  Code &c = e.c;
  Sizes from = sizesOf(op.getInput()), to = sizesOf(op.getType());
  size_t skipped = to.size() - from.size();
  for (; dim < from.size(); ++dim) {
    AffineExpr size = from[dim];
    if (constantSize(size) || size::same(size, to[skipped + dim]))
      continue;
    Index &at = source[dim];
    if (!at.step) {
      at.base = c.min(at.base, c.sub(c.expr(size), c.i64(1)));
      continue;
    }
    Indices first = source;
    first[dim] = {c.i64(0), 0};
    return c.when(
        c.cmp(arith::CmpIPredicate::eq, c.expr(size), c.i64(1)), [&] { return expanded(e, op, first, lanes, dim + 1); },
        [&] { return expanded(e, op, source, lanes, dim + 1); });
  }
  return e.element(op.getInput(), source, lanes);
}

Value sliced(Emitter &e, SliceOp op, ArrayRef<Index> index, int64_t lanes) {
  int64_t rank = index.size();
  auto starts = elementsOf(op.getStarts());
  auto axes = constantElementsOf(op.getAxes()), steps = constantElementsOf(op.getSteps());
  if (!starts)
    return Value();
  Sizes sizes = sizesOf(op.getInput());
  Indices source = llvm::to_vector<4>(index);
  for (size_t i = 0; i < starts->size(); ++i) {
    int64_t axis = axes ? *normalizeAxis((*axes)[i], rank) : i, step = steps ? (*steps)[i] : 1;
    Value start = e.c.expr((*starts)[i]), size = e.c.expr(sizes[axis]);
    start = e.c.select(e.c.cmp(arith::CmpIPredicate::slt, start, e.c.i64(0)), e.c.add(start, size), start);
    Value last = step > 0 ? size : e.c.sub(size, e.c.i64(1));
    start = e.c.min(e.c.max(start, e.c.i64(0)), last);
    source[axis] = {e.c.add(start, e.c.mul(index[axis].base, step)), index[axis].step * step};
  }
  return e.element(op.getInput(), source, lanes);
}

Value slicedAt(Emitter &e, DynamicSliceOp op, ArrayRef<Index> index, int64_t lanes) {
  Indices source = llvm::to_vector<4>(index);
  for (auto [i, axis, step] : llvm::enumerate(op.getAxes(), op.getSteps())) {
    int64_t d = *normalizeAxis(axis, index.size());
    Value start = e.integerAt(op.getStarts(), Indices{{e.c.i64(i), 0}});
    source[d] = {e.c.add(start, e.c.mul(index[d].base, step)), index[d].step * step};
  }
  return e.element(op.getInput(), source, lanes);
}

Value gathered(Emitter &e, GatherOp op, ArrayRef<Index> index, int64_t lanes) {
  int64_t rank = cast<RankedTensorType>(op.getInput().getType()).getRank();
  int64_t axis = *normalizeAxis(op.getAxis(), rank);
  int64_t indexRank = cast<RankedTensorType>(op.getIndices().getType()).getRank();
  ArrayRef<Index> inner = index.slice(axis, indexRank);
  if (alongLanes(inner))
    return Value();
  Indices source = llvm::to_vector<4>(index.take_front(axis));
  source.push_back({e.checkedIndex(e.integerAt(op.getIndices(), inner), e.size(op.getInput(), axis)), 0});
  llvm::append_range(source, index.drop_front(axis + indexRank));
  return e.checkedElement(op.getInput(), axis, source, lanes);
}

Value gatheredElements(Emitter &e, GatherElementsOp op, ArrayRef<Index> index, int64_t lanes) {
  if (lanes > 1)
    return Value();
  int64_t axis = *normalizeAxis(op.getAxis(), index.size());
  Indices source = llvm::to_vector<4>(index);
  source[axis] = {e.checkedIndex(e.integerAt(op.getIndices(), index), e.size(op.getInput(), axis)), 0};
  return e.checkedElement(op.getInput(), axis, source, lanes);
}

Value gatheredNd(Emitter &e, GatherNDOp op, ArrayRef<Index> index, int64_t lanes) {
  auto indices = cast<RankedTensorType>(op.getIndices().getType());
  int64_t batch = op.getBatchDims(), depth = indices.getDimSize(indices.getRank() - 1);
  ArrayRef<Index> outer = index.take_front(indices.getRank() - 1);
  if (alongLanes(outer))
    return Value();
  Indices source = llvm::to_vector<4>(index.take_front(batch));
  for (int64_t i = 0; i < depth; ++i) {
    Indices at = llvm::to_vector<4>(outer);
    at.push_back({e.c.i64(i), 0});
    source.push_back({e.checkedIndex(e.integerAt(op.getIndices(), at), e.size(op.getInput(), batch + i)), 0});
  }
  llvm::append_range(source, index.drop_front(outer.size()));
  return e.checkedElement(op.getInput(), llvm::to_vector(llvm::seq(batch, batch + depth)), source, lanes);
}

Value tiled(Emitter &e, TileOp op, ArrayRef<Index> index, int64_t lanes) {
  if (lanes > 1)
    return Value();
  Indices source;
  for (auto [d, i] : llvm::enumerate(index))
    source.push_back({e.c.rem(i.base, e.size(op.getInput(), d)), 0});
  return e.element(op.getInput(), source, lanes);
}

Value padded(Emitter &e, PadOp op, ArrayRef<Index> index, int64_t lanes) {
  int64_t rank = index.size();
  auto pads = elementsOf(op.getPads());
  auto axes = constantElementsOf(op.getAxes());
  if (!pads)
    return Value();
  Code &c = e.c;
  Indices source = llvm::to_vector<4>(index);
  SmallVector<int64_t> padded;
  Value inside;
  bool alongLanes = false;
  size_t count = pads->size() / 2;
  for (size_t i = 0; i < count; ++i) {
    int64_t axis = axes ? *normalizeAxis((*axes)[i], rank) : i;
    if (isConstant((*pads)[i], 0) && isConstant((*pads)[i + count], 0))
      continue;
    // Lanes that are all inside are read together, others one by one.
    bool isAlong = source[axis].step != 0;
    if (isAlong && (op.getMode() != "constant" || lanes > e.paddedLanes))
      return Value();
    alongLanes |= isAlong;
    Value at = c.sub(index[axis].base, c.expr((*pads)[i])), size = e.size(op.getInput(), axis),
          last = c.sub(size, c.i64(1));
    padded.push_back(axis);
    if (op.getMode() == "edge") {
      at = c.min(c.max(at, c.i64(0)), last);
    } else if (op.getMode() == "reflect") {
      // Folds the index into [0, size) with period 2 * (size - 1).
      Value period = c.max(c.mul(last, 2), c.i64(1));
      at = c.b.createOrFold<arith::RemSIOp>(c.loc, at, period);
      at = c.select(c.cmp(arith::CmpIPredicate::slt, at, c.i64(0)), c.add(at, period), at);
      at = c.select(c.cmp(arith::CmpIPredicate::sgt, at, last), c.sub(period, at), at);
    } else if (op.getMode() == "wrap") {
      // A negative pad takes elements away first, and what is left is repeated.
      auto mayCrop = [](AffineExpr pad) { return constantSize(pad).value_or(-1) < 0; };
      auto cropped = [&](AffineExpr pad) { return c.max(c.sub(c.i64(0), c.expr(pad)), c.i64(0)); };
      Value first, kept = size;
      if (mayCrop((*pads)[i])) {
        first = cropped((*pads)[i]);
        at = c.sub(at, first), kept = c.sub(kept, first);
      }
      if (mayCrop((*pads)[i + count]))
        kept = c.sub(kept, cropped((*pads)[i + count]));
      at = c.b.createOrFold<arith::RemSIOp>(c.loc, at, c.max(kept, c.i64(1)));
      at = c.select(c.cmp(arith::CmpIPredicate::slt, at, c.i64(0)), c.add(at, kept), at);
      if (first)
        at = c.add(at, first);
    } else {
      Value within = c.cmp(arith::CmpIPredicate::ult, at, size);
      if (isAlong) {
        Value end = c.add(at, source[axis].step * (lanes - 1));
        within = c.both(within, c.cmp(arith::CmpIPredicate::ult, end, size));
      }
      inside = inside ? c.both(inside, within) : within;
    }
    source[axis].base = at;
  }
  if (!inside) {
    // There is nothing to repeat of an empty tensor.
    if (Value some = e.isNonEmpty(op.getInput(), padded)) {
      Value always = arith::ConstantOp::create(c.b, c.loc, c.b.getBoolAttr(true));
      e.raise(arith::XOrIOp::create(c.b, c.loc, some, always), FATHOM_FAULT_SHAPE);
    }
    return e.checkedElement(op.getInput(), padded, source, lanes);
  }
  return c.when(
      inside, [&] { return e.element(op.getInput(), source, lanes); },
      [&] {
        if (alongLanes)
          return e.scalarized(op.getResult(), index, lanes);
        Type type = vectorType(op.getType().getElementType(), lanes);
        if (isa<NoneType>(op.getConstantValue().getType()))
          return c.number(type, 0);
        int64_t valueRank = cast<RankedTensorType>(op.getConstantValue().getType()).getRank();
        return e.element(op.getConstantValue(), e.zeros(valueRank), lanes);
      });
}

// A reshape that stays inside a kernel; views need none.
Value reshaped(Emitter &e, Value input, RankedTensorType result, ArrayRef<Index> index, int64_t lanes) {
  Code &c = e.c;
  if (lanes > 1)
    return Value();
  Sizes to = sizesOf(result), from = sizesOf(input);
  Value linear = c.i64(0);
  for (auto [d, i] : llvm::enumerate(index))
    linear = c.add(c.mul(linear, c.expr(to[d])), i.base);
  Indices source = e.zeros(from.size());
  for (int64_t d = from.size() - 1; d >= 0; --d) {
    Value size = c.expr(from[d]);
    source[d].base = d == 0 ? linear : c.rem(linear, size);
    linear = c.div(linear, size);
  }
  return e.element(input, source, lanes);
}

Value ranged(Emitter &e, RangeOp op, ArrayRef<Index> index, int64_t lanes) {
  if (lanes > 1)
    return Value();
  Code &c = e.c;
  Type type = op.getType().getElementType();
  Value start = e.element(op.getStart(), e.zeros(cast<RankedTensorType>(op.getStart().getType()).getRank()), 1);
  Value delta = e.element(op.getDelta(), e.zeros(cast<RankedTensorType>(op.getDelta().getType()).getRank()), 1);
  if (isa<FloatType>(type)) {
    Value i = arith::SIToFPOp::create(c.b, c.loc, type, index[0].base);
    return arith::AddFOp::create(c.b, c.loc, start, arith::MulFOp::create(c.b, c.loc, i, delta));
  }
  Value i = type.getIntOrFloatBitWidth() == 64
                ? index[0].base
                : Value(arith::TruncIOp::create(c.b, c.loc, registerType(type), index[0].base));
  return c.add(start, c.mul(i, delta));
}

Value triangle(Emitter &e, TriluOp op, ArrayRef<Index> index, int64_t lanes) {
  if (lanes > 1)
    return Value();
  Code &c = e.c;
  Value k = c.i64(0);
  if (auto type = dyn_cast<RankedTensorType>(op.getK().getType()))
    k = e.integerAt(op.getK(), e.zeros(type.getRank()));
  Value row = index[index.size() - 2].base, column = index.back().base;
  Value keep = c.cmp(op.getUpper() ? arith::CmpIPredicate::sge : arith::CmpIPredicate::sle, c.sub(column, row), k);
  return c.when(
      keep, [&] { return e.element(op.getInput(), index, 1); },
      [&] { return c.number(registerType(op.getType().getElementType()), 0); });
}

Value eye(Emitter &e, EyeLikeOp op, ArrayRef<Index> index, int64_t lanes) {
  if (lanes > 1)
    return Value();
  Code &c = e.c;
  Type type = registerType(op.getType().getElementType());
  Value on = c.cmp(arith::CmpIPredicate::eq, c.add(index[0].base, op.getK()), index[1].base);
  return c.select(on, c.number(type, 1), c.number(type, 0));
}

Value oneHot(Emitter &e, OneHotOp op, ArrayRef<Index> index, int64_t lanes) {
  if (lanes > 1)
    return Value();
  Code &c = e.c;
  int64_t axis = *normalizeAxis(op.getAxis(), index.size());
  Indices at = llvm::to_vector<4>(index);
  at.erase(at.begin() + axis);
  Type type = cast<RankedTensorType>(op.getIndices().getType()).getElementType();
  Value hot;
  if (isa<FloatType>(type))
    hot = arith::FPToSIOp::create(c.b, c.loc, c.b.getI64Type(), e.element(op.getIndices(), at, 1));
  else
    hot = e.integerAt(op.getIndices(), at);
  Value depth = c.expr(sizesOf(op.getResult())[axis]);
  hot = c.select(c.cmp(arith::CmpIPredicate::slt, hot, c.i64(0)), c.add(hot, depth), hot);
  Value on = c.cmp(arith::CmpIPredicate::eq, hot, index[axis].base);
  Indices which{{arith::ExtUIOp::create(c.b, c.loc, c.b.getI64Type(), on), 0}};
  return e.element(op.getValues(), which, 1);
}

Value reversed(Emitter &e, ReverseSequenceOp op, ArrayRef<Index> index, int64_t lanes) {
  int64_t time = op.getTimeAxis(), batch = op.getBatchAxis();
  if (index[time].step || index[batch].step)
    return Value();
  Code &c = e.c;
  Value length = e.integerAt(op.getSequenceLens(), Indices{index[batch]}), longest = e.size(op.getInput(), time);
  e.raise(c.cmp(arith::CmpIPredicate::ugt, length, longest), FATHOM_FAULT_INDEX);
  length = c.min(length, longest);
  Indices source = llvm::to_vector<4>(index);
  Value mirrored = c.sub(c.sub(length, c.i64(1)), index[time].base);
  source[time].base = c.select(c.cmp(arith::CmpIPredicate::slt, index[time].base, length), mirrored, index[time].base);
  return e.element(op.getInput(), source, lanes);
}

Value concatenated(Emitter &e, ConcatOp op, ArrayRef<Index> index, int64_t lanes) {
  Code &c = e.c;
  int64_t axis = *normalizeAxis(op.getAxis(), index.size());
  if (index[axis].step)
    return Value();
  // Nested choices, the last input being the one that is left.
  std::function<Value(size_t, Value)> pick = [&](size_t i, Value at) -> Value {
    Indices source = llvm::to_vector<4>(index);
    source[axis].base = at;
    Value input = op.getInputs()[i];
    if (i + 1 == op.getInputs().size())
      return e.element(input, source, lanes);
    Value size = e.size(input, axis);
    return c.when(
        c.cmp(arith::CmpIPredicate::slt, at, size), [&] { return e.element(input, source, lanes); },
        [&] { return pick(i + 1, c.sub(at, size)); });
  };
  return pick(0, index[axis].base);
}

Value filled(Emitter &e, ConstantOfShapeOp op, int64_t lanes) {
  Type element = op.getType().getElementType(), type = vectorType(element, lanes);
  auto value = dyn_cast_or_null<DenseElementsAttr>(op.getValue().value_or(nullptr));
  if (!value)
    return e.c.number(type, 0);
  if (isa<FloatType>(element))
    return e.c.number(type, (*value.value_begin<APFloat>()).convertToDouble());
  return e.c.integer(type, (*value.value_begin<APInt>()).getSExtValue());
}

// A tensor whose elements are known at compile time up to symbols.
Value known(Emitter &e, Value tensor, ArrayRef<Index> index, int64_t lanes) {
  auto elements = elementsOf(tensor);
  auto type = cast<RankedTensorType>(tensor.getType());
  if (!elements || lanes > 1 || !type.hasStaticShape() || !isa<IntegerType>(type.getElementType()))
    return Value();
  Code &c = e.c;
  Value linear = c.i64(0);
  for (auto [d, i] : llvm::enumerate(index))
    linear = c.add(c.mul(linear, type.getDimSize(d)), i.base);
  Value result = c.i64(0);
  for (auto [i, element] : llvm::enumerate(*elements))
    result = c.select(c.cmp(arith::CmpIPredicate::eq, linear, c.i64(i)), c.expr(element), result);
  unsigned bits = type.getElementType().getIntOrFloatBitWidth();
  return bits == 64 ? result : Value(arith::TruncIOp::create(c.b, c.loc, registerType(type.getElementType()), result));
}

// A few floats that say how an op works, such as scales.
Value listed(Emitter &e, DenseElementsAttr list, ArrayRef<Index> index, int64_t lanes) {
  Code &c = e.c;
  Type type = list.getElementType();
  if (lanes > 1 || index.size() != 1)
    return Value();
  Value result = c.number(type, 0);
  for (auto [i, element] : llvm::enumerate(list.getValues<APFloat>()))
    result = c.select(c.cmp(arith::CmpIPredicate::eq, index[0].base, c.i64(i)),
                      c.number(type, element.convertToDouble()), result);
  return result;
}

// Bytes are put together in lanes: lanes run along another axis, or there is one.
Value quads(Emitter &e, QuadsOp op, ArrayRef<Index> index, int64_t lanes) {
  Code &c = e.c;
  int64_t axis = *normalizeAxis(op.getAxis(), index.size());
  if (index[axis].step)
    return Value();
  Type wide = vectorType(c.b.getI32Type(), lanes);
  AffineExpr size = sizesOf(op.getInput())[axis];
  std::optional<int64_t> known = constantSize(size);
  Value first = c.mul(index[axis].base, bytesOfQuad), result = c.integer(wide, 0);
  for (int64_t byte = 0; byte < bytesOfQuad; ++byte) {
    Indices source = llvm::to_vector<4>(index);
    source[axis] = {c.add(first, byte), 0};
    auto factor = [&]() -> Value {
      return arith::ExtUIOp::create(c.b, c.loc, wide, e.element(op.getInput(), source, lanes));
    };
    bool isWhole = known && *known % bytesOfQuad == 0;
    Value there = isWhole || byte == 0 ? factor()
                                       : c.when(c.cmp(arith::CmpIPredicate::slt, source[axis].base, c.expr(size)),
                                                factor, [&] { return c.integer(wide, 0); });
    Value shifted = arith::ShLIOp::create(c.b, c.loc, there, c.integer(wide, 8 * byte));
    result = arith::OrIOp::create(c.b, c.loc, result, shifted);
  }
  return result;
}

// A constant that was taken into the kernel: one number for all elements, or a few of them.
Value constant(Emitter &e, ConstantOp op, ArrayRef<Index> index, int64_t lanes) {
  auto dense = dyn_cast<DenseElementsAttr>(op.getValue());
  if (dense && !dense.isSplat() && isa<FloatType>(dense.getElementType()))
    return listed(e, dense, index, lanes);
  if (!dense || !dense.isSplat())
    return known(e, op, index, lanes);
  Type type = vectorType(op.getType().getElementType(), lanes);
  if (isa<FloatType>(op.getType().getElementType()))
    return e.c.number(type, dense.getSplatValue<APFloat>().convertToDouble());
  return e.c.integer(type, dense.getSplatValue<APInt>().getSExtValue());
}

} // namespace

Value Emitter::moved(Operation *op, ArrayRef<Index> index, int64_t lanes) {
  return TypeSwitch<Operation *, Value>(op)
      .Case<IdentityOp, RelayoutOp>([&](auto op) { return element(op.getInput(), index, lanes); })
      .Case([&](ExpandOp op) { return expanded(*this, op, broadcast(op.getInput().getType(), index), lanes); })
      .Case([&](TransposeOp op) { return transposed(*this, op, index, lanes); })
      .Case([&](SliceOp op) { return sliced(*this, op, index, lanes); })
      .Case([&](DynamicSliceOp op) { return slicedAt(*this, op, index, lanes); })
      .Case([&](GatherOp op) { return gathered(*this, op, index, lanes); })
      .Case([&](GatherElementsOp op) { return gatheredElements(*this, op, index, lanes); })
      .Case([&](GatherNDOp op) { return gatheredNd(*this, op, index, lanes); })
      .Case([&](TileOp op) { return tiled(*this, op, index, lanes); })
      .Case([&](PadOp op) { return padded(*this, op, index, lanes); })
      .Case([&](QuadsOp op) { return quads(*this, op, index, lanes); })
      .Case([&](RangeOp op) { return ranged(*this, op, index, lanes); })
      .Case([&](TriluOp op) { return triangle(*this, op, index, lanes); })
      .Case([&](EyeLikeOp op) { return eye(*this, op, index, lanes); })
      .Case([&](OneHotOp op) { return oneHot(*this, op, index, lanes); })
      .Case([&](ReverseSequenceOp op) { return reversed(*this, op, index, lanes); })
      .Case([&](ResizeOp op) { return emitResize(*this, op, index, lanes); })
      .Case([&](ConcatOp op) { return concatenated(*this, op, index, lanes); })
      .Case([&](ConstantOfShapeOp op) { return filled(*this, op, lanes); })
      .Case([&](ConstantOp op) { return constant(*this, op, index, lanes); })
      .Case<ShapeOp, SizeOp, SizesOp>([&](auto op) { return known(*this, op, index, lanes); })
      .Default([&](Operation *op) {
        auto type = cast<RankedTensorType>(op->getResult(0).getType());
        return isReshape(op) ? reshaped(*this, op->getOperand(0), type, index, lanes) : Value();
      });
}

} // namespace fathom
