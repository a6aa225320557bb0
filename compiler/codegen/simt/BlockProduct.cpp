// Operands, their places in memory, and what becomes of a sum.
#include "compiler/codegen/simt/BlockProduct.h"

#include "compiler/graph/SizeMath.h"

using namespace mlir;
using namespace fathom::graph;

namespace fathom {

bool isMultiple(AffineExpr size, int64_t of) {
  std::optional<int64_t> known = constantSize(size);
  return known && *known % of == 0;
}

namespace {

// The dimension along which a tensor's elements are neighbours in memory, or those that they are computed from.
int64_t contiguousDim(Emitter &e, Value tensor) {
  auto type = cast<RankedTensorType>(tensor.getType());
  if (e.isBuffer(tensor))
    return innermostDim(type);
  Operation *op = tensor.getDefiningOp();
  if (auto transpose = dyn_cast_or_null<TransposeOp>(op)) {
    int64_t from = contiguousDim(e, transpose.getInput()), rank = type.getRank();
    for (int64_t d = 0; d < rank; ++d)
      if ((transpose.getPerm() ? (*transpose.getPerm())[d] : rank - 1 - d) == from)
        return d;
  }
  if (op && op->hasTrait<Elementwise>())
    for (Value operand : op->getOperands())
      if (isa<RankedTensorType>(operand.getType()) && sizesOf(operand) == sizesOf(type))
        return contiguousDim(e, operand);
  return innermostDim(type);
}

// Sizes as numbers of 32 bits, which are divided in a fraction of the time.
Value quotient(Code &c, Value x, AffineExpr by, bool remainder) {
  std::optional<int64_t> known = constantSize(by);
  Value y = c.expr(by);
  if (!known)
    y = c.max(y, c.i64(1));
  if (!known || *known >= INT32_MAX)
    return remainder ? c.rem(x, y) : c.div(x, y);
  if (*known == 1)
    return remainder ? c.i64(0) : x;
  Type i32 = c.b.getI32Type(), i64 = c.b.getI64Type();
  auto narrow = [&](Value value) { return c.b.createOrFold<arith::TruncIOp>(c.loc, i32, value); };
  Value result = remainder ? c.b.createOrFold<arith::RemUIOp>(c.loc, narrow(x), narrow(y))
                           : c.b.createOrFold<arith::DivUIOp>(c.loc, narrow(x), narrow(y));
  return c.b.createOrFold<arith::ExtUIOp>(c.loc, i64, result);
}

} // namespace

BlockProduct::BlockProduct(GroupKernel &k, const BlockContractSchedule &schedule)
    : type(cast<RankedTensorType>(k.anchor->getResult(0).getType())), s(schedule), e(k.e), c(k.c),
      lhs(k.anchor->getOperand(0)), rhs(k.anchor->getOperand(1)) {
  Type element = type.getElementType();
  bool isHalf = isa<FloatType>(element) && element.getIntOrFloatBitWidth() == 16;
  acc = isHalf ? Type(c.b.getF32Type()) : registerType(element);
  if (auto matmul = dyn_cast<MatMulOp>(k.anchor))
    describeMatMul(matmul);
  else
    describeConv(cast<ConvOp>(k.anchor));
  rows = iterations(rowLoops, type.getContext());
}

void BlockProduct::describeMatMul(MatMulOp op) {
  int64_t rank = type.getRank();
  Sizes right = sizesOf(rhs);
  channel = rank - 1;
  columns = sizesOf(type)[channel], depth = right[right.size() - 2];
  SmallVector<int64_t> without{channel}, kept;
  if (llvm::any_of(ArrayRef(right).drop_back(2), [](AffineExpr size) { return !isConstant(size, 1); }))
    llvm::append_range(without, llvm::seq<int64_t>(0, rank - 2));
  rowLoops = loopsOver(type, {}, without);
  if (without.size() > 1) {
    kept.push_back(channel);
    if (rank > 1)
      kept.push_back(rank - 2);
    batchLoops = loopsOver(type, {}, kept);
  }
  batches = iterations(batchLoops, type.getContext());
}

void BlockProduct::describeConv(ConvOp op) {
  if (!isa<NoneType>(op.getBias().getType()))
    bias = op.getBias();
  window = *getWindow(op);
  channel = 1;
  batches = getAffineConstantExpr(op.getGroup(), type.getContext());
  columns = size::simplified(sizesOf(type)[1].floorDiv(op.getGroup()));
  depth = sizesOf(rhs)[1];
  for (int64_t taps : window->kernel)
    depth = size::simplified(depth * taps);
  rowLoops = loopsOver(type, {}, {channel});
}

// Neighbouring steps are channels of the same tap where they are fetched together, and all of a block where it divides
// the channels: then all items have that tap.
BlockProduct::Tap BlockProduct::tapOf(const BlockOperand::Step &step) {
  AffineExpr channels = sizesOf(rhs)[1];
  bool isShared = isMultiple(channels, s.blockK);
  Value first = isShared ? step.block : c.add(step.block, step.inBlock);
  Tap tap{{}, quotient(c, first, channels, true)};
  if (isShared)
    tap.channel = c.add(tap.channel, step.inBlock);
  Value rest = quotient(c, first, channels, false);
  for (size_t d = window->kernel.size(); d-- > 0;) {
    AffineExpr size = getAffineConstantExpr(window->kernel[d], type.getContext());
    tap.taps.insert(tap.taps.begin(), d ? quotient(c, rest, size, true) : rest);
    rest = d ? quotient(c, rest, size, false) : rest;
  }
  return tap;
}

void BlockProduct::enterBatch(Value batch) {
  batchIndex = e.zeros(type.getRank());
  if (window)
    channelGroup = batch;
  else
    delinearize(c, batch, batchLoops, batchIndex);
}

Indices BlockProduct::rowIndex(Value row) {
  Indices index = batchIndex;
  delinearize(c, row, rowLoops, index);
  return index;
}

Value BlockProduct::columnIndex(Value column) {
  return window ? c.add(c.mul(channelGroup, c.expr(columns)), column) : column;
}

BlockOperand::Place BlockProduct::leftPlace(ArrayRef<Index> row, const BlockOperand::Step &step, bool mayBeEmpty) {
  if (!window) {
    Sizes sizes = sizesOf(lhs);
    Indices index;
    int64_t rank = sizes.size(), skip = type.getRank() - rank;
    for (int64_t d = 0; d + 1 < rank; ++d)
      index.push_back(isConstant(sizes[d], 1) ? Index{c.i64(0)} : row[skip + d]);
    index.push_back({c.add(step.block, step.inBlock)});
    return {index, {}};
  }
  Tap tap = tapOf(step);
  Indices index{row[0], {c.add(c.mul(channelGroup, c.expr(sizesOf(rhs)[1])), tap.channel)}};
  Value isInside;
  for (size_t d = 0; d < window->kernel.size(); ++d) {
    Value at = c.add(row[2 + d].base, c.mul(tap.taps[d], window->dilations[d]));
    if (window->padsBegin[d] || window->padsEnd[d]) {
      Value inside = c.cmp(arith::CmpIPredicate::ult, at, e.size(lhs, 2 + d));
      isInside = isInside ? c.both(isInside, inside) : inside;
    }
    index.push_back({at});
  }
  if (isInside && !mayBeEmpty)
    for (size_t d = 0; d < window->kernel.size(); ++d)
      index[2 + d].base = c.select(isInside, index[2 + d].base, c.i64(0));
  return {index, isInside};
}

BlockOperand::Place BlockProduct::rightPlace(Value column, const BlockOperand::Step &step) {
  if (!window) {
    Indices index = e.broadcast(cast<RankedTensorType>(rhs.getType()), batchIndex);
    index[index.size() - 2] = {c.add(step.block, step.inBlock)}, index.back() = {column};
    return {index, {}};
  }
  Tap tap = tapOf(step);
  Indices index{{columnIndex(column)}, {tap.channel}};
  for (Value at : tap.taps)
    index.push_back({at});
  return {index, {}};
}

int64_t BlockProduct::vectorOf(Value operand, AffineExpr neighbours, int64_t block) {
  int64_t most = operandAlignment / elementBytes(getElementTypeOrSelf(operand.getType()));
  for (int64_t vector = std::min<int64_t>(8, most); vector >= 4; vector /= 2)
    if (isMultiple(neighbours, vector) && block % vector == 0)
      return vector;
  return 1;
}

BlockOperand BlockProduct::left() {
  int64_t dim = contiguousDim(e, lhs), rank = cast<RankedTensorType>(lhs.getType()).getRank();
  int64_t depthDim = window ? 1 : rank - 1;
  bool alongDepth = dim < 0 || dim == depthDim;
  if (alongDepth)
    dim = depthDim;
  AffineExpr neighbours = alongDepth         ? (window ? sizesOf(rhs)[1] : depth)
                          : rowLoops.empty() ? rows
                                             : rowLoops.back().size;
  // Rows that follow each other are neighbours in the operand where the innermost loop goes along them.
  bool follow = alongDepth || (!window && !rowLoops.empty() && rowLoops.back().dim - (type.getRank() - rank) == dim);
  SmallVector<int64_t> all = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  bool mayBeEmpty = bool(e.isNonEmpty(lhs, window ? ArrayRef(all) : ArrayRef(depthDim)));
  int64_t vector = follow && !mayBeEmpty ? vectorOf(lhs, neighbours, alongDepth ? s.blockK : s.blockM) : 1;
  auto locate = [this](Value row) {
    Indices index = rowIndex(row);
    if (window)
      for (size_t d = 0; d < window->kernel.size(); ++d)
        index[2 + d].base = c.sub(c.mul(index[2 + d].base, window->strides[d]), c.i64(window->padsBegin[d]));
    return index;
  };
  auto place = [=, this](ArrayRef<Index> at, const BlockOperand::Step &step) {
    return leftPlace(at, step, mayBeEmpty);
  };
  return {lhs, dim, s.blockM, rows, depth, mayBeEmpty, alongDepth, vector, locate, place};
}

BlockOperand BlockProduct::right() {
  int64_t dim = contiguousDim(e, rhs), rank = cast<RankedTensorType>(rhs.getType()).getRank();
  int64_t depthDim = window ? 1 : rank - 2;
  bool alongDepth = dim == depthDim;
  if (!alongDepth)
    dim = window ? 0 : rank - 1;
  AffineExpr neighbours = !alongDepth ? columns : window ? sizesOf(rhs)[1] : depth;
  bool mayBeEmpty = bool(e.isNonEmpty(rhs, depthDim));
  int64_t vector = mayBeEmpty ? 1 : vectorOf(rhs, neighbours, alongDepth ? s.blockK : s.blockN);
  auto locate = [](Value column) { return Indices{{column}}; };
  auto place = [this](ArrayRef<Index> at, const BlockOperand::Step &step) { return rightPlace(at[0].base, step); };
  return {rhs, dim, s.blockN, columns, depth, mayBeEmpty, alongDepth, vector, locate, place};
}

Value BlockProduct::widened(Value value) {
  return value.getType() == acc ? value : Value(arith::ExtFOp::create(c.b, c.loc, acc, value));
}

Value BlockProduct::finished(Value sum, Value columnIndex) {
  if (bias) {
    Value of = widened(e.element(bias, Index{columnIndex}, 1));
    sum = isa<FloatType>(acc) ? Value(arith::AddFOp::create(c.b, c.loc, sum, of)) : c.add(sum, of);
  }
  Type element = registerType(type.getElementType());
  return element == acc ? sum : Value(arith::TruncFOp::create(c.b, c.loc, element, sum));
}

} // namespace fathom
