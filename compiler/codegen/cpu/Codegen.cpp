// Emits a kernel's function: unpacks the arguments, dispatches on the kernel's class, returns the fault.
#include "compiler/codegen/cpu/Codegen.h"

#include "compiler/codegen/cpu/CpuClasses.h"

using namespace mlir;

namespace fathom {

// The entry that the runtime calls: loads the argument block and calls the function, whose pointers are known not to
// alias, for as many tasks at a time as share work, until one faults.
static void emitEntry(func::FuncOp function, unsigned pointers, unsigned symbols, int64_t groupTasks) {
  MLIRContext *context = function.getContext();
  OpBuilder b(context);
  Location loc = function.getLoc();
  b.setInsertionPointAfter(function);
  auto pointer = LLVM::LLVMPointerType::get(context);
  Type i64 = b.getI64Type(), i32 = b.getI32Type();
  auto entry = func::FuncOp::create(b, loc, (function.getName() + ".task").str(),
                                    b.getFunctionType({pointer, i64, i64, i64, pointer}, {i32}));
  b.setInsertionPointToStart(entry.addEntryBlock());
  Code c(b, loc);
  SmallVector<Value> arguments;
  for (unsigned i = 0; i < pointers + symbols; ++i) {
    Value slot = LLVM::GEPOp::create(b, loc, pointer, i64, entry.getArgument(0), ArrayRef<LLVM::GEPArg>{int32_t(i)});
    arguments.push_back(LLVM::LoadOp::create(b, loc, i < pointers ? Type(pointer) : i64, slot, 8));
  }
  Value first = entry.getArgument(1), last = entry.getArgument(2), none = c.i32(0);
  Value firstGroup = c.div(first, c.i64(groupTasks));
  // Only the first group finds what a run before left. Divided without a sign, -1 is far behind all groups.
  Value held = c.cmp(arith::CmpIPredicate::eq, c.div(entry.getArgument(3), c.i64(groupTasks)), firstGroup);
  Value lastGroup = c.div(c.add(last, groupTasks - 1), c.i64(groupTasks));
  Value fault = c.loop(firstGroup, lastGroup, 1, none, [&](Value group, ValueRange before) {
    return SmallVector<Value>{c.when(
        c.cmp(arith::CmpIPredicate::eq, before[0], none),
        [&] {
          SmallVector<Value> all = arguments;
          Value start = c.mul(group, groupTasks);
          all.append({c.max(first, start), c.min(last, c.add(start, groupTasks)),
                      c.both(held, c.cmp(arith::CmpIPredicate::eq, group, firstGroup)), entry.getArgument(4)});
          return func::CallOp::create(b, loc, function, all).getResult(0);
        },
        [&] { return before[0]; })};
  })[0];
  func::ReturnOp::create(b, loc, fault);
}

FailureOr<Grid> emitKernel(func::FuncOp kernel, const KernelClass &klass, const Schedule &schedule, StringRef name,
                           unsigned symbolCount, const CodegenOptions &options, ModuleOp loops) {
  MLIRContext *context = kernel.getContext();
  OpBuilder b(context);
  Location loc = kernel.getLoc();
  auto pointer = LLVM::LLVMPointerType::get(context);
  Type i64 = b.getI64Type(), i32 = b.getI32Type();
  Operation *terminator = kernel.getBody().front().getTerminator();
  unsigned inputs = kernel.getNumArguments(), results = terminator->getNumOperands(), pointers = inputs + results;
  SmallVector<Type> types(pointers, pointer);
  types.append(symbolCount + 2, i64);
  types.append({b.getI1Type(), pointer});

  b.setInsertionPointToEnd(loops.getBody());
  auto function = func::FuncOp::create(b, loc, name, b.getFunctionType(types, {i32}));
  for (unsigned i = 0; i < pointers; ++i)
    function.setArgAttr(i, LLVM::LLVMDialect::getNoAliasAttrName(), b.getUnitAttr());
  function.setArgAttr(types.size() - 1, LLVM::LLVMDialect::getNoAliasAttrName(), b.getUnitAttr());
  b.setInsertionPointToStart(function.addEntryBlock());

  Code c(b, loc);
  for (unsigned i = 0; i < symbolCount; ++i)
    c.symbols.push_back(function.getArgument(pointers + i));
  Emitter e(c, options.target);
  e.fault = LLVM::AllocaOp::create(b, loc, pointer, i32, c.i32(1));
  LLVM::StoreOp::create(b, loc, c.i32(0), e.fault);
  for (auto [i, argument] : llvm::enumerate(kernel.getArguments()))
    e.addBuffer(argument, function.getArgument(i));
  KernelBody body{e,
                  kernel,
                  function.getArgument(pointers + symbolCount),
                  function.getArgument(pointers + symbolCount + 1),
                  function.getArgument(pointers + symbolCount + 2),
                  function.getArgument(pointers + symbolCount + 3),
                  anchorOf(kernel),
                  {},
                  {}};
  for (auto [i, value] : llvm::enumerate(terminator->getOperands())) {
    auto type = cast<RankedTensorType>(value.getType());
    body.returned.push_back(value);
    body.outputs.push_back({function.getArgument(inputs + i), type, layoutOf(type)});
  }
  Grid grid = emitterOf(klass)(body, schedule);
  if (grid.tasks)
    body.clearHalos(grid.tasks);
  Value fault = LLVM::LoadOp::create(b, loc, i32, e.fault);
  func::ReturnOp::create(b, loc, fault);
  if (e.failed || !grid.tasks)
    return failure();
  emitEntry(function, pointers, symbolCount, grid.groupTasks);
  return grid;
}

} // namespace fathom
