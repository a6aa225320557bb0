// Arguments, groups and items of a kernel's function, and the end of it.
#include "compiler/codegen/simt/SimtKernel.h"

#include "compiler/graph/SizeMath.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"

using namespace mlir;

namespace fathom {

static func::FuncOp createFunction(func::FuncOp kernel, StringRef name, unsigned symbolCount, OpBuilder &b,
                                   ModuleOp loops) {
  unsigned pointers = kernel.getNumArguments() + kernel.getBody().front().getTerminator()->getNumOperands() + 2;
  SmallVector<Type> types(pointers, LLVM::LLVMPointerType::get(b.getContext(), globalMemory));
  types.append(symbolCount, b.getI64Type());
  b.setInsertionPointToEnd(loops.getBody());
  auto function = func::FuncOp::create(b, kernel.getLoc(), name, b.getFunctionType(types, {}));
  function->setAttr(gpu::GPUDialect::getKernelFuncAttrName(), b.getUnitAttr());
  for (unsigned i = 0; i < pointers; ++i)
    function.setArgAttr(i, LLVM::LLVMDialect::getNoAliasAttrName(), b.getUnitAttr());
  b.setInsertionPointToStart(function.addEntryBlock());
  return function;
}

SimtFunction::SimtFunction(func::FuncOp kernel, StringRef name, unsigned symbolCount, const Target &target,
                           ModuleOp loops)
    : b(kernel.getContext()), function(createFunction(kernel, name, symbolCount, b, loops)), c(b, kernel.getLoc()),
      e(c, target), body{e, kernel, {}, {}, {}, {}, anchorOf(kernel), {}, {}} {
  Operation *terminator = kernel.getBody().front().getTerminator();
  unsigned inputs = kernel.getNumArguments(), pointers = function.getNumArguments() - symbolCount;
  for (unsigned i = 0; i < symbolCount; ++i)
    c.symbols.push_back(function.getArgument(pointers + i));
  faultCode = function.getArgument(pointers - 2), body.scratch = function.getArgument(pointers - 1);
  e.fault = LLVM::AllocaOp::create(b, c.loc, LLVM::LLVMPointerType::get(b.getContext()), b.getI32Type(), c.i32(1));
  LLVM::StoreOp::create(b, c.loc, c.i32(0), e.fault);
  for (auto [i, argument] : llvm::enumerate(kernel.getArguments()))
    e.addBuffer(argument, function.getArgument(i));
  for (auto [i, value] : llvm::enumerate(terminator->getOperands())) {
    auto type = cast<RankedTensorType>(value.getType());
    body.returned.push_back(value);
    body.outputs.push_back({function.getArgument(inputs + i), type, layoutOf(type)});
  }
  auto id = [&](Value number) -> Value { return arith::IndexCastOp::create(b, c.loc, b.getI64Type(), number); };
  group = id(gpu::BlockIdOp::create(b, c.loc, gpu::Dimension::x));
  item = id(gpu::ThreadIdOp::create(b, c.loc, gpu::Dimension::x));
}

void SimtFunction::end() {
  // Any of several faults: work items have no order.
  Value fault = LLVM::LoadOp::create(b, c.loc, b.getI32Type(), e.fault);
  c.when(c.cmp(arith::CmpIPredicate::ne, fault, c.i32(0)), [&] { LLVM::StoreOp::create(b, c.loc, fault, faultCode); });
  func::ReturnOp::create(b, c.loc);
}

FailureOr<Grid> emitItems(func::FuncOp kernel, ClassEmitter emit, const Schedule &schedule, StringRef name,
                          unsigned symbolCount, const Target &target, ModuleOp loops) {
  SimtFunction f(kernel, name, symbolCount, target, loops);
  Code &c = f.c;
  // How many tasks there are, what scratch each takes, and so how many items make a group is known when they are
  // emitted: it is filled in then.
  auto later = [&](Type type) { return arith::ConstantOp::create(c.b, c.loc, c.b.getIntegerAttr(type, 1)); };
  arith::ConstantOp items = later(c.b.getI64Type()), scratchBytes = later(c.b.getI64Type()),
                    isInside = later(c.b.getI1Type());
  auto product = [&](Value x, Value y) { return arith::MulIOp::create(c.b, c.loc, x, y).getResult(); };
  KernelBody &k = f.body;
  k.task = c.add(product(f.group, items), f.item), k.tasksEnd = c.add(k.task, 1);
  k.isHeld = c.integer(c.b.getI1Type(), 0);
  k.scratch = c.address(k.scratch, product(k.task, scratchBytes), c.b.getI8Type());
  Grid grid;
  auto inside = scf::IfOp::create(c.b, c.loc, isInside, [&](OpBuilder &, Location) {
    grid = emit(k, schedule);
    if (grid.tasks)
      k.clearHalos(grid.tasks);
    scf::YieldOp::create(c.b, c.loc);
  });
  f.end();
  if (f.e.failed || !grid.tasks)
    return failure();

  // A single task needs no other items beside it, nor does one that has a lot of scratch.
  bool isAlone = graph::isConstant(grid.tasks, 1) || grid.scratchBytes > target.gpu.taskScratchBytes;
  int64_t groupItems = isAlone ? 1 : std::min(target.gpu.taskItems, target.gpu.groupItems);
  OpBuilder::InsertionGuard guard(c.b);
  c.b.setInsertionPoint(inside);
  items.setValueAttr(c.b.getI64IntegerAttr(groupItems));
  scratchBytes.setValueAttr(c.b.getI64IntegerAttr(grid.scratchBytes));
  inside.getConditionMutable().assign(c.cmp(arith::CmpIPredicate::slt, k.task, c.expr(grid.tasks)));
  grid.tasks = graph::size::simplified(grid.tasks.ceilDiv(groupItems));
  grid.groupItems = groupItems, grid.scratchBytes *= groupItems;
  return grid;
}

} // namespace fathom
