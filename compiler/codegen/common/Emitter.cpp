// Loads, stores and on-demand computation of elements.
#include "compiler/codegen/common/Emitter.h"

#include "compiler/graph/SizeMath.h"
#include "compiler/support/Diagnostics.h"
#include "runtime/abi.h"

using namespace mlir;

namespace fathom {

void Emitter::addBuffer(Value tensor, Value pointer) {
  auto type = cast<RankedTensorType>(tensor.getType());
  buffers[tensor] = Buffer{pointer, type, layoutOf(type)};
}

Value Emitter::size(Value tensor, int64_t dim) { return c.expr(graph::sizesOf(tensor)[dim]); }

std::pair<Value, std::optional<int64_t>> Emitter::offset(const Buffer &buffer, ArrayRef<Index> index, int64_t lanes) {
  const Layout &layout = buffer.layout;
  Value base = c.expr(layout.offset);
  std::optional<int64_t> step = 0;
  for (auto [d, i] : llvm::enumerate(index)) {
    if (int64_t(d) == layout.blockedDim) {
      Value block = c.i64(layout.block);
      base = c.add(base, c.mul(c.div(i.base, block), c.expr(layout.blockStride)));
      base = c.add(base, c.rem(i.base, block));
      // Lanes that stay within a block lie side by side.
      bool isWithin = i.step == 1 && layout.block % lanes == 0 && i.multiple % lanes == 0;
      if (i.step)
        step = step && isWithin ? std::optional(*step + 1) : std::nullopt;
      continue;
    }
    base = c.add(base, c.mul(i.base, c.expr(layout.strides[d])));
    if (!i.step)
      continue;
    auto stride = graph::constantSize(layout.strides[d]);
    step = step && stride ? std::optional(*step + i.step * *stride) : std::nullopt;
  }
  return {base, step};
}

static Indices laneIndex(Code &c, ArrayRef<Index> index, int64_t lane) {
  Indices scalar;
  for (const Index &i : index)
    scalar.push_back({i.step ? c.add(i.base, i.step * lane) : i.base, 0});
  return scalar;
}

Value Emitter::load(const Buffer &buffer, ArrayRef<Index> index, int64_t lanes) {
  Type element = buffer.type.getElementType();
  auto [base, step] = offset(buffer, index, lanes);
  if (lanes == 1 || step == 1)
    return c.load(buffer.pointer, base, element, lanes);
  if (step == 0)
    return c.splat(c.load(buffer.pointer, base, element), lanes);
  Value vector = c.undefined(vectorType(element, lanes));
  for (int64_t lane = 0; lane < lanes; ++lane) {
    Value at = step ? c.add(base, *step * lane) : offset(buffer, laneIndex(c, index, lane), 1).first;
    vector = c.insert(c.load(buffer.pointer, at, element), vector, lane);
  }
  return vector;
}

void Emitter::store(const Buffer &buffer, ArrayRef<Index> index, Value value, int64_t lanes) {
  Type element = buffer.type.getElementType();
  auto [base, step] = offset(buffer, index, lanes);
  if (lanes == 1 || step == 1)
    return c.store(value, buffer.pointer, base, element);
  for (int64_t lane = 0; lane < lanes; ++lane) {
    Value at = step ? c.add(base, *step * lane) : offset(buffer, laneIndex(c, index, lane), 1).first;
    c.store(c.extract(value, lane), buffer.pointer, at, element);
  }
}

void Emitter::computeAndStore(ValueRange tensors, ArrayRef<Buffer> outputs, ArrayRef<Index> index, int64_t lanes) {
  SmallVector<Value> values;
  {
    Request request(*this);
    for (Value tensor : tensors)
      values.push_back(element(tensor, index, lanes));
  }
  for (auto [value, output] : llvm::zip(values, outputs))
    store(output, index, value, lanes);
}

void Emitter::clearHalo(const Buffer &buffer, Range these, Value parts) {
  const Layout &layout = buffer.layout;
  Type element = buffer.type.getElementType();
  int64_t bytes = elementBytes(element);
  ArrayRef<int64_t> order = layout.order;
  auto extent = [&](int64_t d) { return c.add(c.expr(layout.sizes[d]), layout.haloLow[d] + layout.haloHigh[d]); };
  // Clears `count` positions of dimension order[position] and all that lies inside them, but not the room of others.
  std::function<void(size_t, Value, Value)> slab = [&](size_t position, Value base, Value count) {
    Value stride = c.expr(layout.strides[order[position]]);
    if (llvm::none_of(order.drop_front(position + 1), [&](int64_t inner) { return layout.room[inner]; }))
      return c.memset(c.address(buffer.pointer, base, element), c.mul(c.mul(stride, count), bytes));
    c.loop(c.i64(0), count, 1,
           [&](Value i) { slab(position + 1, c.add(base, c.mul(i, stride)), extent(order[position + 1])); });
  };
  // Clears the slabs before and after dimension order[position] and goes on inside it where deeper dimensions have a
  // halo too. The outermost dimension of more than one element is divided into the parts.
  std::function<void(size_t, Value, bool)> clear = [&](size_t position, Value base, bool divides) {
    if (position == order.size())
      return;
    int64_t d = order[position];
    auto onlyWhere = [&](Value end, Value known, llvm::function_ref<void()> body) {
      divides ? c.when(c.cmp(arith::CmpIPredicate::eq, end, known), body) : body();
    };
    bool deeper = llvm::any_of(order.drop_front(position + 1),
                               [&](int64_t inner) { return layout.haloLow[inner] || layout.haloHigh[inner]; });
    Value stride = c.expr(layout.strides[d]), size = c.expr(layout.sizes[d]);
    if (layout.haloLow[d])
      onlyWhere(these.first, c.i64(0), [&] { slab(position, base, c.i64(layout.haloLow[d])); });
    if (layout.haloHigh[d])
      onlyWhere(these.second, parts, [&] {
        slab(position, c.add(base, c.mul(c.add(size, layout.haloLow[d]), stride)), c.i64(layout.haloHigh[d]));
      });
    if (!deeper)
      return;
    bool here = divides && !graph::isConstant(layout.sizes[d], 1);
    auto end = [&](Value before) { return c.div(c.mul(before, size), parts); };
    c.loop(here ? end(these.first) : c.i64(0), here ? end(these.second) : size, 1, [&](Value i) {
      clear(position + 1, c.add(base, c.mul(c.add(i, layout.haloLow[d]), stride)), divides && !here);
    });
  };
  clear(0, c.i64(0), Code::constant(parts) != 1);
}

Indices Emitter::broadcast(RankedTensorType operand, ArrayRef<Index> result) {
  graph::Sizes sizes = graph::sizesOf(operand);
  Indices index;
  size_t skip = result.size() - sizes.size();
  for (auto [d, size] : llvm::enumerate(sizes))
    index.push_back(graph::isConstant(size, 1) ? Index{c.i64(0), 0} : result[skip + d]);
  return index;
}

Value Emitter::scalarized(Value tensor, ArrayRef<Index> index, int64_t lanes) {
  Type type = cast<RankedTensorType>(tensor.getType()).getElementType();
  Value vector = c.undefined(vectorType(type, lanes));
  for (int64_t lane = 0; lane < lanes; ++lane)
    vector = c.insert(element(tensor, laneIndex(c, index, lane), 1), vector, lane);
  return vector;
}

// Equal constants are not the same value.
static bool isSame(const Index &a, const Index &b) {
  if (a.step != b.step)
    return false;
  if (a.base == b.base)
    return true;
  std::optional<int64_t> constant = Code::constant(a.base);
  return constant && constant == Code::constant(b.base);
}

Value Emitter::element(Value tensor, ArrayRef<Index> index, int64_t lanes) {
  if (auto source = sources.find(tensor); source != sources.end())
    return source->second(index, lanes);
  Request request(*this);
  if (auto known = computed.find(tensor); known != computed.end())
    for (const Computed &element : known->second)
      if (element.lanes == lanes && c.isOpen(element.region) && llvm::equal(element.index, index, isSame))
        return element.value;
  Value value = computeElement(tensor, index, lanes);
  computed[tensor].push_back({llvm::to_vector<4>(index), lanes, value, c.region()});
  return value;
}

Value Emitter::computeElement(Value tensor, ArrayRef<Index> index, int64_t lanes) {
  if (auto found = buffers.find(tensor); found != buffers.end())
    return load(found->second, index, lanes);
  auto result = cast<OpResult>(tensor);
  // A value that does not change along the lanes is computed once.
  if (lanes > 1 && llvm::all_of(index, [](const Index &i) { return i.step == 0; }))
    return c.splat(element(tensor, index, 1), lanes);
  return compute(result.getOwner(), result.getResultNumber(), index, lanes);
}

Value Emitter::compute(Operation *op, unsigned result, ArrayRef<Index> index, int64_t lanes) {
  if (op->hasTrait<graph::Elementwise>()) {
    SmallVector<Value> operands;
    for (Value operand : op->getOperands()) {
      auto type = dyn_cast<RankedTensorType>(operand.getType());
      operands.push_back(type ? element(operand, broadcast(type, index), lanes) : Value());
    }
    return emitElementwise(*this, op, operands, lanes);
  }
  if (Value value = moved(op, index, lanes))
    return value;
  if (lanes > 1)
    return scalarized(op->getResult(result), index, lanes);
  // Fusion only lets in ops that are computed on demand, so this is a bug of ours and not of the model.
  fathom::emitError(op, ErrorCode::Internal) << "no code for an element of '" << op->getName() << "'";
  failed = true;
  return c.number(registerType(cast<RankedTensorType>(op->getResult(result).getType()).getElementType()), 0);
}

Value Emitter::integerAt(Value tensor, ArrayRef<Index> index) {
  Value value = element(tensor, index, 1);
  auto type = cast<IntegerType>(cast<RankedTensorType>(tensor.getType()).getElementType());
  if (type.getWidth() == 64)
    return value;
  if (type.isUnsigned() || type.getWidth() == 1)
    return arith::ExtUIOp::create(c.b, c.loc, c.b.getI64Type(), value);
  return arith::ExtSIOp::create(c.b, c.loc, c.b.getI64Type(), value);
}

void Emitter::raise(Value condition, int32_t code) {
  c.when(condition, [&] { LLVM::StoreOp::create(c.b, c.loc, c.i32(code), fault); });
}

Value Emitter::checkedIndex(Value index, Value size) {
  Value wrapped = c.select(c.cmp(arith::CmpIPredicate::slt, index, c.i64(0)), c.add(index, size), index);
  Value outside = c.cmp(arith::CmpIPredicate::uge, wrapped, size);
  raise(outside, FATHOM_FAULT_INDEX);
  return c.select(outside, c.i64(0), wrapped);
}

Value Emitter::isNonEmpty(Value tensor, ArrayRef<int64_t> dims) {
  graph::Sizes sizes = graph::sizesOf(tensor);
  graph::SymbolList symbols = graph::symbolsFor(tensor.getParentBlock()->getParentOp());
  Value result;
  for (int64_t d : dims) {
    if (graph::size::lowerBound(sizes[d], symbols).value_or(0) >= 1)
      continue;
    Value some = c.cmp(arith::CmpIPredicate::sgt, size(tensor, d), c.i64(0));
    result = result ? c.both(result, some) : some;
  }
  return result;
}

Value Emitter::checkedElement(Value tensor, ArrayRef<int64_t> dims, ArrayRef<Index> index, int64_t lanes) {
  Value some = isNonEmpty(tensor, dims);
  if (!some)
    return element(tensor, index, lanes);
  return c.when(
      some, [&] { return element(tensor, index, lanes); },
      [&] { return c.number(vectorType(cast<RankedTensorType>(tensor.getType()).getElementType(), lanes), 0); });
}

} // namespace fathom
