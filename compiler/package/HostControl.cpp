// Host code of control flow: sizes read from data, conditions on them, branches and loops.
#include "compiler/graph/TypeText.h"
#include "compiler/package/HostEmitter.h"
#include "runtime/abi.h"

using namespace mlir;
using namespace fathom::graph;

namespace fathom {

// A new block behind the current one, before the one that failures go to.
Block *HostEmitter::blockHere(ArrayRef<Type> arguments) {
  OpBuilder::InsertionGuard guard(b);
  return b.createBlock(failed, arguments, SmallVector<Location>(arguments.size(), loc));
}

Value HostEmitter::loadScalar(Value tensor) {
  if (std::optional<Elements> known = elementsOf(tensor)) {
    Value value = c.expr(known->front());
    return cast<RankedTensorType>(tensor.getType()).getElementType().isInteger(1)
               ? c.cmp(arith::CmpIPredicate::ne, value, c.i64(0))
               : value;
  }
  Type element = cast<RankedTensorType>(tensor.getType()).getElementType();
  return c.load(readable(tensor, 0, 1), c.i64(0), element);
}

void HostEmitter::copy(Value to, Value from, Value bytes) {
  if (onDevice)
    return callService(offsetof(fathom_services, device_copy), {to, from, bytes});
  LLVM::MemcpyOp::create(b, loc, to, from, bytes, /*isVolatile=*/false);
}

// Ops behind it may rely on the symbol's range.
void HostEmitter::bindSymbol(unsigned position, Value value, Location node, StringRef why) {
  const Symbol &range = symbols[position];
  Value outside = c.cmp(arith::CmpIPredicate::slt, value, c.i64(range.min));
  if (range.max < INT64_MAX)
    outside = arith::OrIOp::create(b, loc, outside, c.cmp(arith::CmpIPredicate::sgt, value, c.i64(range.max)));
  refuseIf(outside, FATHOM_FAULT_SHAPE, node, why);
  c.symbols[position] = value;
  if (table) {
    c.store(value, table, c.i64(position), i64);
    bound.set(position);
  }
}

static StringRef whyOf(Operation *op) {
  auto why = op->getAttrOfType<StringAttr>(whyAttrName);
  return why ? why.getValue() : "";
}

void HostEmitter::emitPin(PinOp op) {
  // What turned out to be arithmetic on sizes has no memory.
  if (std::optional<Elements> known = elementsOf(op.getInput())) {
    for (auto [position, symbol] : llvm::zip(op.getPositions(), op.getSymbols())) {
      Value overflow, value = checkedExpr((*known)[position], overflow);
      if (overflow)
        refuseIf(overflow, FATHOM_FAULT_SHAPE, op.getLoc(), whyOf(op));
      bindSymbol(symbol, value, op.getLoc(), whyOf(op));
    }
    return;
  }
  if (op.getPositions().empty())
    return;
  auto [first, last] = std::minmax_element(op.getPositions().begin(), op.getPositions().end());
  Value base = readable(op.getInput(), *first, *last + 1 - *first);
  int64_t before = onDevice ? *first : 0; // elements that are not there
  auto element = cast<IntegerType>(cast<RankedTensorType>(op.getInput().getType()).getElementType());
  for (auto [position, symbol] : llvm::zip(op.getPositions(), op.getSymbols())) {
    Value value = c.load(base, c.i64(position - before), element);
    if (element.getWidth() < 64)
      value = element.isUnsigned() ? Value(arith::ExtUIOp::create(b, loc, i64, value))
                                   : Value(arith::ExtSIOp::create(b, loc, i64, value));
    bindSymbol(symbol, value, op.getLoc(), whyOf(op));
  }
}

bool HostEmitter::isForPlan(AssertOp op) {
  return op->getBlock() == &main.getBody().front() &&
         llvm::none_of(op.getConditions().getResults(), [&](AffineExpr size) { return isComputed(size, symbols); });
}

void HostEmitter::emitAssert(AssertOp op) {
  if (Value bad = isBroken(op))
    refuseIf(bad, FATHOM_FAULT_SHAPE, op.getLoc(), whyOf(op));
}

void HostEmitter::emitPlannedAssert(AssertOp op, Value sizes) {
  Value bad = isBroken(op);
  if (!bad)
    return;
  Block *refused = blockHere(), *next = blockHere();
  cf::CondBranchOp::create(b, loc, bad, refused, ValueRange{}, next, ValueRange{});
  b.setInsertionPointToStart(refused);
  c.store(LLVM::PtrToIntOp::create(b, loc, i64, wordsOf(op.getLoc(), whyOf(op))), sizes, c.i64(0), i64);
  cf::BranchOp::create(b, loc, failed, ValueRange{c.i32(FATHOM_FAULT_SHAPE)});
  b.setInsertionPointToStart(next);
}

Value HostEmitter::isBroken(AssertOp op) {
  Value bad;
  for (AffineExpr condition : op.getConditions().getResults()) {
    Value negative = c.cmp(arith::CmpIPredicate::slt, checkedExpr(condition, bad), c.i64(0));
    bad = bad ? Value(arith::OrIOp::create(b, loc, bad, negative)) : negative;
  }
  return bad;
}

// Where among the sizes of these values a symbol stands alone.
static std::pair<unsigned, unsigned> findSymbol(ValueRange values, int64_t symbol) {
  for (auto [i, value] : llvm::enumerate(values))
    for (auto [d, size] : llvm::enumerate(sizesOf(value)))
      if (auto found = dyn_cast<AffineSymbolExpr>(size); found && found.getPosition() == symbol)
        return {unsigned(i), unsigned(d)};
  llvm_unreachable("every symbol of a branch or loop is a size of its results or arguments");
}

void HostEmitter::emitIf(IfOp op) {
  // What the branches hand on: the addresses of results of data's size, then the values of the symbols.
  SmallVector<unsigned> handed;
  for (auto [i, result] : llvm::enumerate(op.getResults()))
    if (memory.places.lookup(result).kind == Place::Pointer)
      handed.push_back(i);
  SmallVector<Type> types(handed.size(), pointer);
  types.append(op.getSymbols().size(), i64);
  Value condition = loadScalar(op.getCondition());
  Block *branches[] = {blockHere(), blockHere()}, *join = blockHere(types);
  cf::CondBranchOp::create(b, loc, condition, branches[0], ValueRange{}, branches[1], ValueRange{});
  SmallVector<Value> before = c.symbols;
  for (auto [branch, region] : llvm::zip(branches, op->getRegions())) {
    b.setInsertionPointToStart(branch);
    emitBlock(region.front());
    auto yielded = region.front().getTerminator()->getOperands();
    SmallVector<Value> values;
    for (unsigned index : handed)
      values.push_back(addressOf(yielded[index]));
    for (int64_t symbol : op.getSymbols()) {
      auto [index, dim] = findSymbol(op.getResults(), symbol);
      values.push_back(c.expr(sizesOf(yielded[index])[dim]));
    }
    cf::BranchOp::create(b, loc, join, values);
    c.symbols = before;
  }
  b.setInsertionPointToStart(join);
  for (auto [i, index] : llvm::enumerate(handed))
    setPointer(op.getResult(index), join->getArgument(i));
  for (auto [i, symbol] : llvm::enumerate(op.getSymbols()))
    bindSymbol(symbol, join->getArgument(handed.size() + i), op.getLoc());
}

namespace {

// What a loop's header carries, as positions among its arguments.
struct Header {
  SmallVector<Type> types;
  SmallVector<Value> initial;
  unsigned add(Value value) {
    types.push_back(value.getType());
    initial.push_back(value);
    return initial.size() - 1;
  }
};

} // namespace

void HostEmitter::emitLoop(LoopOp op) {
  Block &body = op.getBody().front();
  auto yielded = body.getTerminator()->getOperands();
  unsigned carried = op.getCarried().size();
  auto isAbsent = [](Value value) { return isa<NoneType>(value.getType()); };
  Value trip = isAbsent(op.getTrip()) ? c.i64(INT64_MAX) : loadScalar(op.getTrip());
  Header header;
  unsigned iteration = header.add(c.i64(0));
  unsigned going = header.add(isAbsent(op.getCondition()) ? boolean(true) : loadScalar(op.getCondition()));

  // Carried tensors start as copies, so that every iteration owns what it reads. One of arena size moves between two
  // places, one of data's size is new memory in every iteration.
  SmallVector<unsigned> current(carried), other(carried);
  for (auto [i, init] : llvm::enumerate(op.getCarried())) {
    Value argument = body.getArgument(2 + i);
    auto places = memory.carried.find(argument);
    bool isPlanned = places != memory.carried.end();
    Value room = isPlanned ? addressAt(places->second.first) : allocate(alignedBytes(init), op.getLoc());
    copy(room, addressOf(init), c.expr(bufferBytes(cast<RankedTensorType>(init.getType()))));
    current[i] = header.add(room);
    if (isPlanned)
      other[i] = header.add(addressAt(places->second.second));
  }
  SmallVector<unsigned> symbolAt;
  for (int64_t symbol : op.getBodySymbols()) {
    auto [index, dim] = findSymbol(body.getArguments().drop_front(2), symbol);
    symbolAt.push_back(header.add(c.expr(sizesOf(op.getCarried()[index])[dim])));
  }
  // Stacked results: address, bytes there is room for, and the sizes of a slice where data decides them.
  auto stacked = op.getResults().drop_front(carried);
  struct Stack {
    bool isPlanned;
    unsigned base, room;
    SmallVector<unsigned> sizes;
  };
  SmallVector<Stack> stacks;
  for (Value result : stacked) {
    Stack stack;
    stack.isPlanned = memory.places.lookup(result).kind != Place::Pointer;
    stack.base = header.add(stack.isPlanned ? addressOf(result) : Value(LLVM::ZeroOp::create(b, loc, pointer)));
    stack.room = header.add(c.i64(0));
    for (size_t d = 1; d < sizesOf(result).size(); ++d)
      stack.sizes.push_back(header.add(c.i64(0)));
    stacks.push_back(std::move(stack));
  }

  Block *head = blockHere(header.types), *inside = blockHere(), *after = blockHere();
  cf::BranchOp::create(b, loc, head, header.initial);
  b.setInsertionPointToStart(head);
  auto at = [&](unsigned position) -> Value { return head->getArgument(position); };
  Value goesOn = c.both(at(going), c.cmp(arith::CmpIPredicate::slt, at(iteration), trip));
  cf::CondBranchOp::create(b, loc, goesOn, inside, ValueRange{}, after, ValueRange{});

  b.setInsertionPointToStart(inside);
  SmallVector<Value> before = c.symbols, next(header.initial.size());
  for (auto [symbol, position] : llvm::zip(op.getBodySymbols(), symbolAt))
    bindSymbol(symbol, at(position), op.getLoc());
  storeScalar(at(iteration), body.getArgument(0));
  storeScalar(at(going), body.getArgument(1));
  for (unsigned i = 0; i < carried; ++i) {
    pointers[body.getArgument(2 + i)] = at(current[i]);
    if (memory.carried.contains(body.getArgument(2 + i)))
      pointers[bufferRoot(yielded[1 + i])] = at(other[i]);
  }
  emitBlock(body);
  next[iteration] = c.add(at(iteration), 1);
  next[going] = loadScalar(yielded[0]);
  for (unsigned i = 0; i < carried; ++i) {
    next[current[i]] = addressOf(yielded[1 + i]);
    if (memory.carried.contains(body.getArgument(2 + i)))
      next[other[i]] = at(current[i]);
    else
      release(at(current[i]));
  }
  for (auto [symbol, position] : llvm::zip(op.getBodySymbols(), symbolAt)) {
    auto [index, dim] = findSymbol(body.getArguments().drop_front(2), symbol);
    next[position] = c.expr(sizesOf(yielded[1 + index])[dim]);
  }
  for (auto [i, stack] : llvm::enumerate(stacks)) {
    Value slice = yielded[1 + carried + i];
    Value bytes = c.expr(bufferBytes(cast<RankedTensorType>(slice.getType())));
    next[stack.base] = at(stack.base), next[stack.room] = at(stack.room);
    // Slices of one stack have one size; the first sets it.
    Value isLater = c.cmp(arith::CmpIPredicate::sgt, at(iteration), c.i64(0));
    for (auto [d, position] : llvm::enumerate(stack.sizes)) {
      next[position] = c.expr(sizesOf(slice)[d]);
      Value differs = c.cmp(arith::CmpIPredicate::ne, next[position], at(position));
      if (!constantSize(sizesOf(slice)[d]))
        refuseIf(c.both(isLater, differs), FATHOM_FAULT_SHAPE, op.getLoc(),
                 "what is stacked has another size than in the first iteration");
    }
    Value used = c.mul(at(iteration), bytes);
    if (!stack.isPlanned) {
      // Room doubles as it runs out.
      Block *grow = blockHere(), *enough = blockHere({pointer, i64});
      Value wanted = c.add(used, bytes);
      cf::CondBranchOp::create(b, loc, c.cmp(arith::CmpIPredicate::sgt, wanted, at(stack.room)), grow, ValueRange{},
                               enough, ValueRange{at(stack.base), at(stack.room)});
      b.setInsertionPointToStart(grow);
      Value room = c.max(c.mul(wanted, 2), c.i64(4096));
      Value fresh = allocate(room, op.getLoc());
      copy(fresh, at(stack.base), used);
      release(at(stack.base));
      cf::BranchOp::create(b, loc, enough, ValueRange{fresh, room});
      b.setInsertionPointToStart(enough);
      next[stack.base] = enough->getArgument(0), next[stack.room] = enough->getArgument(1);
    }
    copy(c.address(next[stack.base], used, b.getI8Type()), addressOf(slice), bytes);
    // The slice itself was this iteration's own memory.
    if (memory.places.lookup(bufferRoot(slice)).kind == Place::Heap)
      release(addressOf(slice));
  }
  cf::BranchOp::create(b, loc, head, next);

  b.setInsertionPointToStart(after);
  c.symbols = before;
  for (unsigned i = 0; i < carried; ++i)
    setPointer(op.getResult(i), at(current[i]));
  for (auto [result, stack] : llvm::zip(stacked, stacks))
    if (!stack.isPlanned)
      setPointer(result, at(stack.base));
  for (int64_t symbol : op.getSymbols()) {
    auto [index, dim] = findSymbol(op.getResults(), symbol);
    if (index >= carried) {
      Stack &stack = stacks[index - carried];
      bindSymbol(symbol, dim == 0 ? at(iteration) : at(stack.sizes[dim - 1]), op.getLoc());
      continue;
    }
    // The size that the body saw as one of its symbols.
    auto inner = cast<AffineSymbolExpr>(sizesOf(body.getArgument(2 + index))[dim]);
    auto found = llvm::find(op.getBodySymbols(), int64_t(inner.getPosition()));
    bindSymbol(symbol, at(symbolAt[found - op.getBodySymbols().begin()]), op.getLoc());
  }
}

} // namespace fathom
