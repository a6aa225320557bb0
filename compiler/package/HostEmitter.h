// The emitter of the model's host code, in four files: calls and memory, control flow, devices, and parts of long
// code. Internal to compiler/package.
#pragma once

#include "compiler/codegen/common/Code.h"
#include "compiler/package/MemoryPlan.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "llvm/ADT/BitVector.h"

namespace fathom {

class HostEmitter {
public:
  HostEmitter(const Program &program, const MemoryPlan &memory, mlir::ModuleOp host);
  void run();
  // Whether the launches follow from symbols and addresses alone and the host reads nothing: a device can record them.
  bool isReplayable() const { return replayable; }

private:
  using Value = mlir::Value;

  // Host.cpp: the functions, memory and launches.
  mlir::func::FuncOp begin(llvm::StringRef name, llvm::ArrayRef<mlir::Type> arguments);
  void loadSymbols(Value table);
  llvm::SmallVector<Value> slotOffsets();
  void emitPlan();
  void emitRun();
  Value field(Value base, size_t offset);
  Value service(size_t offset);
  Value addressAt(const Place &place);
  Value addressOf(Value tensor);
  void emitBlock(mlir::Block &block);
  void emitOp(mlir::Operation &op);
  void launch(mlir::func::CallOp call);
  Value areEmpty(mlir::ValueRange tensors);
  void makeRoom(Value tensor);
  void release(Value pointer);
  Value allocate(mlir::AffineExpr bytes, mlir::Location node);
  Value allocate(Value bytes, mlir::Location node);
  Value allocateHost(Value bytes, mlir::Location node);
  Value allocateBy(size_t service, Value bytes, mlir::Location node);
  // The value of an expression, with a fault where it overflows.
  Value checkedExpr(mlir::AffineExpr expr, Value &overflow);
  // Ends the run with this fault where the condition holds, and goes on in a new block.
  void failIf(Value condition, Value fault);
  // Ends the run where the condition holds; `why` says more than the fault where something is known.
  void refuseIf(Value condition, int32_t fault, mlir::Location node, llvm::StringRef why = "");
  // Calls a service that results in a fault.
  void callService(size_t service, mlir::ValueRange arguments);
  Value text(llvm::StringRef words);
  // What the runtime is told where a run is refused.
  Value wordsOf(mlir::Location node, llvm::StringRef why);
  Value boolean(bool value);

  // HostParts.cpp
  void loadCall(Value call); // what the runtime gives
  bool hasManyLaunches();
  bool isComputedAnywhere(mlir::AffineExpr size);
  bool isSelfContained(mlir::func::CallOp call);
  // From an op on, as many as another function could do.
  llvm::SmallVector<mlir::func::CallOp> launchesFrom(mlir::Operation *first);
  // Emits launches as functions of their own, if they are many.
  bool emitParts(llvm::ArrayRef<mlir::func::CallOp> launches);
  void emitPart(llvm::ArrayRef<mlir::Operation *> ops);
  // Where data decides sizes, values pass between parts through a table.
  void makeTable();
  void emitAllInParts(mlir::Block &block);
  void loadSymbolsFor(mlir::Operation *op);
  void loadBoundSymbols();
  Value pointerTo(Value tensor); // null where it is known without
  void setPointer(Value tensor, Value address);

  // HostControl.cpp
  void emitPin(graph::PinOp op);
  void emitAssert(graph::AssertOp op);
  // What the inputs' sizes decide is checked by `plan`, which knows everything that is needed.
  bool isForPlan(graph::AssertOp op);
  void emitPlannedAssert(graph::AssertOp op, Value sizes);
  Value isBroken(graph::AssertOp op); // null where there is nothing to check
  void emitIf(graph::IfOp op);
  void emitLoop(graph::LoopOp op);
  Value loadScalar(Value tensor);
  // HostDevice.cpp: what lies in a device's memory is read and written through the runtime.
  void makeStaging();
  // Where the host reads a tensor: itself, or a copy of `count` of a device's elements from `first` on.
  Value readable(Value tensor, int64_t first, int64_t count);
  void storeScalar(Value value, Value tensor);
  void copy(Value to, Value from, Value bytes);
  mlir::Block *blockHere(llvm::ArrayRef<mlir::Type> arguments = {});
  void bindSymbol(unsigned position, Value value, mlir::Location node, llvm::StringRef why = "");

  const Program &program;
  mlir::func::FuncOp main;
  const MemoryPlan &memory;
  graph::SymbolList symbols;
  mlir::ModuleOp host;
  mlir::OpBuilder b;
  mlir::Location loc;
  Code c;
  mlir::Type pointer, i64, i32;
  bool onDevice, replayable;
  Value staging; // of the host, as large as anything that is read back; null where nothing is
  Value call, services, runtime, weights, arena, inputs, outputs, arguments, dims;
  llvm::SmallVector<Value> slots;
  Value slotTable; // where slots begin, in code that is emitted in parts
  // What the run has found out on its way, for such code: all symbols, then the addresses of buffers by their numbers.
  Value table;
  llvm::BitVector bound; // the symbols that are in the table by now
  llvm::DenseMap<Value, unsigned> numbers;
  unsigned parts = 0;
  llvm::DenseMap<Value, Value> pointers; // addresses that are known only as the code runs, by buffer
  mlir::Block *failed = nullptr;
  unsigned texts = 0;
};

} // namespace fathom
