// Emission of the host functions: what they compute from symbols, where tensors are, how kernels are launched.
#include "compiler/package/Host.h"

#include "compiler/graph/Pieces.h"
#include "compiler/graph/SizeMath.h"
#include "compiler/package/HostEmitter.h"
#include "compiler/support/Diagnostics.h"
#include "runtime/abi.h"
#include <cstddef>

using namespace mlir;
using namespace fathom::graph;

namespace fathom {

HostEmitter::HostEmitter(const Program &program, const MemoryPlan &memory, ModuleOp host)
    : program(program), main(program.main), memory(memory), symbols(getSymbols(program.module)), host(host),
      b(host.getContext()), loc(host.getLoc()), c(b, loc), pointer(LLVM::LLVMPointerType::get(host.getContext())),
      i64(b.getI64Type()), i32(b.getI32Type()), onDevice(memory.space != MemorySpace::Host), replayable(onDevice) {}

void HostEmitter::run() {
  for (const KernelCode &code : program.codes) {
    b.setInsertionPointToEnd(host.getBody());
    program.backend->declareEntry(c, code.symbol);
  }
  emitPlan();
  emitRun();
}

func::FuncOp HostEmitter::begin(StringRef name, ArrayRef<Type> arguments) {
  b.setInsertionPointToEnd(host.getBody());
  auto function = func::FuncOp::create(b, loc, name, b.getFunctionType(arguments, {i32}));
  b.setInsertionPointToStart(function.addEntryBlock());
  failed = function.addBlock();
  failed->addArgument(i32, loc);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(failed);
  func::ReturnOp::create(b, loc, failed->getArgument(0));
  return function;
}

void HostEmitter::loadSymbols(Value table) {
  c.symbols.assign(symbols.size(), Value());
  for (auto [i, symbol] : llvm::enumerate(symbols))
    if (!symbol.isComputed)
      c.symbols[i] = c.load(table, c.i64(i), i64);
}

Value HostEmitter::boolean(bool value) { return arith::ConstantOp::create(b, loc, b.getBoolAttr(value)); }

Value HostEmitter::checkedExpr(AffineExpr expr, Value &overflow) {
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!binary)
    return c.expr(expr);
  Value x = checkedExpr(binary.getLHS(), overflow), y = checkedExpr(binary.getRHS(), overflow);
  // A quotient or remainder is not larger than what is divided.
  if (expr.getKind() != AffineExprKind::Add && expr.getKind() != AffineExprKind::Mul)
    return c.binary(expr.getKind(), x, y);
  auto type = LLVM::LLVMStructType::getLiteral(b.getContext(), {i64, b.getI1Type()});
  Value both = expr.getKind() == AffineExprKind::Add ? Value(LLVM::SAddWithOverflowOp::create(b, loc, type, x, y))
                                                     : Value(LLVM::SMulWithOverflowOp::create(b, loc, type, x, y));
  Value bit = LLVM::ExtractValueOp::create(b, loc, both, 1);
  overflow = overflow ? Value(arith::OrIOp::create(b, loc, overflow, bit)) : bit;
  return LLVM::ExtractValueOp::create(b, loc, both, 0);
}

// Where each slot begins, and the arena's end.
SmallVector<Value> HostEmitter::slotOffsets() {
  SmallVector<Value> offsets{c.i64(memory.fixedBytes)};
  for (const auto &sizes : memory.slots) {
    Value largest = c.expr(sizes[0]);
    for (AffineExpr size : ArrayRef(sizes).drop_front())
      largest = c.max(largest, c.expr(size));
    offsets.push_back(c.add(offsets.back(), largest));
  }
  return offsets;
}

void HostEmitter::emitPlan() {
  func::FuncOp function = begin("fathom_plan", {pointer, pointer});
  loadSymbols(function.getArgument(0));
  Value sizes = function.getArgument(1), overflow;
  // Before anything is computed from sizes that may not go together.
  for (AssertOp check : main.getBody().front().getOps<AssertOp>())
    if (isForPlan(check))
      emitPlannedAssert(check, sizes);
  for (const auto &slot : memory.slots)
    for (AffineExpr size : slot) {
      // So large that the sum of all slots cannot overflow either, or negative.
      Value bytes = checkedExpr(size, overflow);
      Value huge = c.cmp(arith::CmpIPredicate::ugt, bytes, c.i64(maxElements));
      overflow = overflow ? Value(arith::OrIOp::create(b, loc, overflow, huge)) : huge;
    }
  if (overflow)
    failIf(overflow, c.i32(FATHOM_FAULT_SHAPE));
  c.store(slotOffsets().back(), sizes, c.i64(0), i64);
  int64_t at = 1;
  for (Value output : main.getBody().front().getTerminator()->getOperands())
    for (AffineExpr size : sizesOf(output))
      c.store(isComputed(size, symbols) ? c.i64(-1) : c.expr(size), sizes, c.i64(at++), i64);
  func::ReturnOp::create(b, loc, c.i32(0));
}

Value HostEmitter::field(Value base, size_t offset) {
  Value address = LLVM::GEPOp::create(b, loc, pointer, b.getI8Type(), base, ArrayRef<LLVM::GEPArg>{int32_t(offset)});
  return LLVM::LoadOp::create(b, loc, pointer, address, 8);
}
Value HostEmitter::service(size_t offset) { return field(services, offset); }

Value HostEmitter::addressAt(const Place &place) {
  auto entry = [&](Value table) {
    return LLVM::LoadOp::create(b, loc, pointer, c.address(table, c.i64(place.at), i64), 8);
  };
  switch (place.kind) {
  case Place::Input:
    return entry(inputs);
  case Place::Output:
    return entry(outputs);
  case Place::WeightData:
    return c.address(weights, c.i64(memory.weights[place.at].offset), b.getI8Type());
  case Place::Fixed:
    return c.address(arena, c.i64(place.at), b.getI8Type());
  case Place::Slot:
    return c.address(arena, slotTable ? c.load(slotTable, c.i64(place.at), i64) : slots[place.at], b.getI8Type());
  case Place::Heap:
  case Place::Pointer:
    break;
  }
  llvm_unreachable("the address was made by the code that knows it");
}

Value HostEmitter::addressOf(Value tensor) {
  // Through views to what has a place, and with what lies before each part on the way.
  AffineExpr offset = getAffineConstantExpr(0, b.getContext());
  while (!memory.places.contains(tensor) && tensor.getDefiningOp() && isView(tensor.getDefiningOp())) {
    if (auto slice = tensor.getDefiningOp<SliceOp>())
      offset = offset + offsetOf(slice);
    tensor = tensor.getDefiningOp()->getOperand(0);
  }
  if (AffineExpr within = memory.offsets.lookup(tensor))
    offset = offset + within;
  Value known = pointerTo(tensor);
  Value base = known ? known : addressAt(memory.places.lookup(tensor));
  offset = size::simplified(offset);
  return isConstant(offset, 0) ? base : c.address(base, c.expr(offset), b.getI8Type());
}

void HostEmitter::failIf(Value condition, Value fault) {
  Block *next = blockHere();
  cf::CondBranchOp::create(b, loc, condition, failed, ValueRange{fault}, next, ValueRange{});
  b.setInsertionPointToStart(next);
}

Value HostEmitter::text(StringRef words) {
  std::string name = "fathom.text." + std::to_string(texts++), bytes = words.str() + '\0';
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(host.getBody());
    auto type = LLVM::LLVMArrayType::get(b.getI8Type(), bytes.size());
    LLVM::GlobalOp::create(b, loc, type, /*isConstant=*/true, LLVM::Linkage::Private, name, b.getStringAttr(bytes));
  }
  return LLVM::AddressOfOp::create(b, loc, pointer, name);
}

Value HostEmitter::wordsOf(Location node, StringRef why) {
  return text(why.empty() ? nodeName(node).str() : (nodeName(node) + "\n" + why).str());
}

void HostEmitter::refuseIf(Value condition, int32_t fault, Location node, StringRef why) {
  Block *refused = blockHere(), *next = blockHere();
  cf::CondBranchOp::create(b, loc, condition, refused, ValueRange{}, next, ValueRange{});
  b.setInsertionPointToStart(refused);
  auto type = LLVM::LLVMFunctionType::get(i32, {pointer, i32, pointer});
  Value refuse = service(offsetof(fathom_services, refuse));
  Value code =
      LLVM::CallOp::create(b, loc, type, ValueRange{refuse, runtime, c.i32(fault), wordsOf(node, why)}).getResult();
  cf::BranchOp::create(b, loc, failed, ValueRange{code});
  b.setInsertionPointToStart(next);
}

Value HostEmitter::allocate(AffineExpr size, Location node) {
  Value overflow, bytes = checkedExpr(size, overflow);
  if (overflow)
    refuseIf(overflow, FATHOM_FAULT_SHAPE, node);
  return allocate(bytes, node);
}

Value HostEmitter::allocate(Value bytes, Location node) {
  replayable = false;
  return allocateBy(onDevice ? offsetof(fathom_services, device_allocate) : offsetof(fathom_services, allocate), bytes,
                    node);
}

Value HostEmitter::allocateHost(Value bytes, Location node) {
  return allocateBy(offsetof(fathom_services, allocate), bytes, node);
}

Value HostEmitter::allocateBy(size_t offset, Value bytes, Location node) {
  auto type = LLVM::LLVMFunctionType::get(pointer, {pointer, i64});
  Value memory = LLVM::CallOp::create(b, loc, type, ValueRange{service(offset), runtime, bytes}).getResult();
  Value none = LLVM::ZeroOp::create(b, loc, pointer);
  refuseIf(LLVM::ICmpOp::create(b, loc, LLVM::ICmpPredicate::eq, memory, none), FATHOM_FAULT_MEMORY, node);
  return memory;
}

void HostEmitter::release(Value memory) {
  auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(b.getContext()), {pointer, pointer});
  size_t offset = onDevice ? offsetof(fathom_services, device_release) : offsetof(fathom_services, release);
  LLVM::CallOp::create(b, loc, type, ValueRange{service(offset), runtime, memory});
}

void HostEmitter::callService(size_t offset, ValueRange arguments) {
  SmallVector<Value> operands{service(offset), runtime};
  llvm::append_range(operands, arguments);
  auto type = LLVM::LLVMFunctionType::get(i32, llvm::to_vector(llvm::drop_begin(ValueRange(operands).getTypes())));
  Value fault = LLVM::CallOp::create(b, loc, type, operands).getResult();
  failIf(c.cmp(arith::CmpIPredicate::ne, fault, c.i32(0)), fault);
}

// A kernel's result whose size data decides gets its memory here.
void HostEmitter::makeRoom(Value tensor) {
  Place place = memory.places.lookup(tensor);
  AffineExpr bytes = alignedBytes(tensor);
  if (place.kind == Place::Heap)
    setPointer(tensor, allocate(bytes, tensor.getLoc()));
  if (place.kind != Place::Output)
    return;
  // Views keep the number of elements, but not the dimensions. Data may decide these where there are no elements at
  // all.
  Value returned = main.getBody().front().getTerminator()->getOperand(place.at);
  if (llvm::none_of(sizesOf(returned), [&](AffineExpr size) { return isComputed(size, symbols); }))
    return;
  replayable = false;
  Value overflow, size = checkedExpr(bufferBytes(cast<RankedTensorType>(tensor.getType())), overflow);
  if (overflow)
    refuseIf(overflow, FATHOM_FAULT_SHAPE, tensor.getLoc());
  for (auto [i, dim] : llvm::enumerate(sizesOf(returned)))
    c.store(c.expr(dim), dims, c.i64(i), i64);
  auto type = LLVM::LLVMFunctionType::get(pointer, {pointer, i32, pointer, i64});
  Value made =
      LLVM::CallOp::create(b, loc, type,
                           ValueRange{service(offsetof(fathom_services, output)), runtime, c.i32(place.at), dims, size})
          .getResult();
  Value none = LLVM::ZeroOp::create(b, loc, pointer);
  refuseIf(LLVM::ICmpOp::create(b, loc, LLVM::ICmpPredicate::eq, made, none), FATHOM_FAULT_MEMORY, tensor.getLoc());
  setPointer(tensor, made);
}

// Whether none of these tensors has an element; null where one always does.
Value HostEmitter::areEmpty(ValueRange tensors) {
  Value all;
  for (Value tensor : tensors) {
    Value empty;
    for (AffineExpr size : sizesOf(tensor)) {
      if (size::lowerBound(size, symbols).value_or(0) >= 1)
        continue;
      Value none = c.cmp(arith::CmpIPredicate::eq, c.expr(size), c.i64(0));
      empty = empty ? Value(arith::OrIOp::create(b, loc, empty, none)) : none;
    }
    if (!empty)
      return Value();
    all = all ? c.both(all, empty) : empty;
  }
  return all;
}

void HostEmitter::launch(func::CallOp call) {
  size_t index = call->getAttrOfType<IntegerAttr>("graph.kernel").getInt();
  const Kernel &kernel = program.kernels[index];
  for (Value result : call.getResults())
    makeRoom(result);
  int64_t at = 0;
  auto put = [&](Value value) { LLVM::StoreOp::create(b, loc, value, c.address(arguments, c.i64(at++), i64), 8); };
  for (Value operand : call.getOperands())
    put(addressOf(operand));
  for (Value result : call.getResults())
    put(addressOf(result));
  SmallVector<AffineExpr> names;
  for (unsigned symbol : kernel.symbols) {
    put(c.symbols[symbol]);
    names.push_back(getAffineSymbolExpr(symbol, b.getContext()));
  }
  auto entryOf = [&](size_t code) { return program.backend->entryOf(c, program.codes[code].symbol, code); };
  auto tasksOf = [&](size_t code) { return c.expr(program.codes[code].grid.tasks.replaceSymbols(names)); };
  Value entry = entryOf(kernel.code), tasks = tasksOf(kernel.code);
  Value extent = kernel.versions.empty() ? Value() : c.expr(kernel.extent.replaceSymbols(names));
  for (auto [version, code] : llvm::reverse(llvm::zip_equal(kernel.versions, kernel.versionCodes))) {
    Value isSmall = c.cmp(arith::CmpIPredicate::sle, extent, c.i64(version.upTo));
    entry = LLVM::SelectOp::create(b, loc, isSmall, entryOf(code), entry);
    tasks = c.select(isSmall, tasksOf(code), tasks);
  }
  // Loops over the other dimensions could take for ever.
  if (Value nothing = areEmpty(call.getResults()))
    tasks = c.select(nothing, c.i64(0), tasks);
  Value result = program.backend->emitLaunch(c, {services, runtime, int32_t(index), entry, arguments, tasks});
  failIf(c.cmp(arith::CmpIPredicate::ne, result, c.i32(0)), result);
}

void HostEmitter::emitBlock(Block &block) {
  bool isLong = slotTable && &block == &main.getBody().front();
  Operation *fewUntil = nullptr; // the end of a run of launches that are not so many
  for (Operation *next = &block.front(); next;) {
    if (isLong && !fewUntil && isa<func::CallOp>(next)) {
      SmallVector<func::CallOp> launches = launchesFrom(next);
      if (emitParts(launches))
        next = launches.back()->getNextNode();
      else
        fewUntil = launches.empty() ? next : launches.back();
    }
    Operation &op = *next;
    fewUntil = fewUntil == next ? nullptr : fewUntil;
    next = next->getNextNode();
    emitOp(op);
  }
}

void HostEmitter::emitOp(Operation &op) {
  TypeSwitch<Operation *>(&op)
      .Case([&](func::CallOp call) { launch(call); })
      .Case([&](PinOp pin) { emitPin(pin); })
      .Case([&](AssertOp check) {
        if (!isForPlan(check))
          emitAssert(check);
      })
      .Case([&](IfOp branch) { emitIf(branch); })
      .Case([&](LoopOp loop) { emitLoop(loop); });
  if (auto found = memory.released.find(&op); found != memory.released.end() && !op.hasTrait<OpTrait::IsTerminator>())
    for (Value tensor : found->second)
      release(pointerTo(tensor));
}

void HostEmitter::emitRun() {
  func::FuncOp function = begin("fathom_run", {pointer});
  call = function.getArgument(0);
  loadCall(call);
  slots = slotOffsets();
  size_t longest = 1, rank = 1;
  main.walk([&](func::CallOp op) {
    size_t index = op->getAttrOfType<IntegerAttr>("graph.kernel").getInt();
    longest =
        std::max<size_t>(longest, op.getNumOperands() + op.getNumResults() + program.kernels[index].symbols.size());
  });
  for (Value output : main.getBody().front().getTerminator()->getOperands())
    rank = std::max<size_t>(rank, sizesOf(output).size());
  // One block serves all launches: each has ended before the next one's arguments are written.
  arguments = LLVM::AllocaOp::create(b, loc, pointer, i64, c.i64(longest), 8);
  dims = LLVM::AllocaOp::create(b, loc, pointer, i64, c.i64(rank), 8);
  makeStaging();
  if (hasManyLaunches()) {
    slotTable = LLVM::AllocaOp::create(b, loc, pointer, i64, c.i64(slots.size()), 8);
    for (auto [i, slot] : llvm::enumerate(slots))
      c.store(slot, slotTable, c.i64(i), i64);
    makeTable();
  }
  if (table)
    emitAllInParts(main.getBody().front());
  else
    emitBlock(main.getBody().front());
  func::ReturnOp::create(b, loc, c.i32(0));
}

bool emitHost(const Program &program, const MemoryPlan &memory, ModuleOp host) {
  HostEmitter emitter(program, memory, host);
  emitter.run();
  return emitter.isReplayable();
}

} // namespace fathom
