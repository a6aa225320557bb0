// Emission of the host functions.
#include "compiler/package/Host.h"

#include "compiler/codegen/common/Code.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "runtime/abi.h"
#include <cstddef>

using namespace mlir;
using namespace fathom::graph;

namespace fathom {
namespace {

class HostEmitter {
public:
  HostEmitter(const Program &program, const MemoryPlan &memory, ModuleOp host)
      : program(program), main(program.main), memory(memory), host(host), b(host.getContext()), loc(host.getLoc()),
        c(b, loc), pointer(LLVM::LLVMPointerType::get(host.getContext())) {}

  void run() {
    symbolCount = getSymbols(program.module).size();
    for (const KernelCode &code : program.codes) {
      b.setInsertionPointToEnd(host.getBody());
      auto type = LLVM::LLVMFunctionType::get(b.getI32Type(), {pointer, b.getI64Type(), pointer});
      auto declaration = LLVM::LLVMFuncOp::create(b, loc, code.symbol + ".task", type);
      declaration.setVisibility_(LLVM::Visibility::Hidden);
    }
    emitPlan();
    emitRun();
  }

private:
  func::FuncOp begin(StringRef name, ArrayRef<Type> arguments) {
    b.setInsertionPointToEnd(host.getBody());
    auto function = func::FuncOp::create(b, loc, name, b.getFunctionType(arguments, {b.getI32Type()}));
    b.setInsertionPointToStart(function.addEntryBlock());
    return function;
  }
  void loadSymbols(Value symbols) {
    c.symbols.clear();
    for (size_t i = 0; i < symbolCount; ++i)
      c.symbols.push_back(c.load(symbols, c.i64(i), b.getI64Type()));
  }
  // Where each slot begins, and the arena's end.
  SmallVector<Value> slotOffsets() {
    SmallVector<Value> offsets{c.i64(memory.fixedBytes)};
    for (const auto &sizes : memory.slots) {
      Value largest = c.expr(sizes[0]);
      for (AffineExpr size : ArrayRef(sizes).drop_front())
        largest = c.max(largest, c.expr(size));
      offsets.push_back(c.add(offsets.back(), largest));
    }
    return offsets;
  }

  void emitPlan() {
    func::FuncOp function = begin("fathom_plan", {pointer, pointer});
    loadSymbols(function.getArgument(0));
    Value sizes = function.getArgument(1);
    c.store(slotOffsets().back(), sizes, c.i64(0), b.getI64Type());
    int64_t at = 1;
    for (Value output : main.getBody().front().getTerminator()->getOperands())
      for (AffineExpr size : sizesOf(output))
        c.store(c.expr(size), sizes, c.i64(at++), b.getI64Type());
    func::ReturnOp::create(b, loc, c.i32(0));
  }

  Value field(Value call, size_t offset) {
    Value address = LLVM::GEPOp::create(b, loc, pointer, b.getI8Type(), call, ArrayRef<LLVM::GEPArg>{int32_t(offset)});
    return LLVM::LoadOp::create(b, loc, pointer, address, 8);
  }

  Value addressOf(Value tensor) {
    Value root = memory.places.contains(tensor) ? tensor : bufferRoot(tensor);
    Place place = memory.places.lookup(root);
    auto entry = [&](Value table) {
      return LLVM::LoadOp::create(b, loc, pointer, c.address(table, c.i64(place.at), b.getI64Type()), 8);
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
      return c.address(arena, slots[place.at], b.getI8Type());
    }
    llvm_unreachable("all kinds are handled");
  }

  void emitRun() {
    func::FuncOp function = begin("fathom_run", {pointer});
    Value call = function.getArgument(0);
    Value services = field(call, offsetof(fathom_call, services)), runtime = field(call, offsetof(fathom_call, host));
    weights = field(call, offsetof(fathom_call, weights));
    arena = field(call, offsetof(fathom_call, arena));
    inputs = field(call, offsetof(fathom_call, inputs));
    outputs = field(call, offsetof(fathom_call, outputs));
    loadSymbols(field(call, offsetof(fathom_call, symbols)));
    slots = slotOffsets();
    Value launch = field(services, offsetof(fathom_services, launch));
    size_t longest = 1;
    for (Operation &op : main.getBody().front())
      longest = std::max<size_t>(longest, op.getNumOperands() + op.getNumResults() + symbolCount);
    // One block serves all launches: each has ended before the next one's arguments are written.
    Value block = LLVM::AllocaOp::create(b, loc, pointer, b.getI64Type(), c.i64(longest), 8);

    Block *failed = function.addBlock();
    Value fault = failed->addArgument(b.getI32Type(), loc);
    size_t kernel = 0;
    auto type =
        LLVM::LLVMFunctionType::get(b.getI32Type(), {pointer, b.getI32Type(), pointer, pointer, b.getI64Type()});
    for (Operation &op : main.getBody().front()) {
      auto invoke = dyn_cast<func::CallOp>(op);
      if (!invoke)
        continue;
      int64_t at = 0;
      auto put = [&](Value value) {
        LLVM::StoreOp::create(b, loc, value, c.address(block, c.i64(at++), b.getI64Type()), 8);
      };
      for (Value operand : invoke.getOperands())
        put(addressOf(operand));
      for (Value result : invoke.getResults())
        put(addressOf(result));
      for (Value symbol : c.symbols)
        put(symbol);
      const KernelCode &code = program.codes[program.kernels[kernel].code];
      Value entry = LLVM::AddressOfOp::create(b, loc, pointer, code.symbol + ".task");
      Value result =
          LLVM::CallOp::create(b, loc, type,
                               ValueRange{launch, runtime, c.i32(kernel), entry, block, c.expr(code.grid.tasks)})
              .getResult();
      ++kernel;
      Block *next = b.createBlock(failed);
      b.setInsertionPointToEnd(next->getPrevNode());
      Value ok = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, result, c.i32(0));
      cf::CondBranchOp::create(b, loc, ok, next, ValueRange{}, failed, ValueRange{result});
      b.setInsertionPointToStart(next);
    }
    func::ReturnOp::create(b, loc, c.i32(0));
    b.setInsertionPointToStart(failed);
    func::ReturnOp::create(b, loc, fault);
  }

  const Program &program;
  func::FuncOp main;
  const MemoryPlan &memory;
  ModuleOp host;
  OpBuilder b;
  Location loc;
  Code c;
  Type pointer;
  size_t symbolCount = 0;
  Value weights, arena, inputs, outputs;
  SmallVector<Value> slots;
};

} // namespace

void emitHost(const Program &program, const MemoryPlan &memory, ModuleOp host) {
  HostEmitter(program, memory, host).run();
}

} // namespace fathom
