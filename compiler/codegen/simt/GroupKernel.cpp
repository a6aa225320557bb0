// The function around the code of a group.
#include "compiler/codegen/simt/GroupKernel.h"

#include "compiler/kernel/KernelClass.h"
#include "compiler/support/Diagnostics.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"

using namespace mlir;

namespace fathom {

GroupKernel::GroupKernel(func::FuncOp kernel, StringRef name, unsigned symbolCount, const Target &target,
                         ModuleOp loops)
    : b(kernel.getContext()), c(b, kernel.getLoc()), e(c, target), kernel(kernel), anchor(anchorOf(kernel)) {
  MLIRContext *context = kernel.getContext();
  Operation *terminator = kernel.getBody().front().getTerminator();
  returned = llvm::to_vector(terminator->getOperands());
  unsigned inputs = kernel.getNumArguments(), pointers = inputs + returned.size() + 2;
  faultArgument = pointers - 2;
  SmallVector<Type> types(pointers, LLVM::LLVMPointerType::get(context, globalMemory));
  types.append(symbolCount, b.getI64Type());
  b.setInsertionPointToEnd(loops.getBody());
  function = func::FuncOp::create(b, c.loc, name, b.getFunctionType(types, {}));
  function->setAttr(gpu::GPUDialect::getKernelFuncAttrName(), b.getUnitAttr());
  for (unsigned i = 0; i < pointers; ++i)
    function.setArgAttr(i, LLVM::LLVMDialect::getNoAliasAttrName(), b.getUnitAttr());
  b.setInsertionPointToStart(function.addEntryBlock());
  for (unsigned i = 0; i < symbolCount; ++i)
    c.symbols.push_back(function.getArgument(pointers + i));
  e.fault = LLVM::AllocaOp::create(b, c.loc, LLVM::LLVMPointerType::get(context), b.getI32Type(), c.i32(1));
  LLVM::StoreOp::create(b, c.loc, c.i32(0), e.fault);
  auto align = [&](unsigned argument, Value tensor) {
    auto type = dyn_cast<RankedTensorType>(tensor.getType());
    if (type && !layoutOf(type).hasRoom())
      function.setArgAttr(argument, LLVM::LLVMDialect::getAlignAttrName(), b.getI64IntegerAttr(operandAlignment));
  };
  for (auto [i, argument] : llvm::enumerate(kernel.getArguments()))
    e.addBuffer(argument, function.getArgument(i)), align(i, argument);
  for (auto [i, value] : llvm::enumerate(returned)) {
    auto type = cast<RankedTensorType>(value.getType());
    outputs.push_back({function.getArgument(inputs + i), type, layoutOf(type)});
    hasHalo |= outputs.back().layout.hasHalo(), align(inputs + i, value);
  }
  auto id = [&](Value number) -> Value { return arith::IndexCastOp::create(b, c.loc, b.getI64Type(), number); };
  group = id(gpu::BlockIdOp::create(b, c.loc, gpu::Dimension::x));
  item = id(gpu::ThreadIdOp::create(b, c.loc, gpu::Dimension::x));
}

LogicalResult GroupKernel::end() {
  if (hasHalo)
    return emitError(c.loc, ErrorCode::Internal) << "work items write no zeros around their results";
  // Any of several faults: work items have no order.
  Value fault = LLVM::LoadOp::create(b, c.loc, b.getI32Type(), e.fault);
  c.when(c.cmp(arith::CmpIPredicate::ne, fault, c.i32(0)),
         [&] { LLVM::StoreOp::create(b, c.loc, fault, function.getArgument(faultArgument)); });
  func::ReturnOp::create(b, c.loc);
  return failure(e.failed);
}

Value GroupKernel::allocateLocal(Type element, int64_t count) {
  OpBuilder::InsertionGuard guard(b);
  std::string name = (function.getName() + ".local" + Twine(locals++)).str();
  b.setInsertionPoint(function);
  LLVM::GlobalOp::create(b, c.loc, LLVM::LLVMArrayType::get(memoryType(element), count), /*isConstant=*/false,
                         LLVM::Linkage::Internal, name, Attribute(), operandAlignment, localMemory);
  b.setInsertionPointToStart(&function.getBody().front());
  return LLVM::AddressOfOp::create(b, c.loc, LLVM::LLVMPointerType::get(b.getContext(), localMemory), name);
}

void GroupKernel::barrier() { gpu::BarrierOp::create(b, c.loc); }

void GroupKernel::storeAnchor(ArrayRef<Index> index, Value value) {
  e.bind(anchor->getResult(0), [=](ArrayRef<Index>, int64_t) { return value; });
  e.computeAndStore(returned, outputs, index, 1);
}

} // namespace fathom
