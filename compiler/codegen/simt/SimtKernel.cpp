// Work items that each compute some neighbouring elements.
#include "compiler/codegen/simt/SimtKernel.h"

#include "compiler/codegen/common/LoopCode.h"
#include "compiler/graph/SizeMath.h"
#include "compiler/schedule/Sweep.h"
#include "compiler/support/Diagnostics.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"

using namespace mlir;

namespace fathom {

FailureOr<Grid> emitSimtMap(func::FuncOp kernel, const Schedule &schedule, StringRef name, unsigned symbolCount,
                            const Target &target, ModuleOp loops) {
  MLIRContext *context = kernel.getContext();
  OpBuilder b(context);
  Location loc = kernel.getLoc();
  Operation *terminator = kernel.getBody().front().getTerminator();
  unsigned inputs = kernel.getNumArguments(), pointers = inputs + terminator->getNumOperands() + 2;
  SmallVector<Type> types(pointers, LLVM::LLVMPointerType::get(context, globalMemory));
  types.append(symbolCount, b.getI64Type());

  b.setInsertionPointToEnd(loops.getBody());
  auto function = func::FuncOp::create(b, loc, name, b.getFunctionType(types, {}));
  function->setAttr(gpu::GPUDialect::getKernelFuncAttrName(), b.getUnitAttr());
  for (unsigned i = 0; i < pointers; ++i)
    function.setArgAttr(i, LLVM::LLVMDialect::getNoAliasAttrName(), b.getUnitAttr());
  b.setInsertionPointToStart(function.addEntryBlock());

  Code c(b, loc);
  for (unsigned i = 0; i < symbolCount; ++i)
    c.symbols.push_back(function.getArgument(pointers + i));
  Emitter e(c, target);
  e.fault = LLVM::AllocaOp::create(b, loc, LLVM::LLVMPointerType::get(context), b.getI32Type(), c.i32(1));
  LLVM::StoreOp::create(b, loc, c.i32(0), e.fault);
  for (auto [i, argument] : llvm::enumerate(kernel.getArguments()))
    e.addBuffer(argument, function.getArgument(i));
  SmallVector<Buffer, 1> outputs;
  for (auto [i, value] : llvm::enumerate(terminator->getOperands())) {
    auto type = cast<RankedTensorType>(value.getType());
    outputs.push_back({function.getArgument(inputs + i), type, layoutOf(type)});
    if (outputs.back().layout.hasHalo())
      return emitError(loc, ErrorCode::Internal) << "work items write no zeros around their results";
  }

  auto type = cast<RankedTensorType>(terminator->getOperand(0).getType());
  SmallVector<Loop> dims = loopsOver(type, {});
  AffineExpr count = iterations(dims, context);
  int64_t grain = typed<MapSchedule>(schedule).grain;
  auto id = [&](Value number) -> Value { return arith::IndexCastOp::create(b, loc, b.getI64Type(), number); };
  Value group = id(gpu::BlockIdOp::create(b, loc, gpu::Dimension::x));
  Value local = id(gpu::ThreadIdOp::create(b, loc, gpu::Dimension::x));
  Value low = c.mul(c.add(c.mul(group, defaultGroupItems), local), grain), high = c.min(c.add(low, grain), c.expr(count));
  c.loop(low, high, 1, [&](Value position) {
    Indices index = e.zeros(type.getRank());
    delinearize(c, position, dims, index);
    e.computeAndStore(terminator->getOperands(), outputs, index, 1);
  });
  // Any of several faults: work items have no order.
  Value fault = LLVM::LoadOp::create(b, loc, b.getI32Type(), e.fault);
  c.when(c.cmp(arith::CmpIPredicate::ne, fault, c.i32(0)),
         [&] { LLVM::StoreOp::create(b, loc, fault, function.getArgument(pointers - 2)); });
  func::ReturnOp::create(b, loc);
  if (e.failed)
    return failure();
  Grid grid;
  grid.tasks = graph::size::simplified(count.ceilDiv(grain * defaultGroupItems));
  grid.groupItems = defaultGroupItems;
  return grid;
}

} // namespace fathom
