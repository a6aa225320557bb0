// Host code of models with very many kernels, in parts: a function's compile time grows faster than its length.
#include "compiler/graph/Pieces.h"
#include "compiler/graph/SizeMath.h"
#include "compiler/package/HostEmitter.h"
#include "runtime/abi.h"
#include "llvm/Support/SaveAndRestore.h"
#include <cstddef>

using namespace mlir;
using namespace fathom::graph;

namespace fathom {

// Launches of a part, and in a run of them so many that it is worth parting.
static constexpr size_t partLaunches = 128, manyLaunches = 4 * partLaunches;

bool HostEmitter::isComputedAnywhere(AffineExpr size) { return size && isComputed(size, symbols); }

// Whether the launch needs nothing but the call: no memory that was made, and no sizes that were read, on the way.
bool HostEmitter::isSelfContained(func::CallOp call) {
  if (memory.released.contains(call))
    return false;
  const Kernel &kernel = program.kernels[call->getAttrOfType<IntegerAttr>("graph.kernel").getInt()];
  if (llvm::any_of(kernel.symbols, [&](unsigned symbol) { return symbols[symbol].isComputed; }))
    return false;
  auto isKnown = [&](Value tensor) {
    while (!memory.places.contains(tensor) && tensor.getDefiningOp() && isView(tensor.getDefiningOp())) {
      if (auto slice = tensor.getDefiningOp<SliceOp>(); slice && isComputedAnywhere(offsetOf(slice)))
        return false;
      tensor = tensor.getDefiningOp()->getOperand(0);
    }
    auto place = memory.places.find(tensor);
    return place != memory.places.end() && place->second.kind != Place::Heap && place->second.kind != Place::Pointer &&
           !isComputedAnywhere(memory.offsets.lookup(tensor));
  };
  auto hasKnownSizes = [&](Value tensor) {
    return llvm::none_of(sizesOf(tensor), [&](AffineExpr size) { return isComputed(size, symbols); });
  };
  return llvm::all_of(call.getOperands(), isKnown) && llvm::all_of(call.getResults(), isKnown) &&
         llvm::all_of(call.getResults(), hasKnownSizes);
}

SmallVector<func::CallOp> HostEmitter::launchesFrom(Operation *first) {
  SmallVector<func::CallOp> launches;
  for (Operation *op = first; op; op = op->getNextNode()) {
    auto call = dyn_cast<func::CallOp>(op);
    if (call && isSelfContained(call))
      launches.push_back(call);
    else if (call || op->hasTrait<OnHost>() || op->hasTrait<OpTrait::IsTerminator>() || memory.released.contains(op))
      break;
  }
  return launches;
}

bool HostEmitter::hasManyLaunches() {
  return llvm::range_size(main.getBody().front().getOps<func::CallOp>()) > manyLaunches;
}

void HostEmitter::loadCall(Value call) {
  services = field(call, offsetof(fathom_call, services));
  runtime = field(call, offsetof(fathom_call, host));
  weights = field(call, offsetof(fathom_call, weights));
  arena = field(call, offsetof(fathom_call, arena));
  inputs = field(call, offsetof(fathom_call, inputs));
  outputs = field(call, offsetof(fathom_call, outputs));
  loadSymbols(field(call, offsetof(fathom_call, symbols)));
}

bool HostEmitter::emitParts(ArrayRef<func::CallOp> launches) {
  if (launches.size() <= manyLaunches)
    return false;
  SmallVector<Operation *> ops(launches.begin(), launches.end());
  for (ArrayRef<Operation *> left = ops; !left.empty(); left = left.drop_front(std::min(left.size(), partLaunches)))
    emitPart(left.take_front(partLaunches));
  return true;
}

void HostEmitter::emitPart(ArrayRef<Operation *> ops) {
  std::string name = "fathom_run." + std::to_string(parts++);
  SmallVector<Value> shared{call, arguments, slotTable};
  if (table)
    shared.append({table, dims});
  {
    // What belongs to a function is its own.
    OpBuilder::InsertionGuard guard(b);
    llvm::SaveAndRestore keptFailed(failed);
    llvm::SaveAndRestore keptServices(services), keptRuntime(runtime), keptWeights(weights), keptArena(arena),
        keptInputs(inputs), keptOutputs(outputs), keptArguments(arguments), keptSlots(slotTable), keptTable(table),
        keptDims(dims);
    SmallVector<Value> keptSymbols = c.symbols;
    DenseMap<Value, Value> keptPointers;
    std::swap(keptPointers, pointers);
    func::FuncOp function = begin(name, SmallVector<Type>(shared.size(), pointer));
    arguments = function.getArgument(1), slotTable = function.getArgument(2);
    if (table)
      table = function.getArgument(3), dims = function.getArgument(4);
    loadCall(function.getArgument(0));
    llvm::SaveAndRestore keptStaging(staging);
    makeStaging();
    for (Operation *op : ops) {
      if (table)
        loadSymbolsFor(op);
      emitOp(*op);
    }
    func::ReturnOp::create(b, loc, c.i32(0));
    c.symbols = keptSymbols;
    std::swap(keptPointers, pointers);
  }
  Value result = func::CallOp::create(b, loc, name, i32, shared).getResult(0);
  failIf(c.cmp(arith::CmpIPredicate::ne, result, c.i32(0)), result);
}

// The table is there only where something must be handed on that a launch finds out. It is the runtime's memory, as a
// stack may be small; the end of the run releases it.
void HostEmitter::makeTable() {
  Block &block = main.getBody().front();
  if (llvm::all_of(block.getOps<func::CallOp>(), [&](func::CallOp call) { return isSelfContained(call); }))
    return;
  // Room for every buffer whose address may not be known ahead.
  size_t entries = symbols.size() + memory.places.size();
  main.walk([&](Operation *op) { entries += isControl(op) ? op->getNumResults() : 0; });
  Value room = allocateHost(c.i64(int64_t(entries) * 8), main.getLoc());
  bound.resize(symbols.size());
  table = room;
}

void HostEmitter::emitAllInParts(Block &block) {
  SmallVector<Operation *> ops;
  auto flush = [&] {
    if (!ops.empty())
      emitPart(ops);
    ops.clear();
  };
  for (Operation &op : block.without_terminator()) {
    if (isControl(&op)) {
      flush();
      loadBoundSymbols();
      emitOp(op);
      continue;
    }
    if (isa<func::CallOp, PinOp, AssertOp>(op) || memory.released.contains(&op))
      ops.push_back(&op);
    if (ops.size() == partLaunches)
      flush();
  }
  flush();
}

// What an op of a part computes with: the sizes of its operands and results, where views of them begin, and its own.
void HostEmitter::loadSymbolsFor(Operation *op) {
  auto need = [&](AffineExpr expr) {
    if (expr)
      expr.walk([&](AffineExpr part) {
        auto symbol = dyn_cast<AffineSymbolExpr>(part);
        if (Value known = symbol ? c.symbols[symbol.getPosition()] : Value(); symbol && !known)
          c.symbols[symbol.getPosition()] = c.load(table, c.i64(symbol.getPosition()), i64);
      });
  };
  auto needTensor = [&](Value tensor) {
    llvm::for_each(sizesOf(tensor), need);
    while (!memory.places.contains(tensor) && tensor.getDefiningOp() && isView(tensor.getDefiningOp())) {
      if (auto slice = tensor.getDefiningOp<SliceOp>())
        need(offsetOf(slice));
      tensor = tensor.getDefiningOp()->getOperand(0);
    }
    need(memory.offsets.lookup(tensor));
    if (Place place = memory.places.lookup(tensor); place.kind == Place::Output)
      llvm::for_each(sizesOf(main.getBody().front().getTerminator()->getOperand(place.at)), need);
  };
  if (auto check = dyn_cast<AssertOp>(op)) {
    if (!isForPlan(check))
      llvm::for_each(check.getConditions().getResults(), need);
    return;
  }
  if (auto pin = dyn_cast<PinOp>(op))
    if (std::optional<Elements> known = elementsOf(pin.getInput())) {
      for (int64_t position : pin.getPositions())
        need((*known)[position]);
      return;
    }
  llvm::for_each(op->getOperands(), needTensor);
  llvm::for_each(op->getResults(), needTensor);
  if (auto call = dyn_cast<func::CallOp>(op))
    for (unsigned symbol : program.kernels[call->getAttrOfType<IntegerAttr>("graph.kernel").getInt()].symbols)
      need(getAffineSymbolExpr(symbol, b.getContext()));
}

void HostEmitter::loadBoundSymbols() {
  for (unsigned symbol : bound.set_bits())
    if (!c.symbols[symbol])
      c.symbols[symbol] = c.load(table, c.i64(symbol), i64);
}

Value HostEmitter::pointerTo(Value tensor) {
  if (Value known = pointers.lookup(tensor))
    return known;
  auto number = numbers.find(tensor);
  if (number == numbers.end())
    return {};
  return LLVM::LoadOp::create(b, loc, pointer, c.address(table, c.i64(symbols.size() + number->second), i64), 8);
}

void HostEmitter::setPointer(Value tensor, Value address) {
  pointers[tensor] = address;
  if (!table)
    return;
  unsigned number = numbers.try_emplace(tensor, numbers.size()).first->second;
  LLVM::StoreOp::create(b, loc, address, c.address(table, c.i64(symbols.size() + number), i64), 8);
}

} // namespace fathom
