// The product of a block: its place, the operands' elements, the loop over the reduction, and what becomes of the sums.
#include "compiler/codegen/simt/BlockContract.h"

#include "compiler/graph/SizeMath.h"

using namespace mlir;
using namespace fathom::graph;

namespace fathom {
namespace {

bool isMultiple(AffineExpr size, int64_t of) {
  std::optional<int64_t> known = constantSize(size);
  return known && *known % of == 0;
}

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

BlockContraction::BlockContraction(GroupKernel &k, const BlockContractSchedule &schedule)
    : k(k), s(schedule), e(k.e), c(k.c), op(k.anchor), lhs(op->getOperand(0)), rhs(op->getOperand(1)),
      type(cast<RankedTensorType>(op->getResult(0).getType())) {
  Type element = type.getElementType();
  bool isHalf = isa<FloatType>(element) && element.getIntOrFloatBitWidth() == 16;
  acc = isHalf ? Type(c.b.getF32Type()) : registerType(element);
  columnVector = s.itemN % 4 == 0 ? 4 : 1;
  if (auto matmul = dyn_cast<MatMulOp>(op))
    describeMatMul(matmul);
  else
    describeConv(cast<ConvOp>(op));
  rows = iterations(rowLoops, type.getContext());
}

void BlockContraction::describeMatMul(MatMulOp op) {
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

void BlockContraction::describeConv(ConvOp op) {
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
BlockContraction::Tap BlockContraction::tapOf(const BlockOperand::Step &step) {
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

// `row` is the place in the result, without the column.
SmallVector<Value> BlockContraction::leftElements(ArrayRef<Index> row, const BlockOperand::Step &step, int64_t dim,
                                                  int64_t count) {
  if (!window) {
    Sizes sizes = sizesOf(lhs);
    Indices index;
    int64_t rank = sizes.size(), skip = type.getRank() - rank;
    for (int64_t d = 0; d + 1 < rank; ++d)
      index.push_back(isConstant(sizes[d], 1) ? Index{c.i64(0)} : row[skip + d]);
    index.push_back({c.add(step.block, step.inBlock)});
    return k.elements(lhs, index, dim, count);
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
  if (!isInside)
    return k.elements(lhs, index, dim, count);
  Value zero = c.number(registerType(getElementTypeOrSelf(lhs.getType())), 0);
  if (count == 1 && e.isNonEmpty(lhs, llvm::to_vector(llvm::seq<int64_t>(0, type.getRank()))))
    return {c.when(isInside, [&] { return k.elements(lhs, index, dim, 1)[0]; }, [&] { return zero; })};
  for (size_t d = 0; d < window->kernel.size(); ++d)
    index[2 + d].base = c.select(isInside, index[2 + d].base, c.i64(0));
  SmallVector<Value> values = k.elements(lhs, index, dim, count);
  for (Value &value : values)
    value = c.select(isInside, value, zero);
  return values;
}

SmallVector<Value> BlockContraction::rightElements(Value column, const BlockOperand::Step &step, int64_t dim,
                                                   int64_t count) {
  if (!window) {
    Indices index = e.broadcast(cast<RankedTensorType>(rhs.getType()), batchIndex);
    index[index.size() - 2] = {c.add(step.block, step.inBlock)}, index.back() = {column};
    return k.elements(rhs, index, dim, count);
  }
  Tap tap = tapOf(step);
  Indices index{{c.add(c.mul(channelGroup, c.expr(columns)), column)}, {tap.channel}};
  for (Value at : tap.taps)
    index.push_back({at});
  return k.elements(rhs, index, dim, count);
}

BlockOperand BlockContraction::leftOperand() {
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
  bool inVectors = follow && !mayBeEmpty && isMultiple(neighbours, 4) && (alongDepth ? s.blockK : s.blockM) % 4 == 0;
  int64_t vector = inVectors ? 4 : 1;
  auto locate = [this](Value row) {
    Indices index = batchIndex;
    delinearize(c, row, rowLoops, index);
    if (window)
      for (size_t d = 0; d < window->kernel.size(); ++d)
        index[2 + d].base = c.sub(c.mul(index[2 + d].base, window->strides[d]), c.i64(window->padsBegin[d]));
    return index;
  };
  auto fetch = [=, this](ArrayRef<Index> at, const BlockOperand::Step &step) {
    return leftElements(at, step, dim, vector);
  };
  return {s.blockM, getElementTypeOrSelf(lhs.getType()), rows, depth, mayBeEmpty, alongDepth, vector, locate, fetch};
}

BlockOperand BlockContraction::rightOperand() {
  int64_t dim = contiguousDim(e, rhs), rank = cast<RankedTensorType>(rhs.getType()).getRank();
  int64_t depthDim = window ? 1 : rank - 2;
  bool alongDepth = dim == depthDim;
  if (!alongDepth)
    dim = window ? 0 : rank - 1;
  AffineExpr neighbours = !alongDepth ? columns : window ? sizesOf(rhs)[1] : depth;
  bool mayBeEmpty = bool(e.isNonEmpty(rhs, depthDim));
  bool inVectors = !mayBeEmpty && isMultiple(neighbours, 4) && (alongDepth ? s.blockK : s.blockN) % 4 == 0;
  int64_t vector = inVectors ? 4 : 1;
  auto locate = [](Value column) { return Indices{{column}}; };
  auto fetch = [=, this](ArrayRef<Index> at, const BlockOperand::Step &step) {
    return rightElements(at[0].base, step, dim, vector);
  };
  return {s.blockN, getElementTypeOrSelf(rhs.getType()), columns, depth, mayBeEmpty, alongDepth, vector, locate, fetch};
}

Value BlockContraction::widened(Value value) {
  return value.getType() == acc ? value : Value(arith::ExtFOp::create(c.b, c.loc, acc, value));
}

// Neighbouring items have neighbouring columns, so that they read different banks and store lines together.
Value BlockContraction::itemColumn(int64_t j) {
  return c.add(itemX, j * (s.blockN / s.itemN) * columnVector);
}

SmallVector<Value> BlockContraction::multiply(BlockPanel &left, BlockPanel &right, Value stage, ValueRange sums) {
  SmallVector<Value> next = llvm::to_vector(sums);
  int64_t rowVector = s.itemM % 4 == 0 ? 4 : 1;
  for (int64_t step = 0; step < s.blockK; ++step) {
    SmallVector<Value> row, column;
    for (int64_t i = 0; i < s.itemM; i += rowVector)
      llvm::append_range(row, left.get(stage, step, c.add(itemRow, i), rowVector));
    for (int64_t j = 0; j < s.itemN; j += columnVector)
      llvm::append_range(column, right.get(stage, step, itemColumn(j / columnVector), columnVector));
    for (int64_t i = 0; i < s.itemM; ++i)
      for (int64_t j = 0; j < s.itemN; ++j) {
        Value &sum = next[i * s.itemN + j];
        Value x = widened(row[i]), y = widened(column[j]);
        sum = isa<FloatType>(acc) ? Value(math::FmaOp::create(c.b, c.loc, x, y, sum)) : c.add(sum, c.mul(x, y));
      }
  }
  return next;
}

// The element of the result that a sum is.
Value BlockContraction::finished(Value sum, Value column) {
  if (bias) {
    Value of = widened(e.element(bias, Index{column}, 1));
    sum = isa<FloatType>(acc) ? Value(arith::AddFOp::create(c.b, c.loc, sum, of)) : c.add(sum, of);
  }
  Type element = registerType(type.getElementType());
  return element == acc ? sum : Value(arith::TruncFOp::create(c.b, c.loc, element, sum));
}

void BlockContraction::store(ValueRange sums) {
  auto isInside = [&](Value at, AffineExpr size, int64_t block, int64_t together) {
    Value always = c.integer(c.b.getI1Type(), 1);
    bool isFull = isMultiple(size, block);
    return isFull ? always : c.cmp(arith::CmpIPredicate::slt, c.add(at, together - 1), c.expr(size));
  };
  int64_t together = isMultiple(columns, columnVector) ? columnVector : 1;
  Value firstOfGroup = window ? c.mul(channelGroup, c.expr(columns)) : c.i64(0);
  for (int64_t i = 0; i < s.itemM; ++i) {
    Value row = c.add(c.add(firstRow, itemRow), i);
    Value hasRow = isInside(row, rows, s.blockM, 1);
    c.when(hasRow, [&] {
      Indices index = batchIndex;
      delinearize(c, row, rowLoops, index);
      for (int64_t j = 0; j < s.itemN; j += together) {
        Value column = c.add(c.add(firstColumn, itemColumn(j / columnVector)), j % columnVector);
        c.when(isInside(column, columns, s.blockN, together), [&] {
          index[channel] = {c.add(firstOfGroup, column)};
          SmallVector<Value> values;
          for (int64_t v = 0; v < together; ++v)
            values.push_back(finished(sums[i * s.itemN + j + v], c.add(index[channel].base, v)));
          k.storeAnchor(index, channel, values);
        });
      }
    });
  }
}

Grid BlockContraction::emit() {
  // Neighbouring groups have neighbouring columns of the same rows.
  AffineExpr blocksM = size::simplified(rows.ceilDiv(s.blockM)), blocksN = size::simplified(columns.ceilDiv(s.blockN));
  // There is no group where there are no blocks.
  Value across = c.max(c.expr(blocksN), c.i64(1)), down = c.max(c.expr(blocksM), c.i64(1)), rest = c.div(k.group, across);
  firstColumn = c.mul(c.rem(k.group, across), s.blockN), firstRow = c.mul(c.rem(rest, down), s.blockM);
  Value batch = isConstant(batches, 1) ? c.i64(0) : c.div(rest, down);
  batchIndex = e.zeros(type.getRank());
  if (window)
    channelGroup = batch;
  else
    delinearize(c, batch, batchLoops, batchIndex);
  Value itemsAcross = c.i64(s.blockN / s.itemN);
  itemRow = c.mul(c.div(k.item, itemsAcross), s.itemM), itemX = c.mul(c.rem(k.item, itemsAcross), columnVector);

  SmallVector<Value> sums(s.itemM * s.itemN, c.number(acc, 0));
  if (!isConstant(depth, 0)) {
    BlockPanel left(k, s, leftOperand(), firstRow), right(k, s, rightOperand(), firstColumn);
    Value steps = c.expr(size::simplified(depth.ceilDiv(s.blockK)));
    auto put = [&](ValueRange of, ValueRange other, Value stage) {
      left.put(of, stage), right.put(other, stage);
      k.barrier();
    };
    if (s.stages == 1)
      sums = c.loop(c.i64(0), steps, 1, sums, [&](Value step, ValueRange carried) {
        Value first = c.mul(step, s.blockK), stage = c.i64(0);
        SmallVector<Value> ofLeft = left.fetch(first), ofRight = right.fetch(first);
        k.barrier();
        put(ofLeft, ofRight, stage);
        return multiply(left, right, stage, carried);
      });
    else {
      SmallVector<Value> ofLeft = left.fetch(c.i64(0)), ofRight = right.fetch(c.i64(0));
      put(ofLeft, ofRight, c.i64(0));
      Value last = c.sub(steps, c.i64(1));
      sums = c.loop(c.i64(0), steps, 1, sums, [&](Value step, ValueRange carried) {
        // Those behind the last are the last once more, which nobody reads.
        Value next = c.mul(c.min(c.add(step, 1), last), s.blockK);
        Value stage = c.rem(step, c.i64(2)), other = c.sub(c.i64(1), stage);
        SmallVector<Value> ofLeft = left.fetch(next), ofRight = right.fetch(next);
        SmallVector<Value> products = multiply(left, right, stage, carried);
        put(ofLeft, ofRight, other);
        return products;
      });
    }
  }
  store(sums);
  Grid grid;
  grid.tasks = size::simplified(batches * blocksM * blocksN);
  grid.groupItems = s.items();
  return grid;
}

FailureOr<Grid> emitBlockContract(func::FuncOp kernel, const Schedule &schedule, StringRef name, unsigned symbolCount,
                                  const Target &target, ModuleOp loops) {
  GroupKernel k(kernel, name, symbolCount, target, loops);
  auto typedSchedule = typed<BlockContractSchedule>(schedule);
  Grid grid = BlockContraction(k, typedSchedule).emit();
  if (failed(k.end()))
    return failure();
  return grid;
}

} // namespace fathom
