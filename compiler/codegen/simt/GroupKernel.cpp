// The function around the code of a group.
#include "compiler/codegen/simt/GroupKernel.h"

#include "compiler/codegen/simt/SimtBackend.h"
#include "compiler/kernel/KernelClass.h"
#include "compiler/support/Diagnostics.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

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

Value allocateLocal(Emitter &e, Type element, int64_t count) {
  Code &c = e.c;
  OpBuilder &b = c.b;
  OpBuilder::InsertionGuard guard(b);
  // What is being built around the insertion point is not in the function yet.
  auto function = e.fault.getDefiningOp()->getParentOfType<func::FuncOp>();
  auto module = function->getParentOfType<ModuleOp>();
  std::string name;
  for (unsigned number = 0; number == 0 || module.lookupSymbol(name); ++number)
    name = (function.getName() + ".local" + Twine(number)).str();
  b.setInsertionPoint(function);
  LLVM::GlobalOp::create(b, c.loc, LLVM::LLVMArrayType::get(memoryType(element), count), /*isConstant=*/false,
                         LLVM::Linkage::Internal, name, Attribute(), operandAlignment, localMemory);
  b.setInsertionPointToStart(&function.getBody().front());
  return LLVM::AddressOfOp::create(b, c.loc, LLVM::LLVMPointerType::get(b.getContext(), localMemory), name);
}

void emitBarrier(Code &c) { gpu::BarrierOp::create(c.b, c.loc); }

// Whether neighbours along a dimension are so in a buffer, at places that are multiples of their number.
static bool liesTogether(const Buffer &buffer, int64_t dim, int64_t count) {
  const Layout &layout = buffer.layout;
  int64_t bytes = count * elementBytes(buffer.type.getElementType());
  if (count == 1 || layout.hasRoom() || layout.blockedDim >= 0 || bytes > operandAlignment ||
      !graph::isConstant(layout.strides[dim], 1) || buffer.type.getElementType().isInteger(1))
    return false;
  auto isWhole = [&](AffineExpr expr) {
    std::optional<int64_t> known = graph::constantSize(expr);
    return known && *known % count == 0;
  };
  for (int64_t d = 0; d < buffer.type.getRank(); ++d)
    if (d != dim && !graph::isConstant(layout.sizes[d], 1) && !isWhole(layout.strides[d]))
      return false;
  return isWhole(layout.offset);
}

SmallVector<Value> GroupKernel::elements(Value tensor, Indices index, int64_t dim, int64_t count) {
  if (e.isBuffer(tensor) && liesTogether(e.buffer(tensor), dim, count)) {
    index[dim].step = 1;
    Value vector = e.load(e.buffer(tensor), index, count);
    vector.getDefiningOp<LLVM::LoadOp>().setAlignment(
        count * elementBytes(cast<RankedTensorType>(tensor.getType()).getElementType()));
    return llvm::to_vector_of<Value>(vector::ToElementsOp::create(b, c.loc, vector).getResults());
  }
  SmallVector<Value> values;
  Index first = index[dim];
  for (int64_t i = 0; i < count; ++i) {
    index[dim] = {c.add(first.base, i)};
    values.push_back(e.element(tensor, index, 1));
  }
  return values;
}

int64_t GroupKernel::architecture() const {
  int64_t number = 0;
  StringRef name = e.target.cpu;
  return name.consume_front("sm_") && !name.consumeInteger(10, number) ? number : 0;
}

bool GroupKernel::canCopy(Value tensor, int64_t dim, int64_t count) {
  return architecture() >= 80 && e.isBuffer(tensor) && liesTogether(e.buffer(tensor), dim, count) &&
         count * elementBytes(getElementTypeOrSelf(tensor.getType())) == operandAlignment;
}

void GroupKernel::copy(Value tensor, ArrayRef<Index> index, int64_t count, Value local, Value to, Value isThere) {
  const Buffer &buffer = e.buffer(tensor);
  Type element = buffer.type.getElementType();
  Value from = c.expr(buffer.layout.offset);
  for (auto [i, stride] : llvm::zip(index, buffer.layout.strides))
    from = c.add(from, c.mul(i.base, c.expr(stride)));
  Value bytes = isThere ? c.select(isThere, c.i32(operandAlignment), c.i32(0)) : Value();
  NVVM::CpAsyncOp::create(b, c.loc, c.address(local, to, element), c.address(buffer.pointer, from, element),
                          operandAlignment, NVVM::LoadCacheModifierKind::CG, bytes);
}

void GroupKernel::endCopies() { NVVM::CpAsyncCommitGroupOp::create(b, c.loc); }
void GroupKernel::awaitCopies(int64_t left) { NVVM::CpAsyncWaitGroupOp::create(b, c.loc, left); }

void GroupKernel::runTogether(int64_t groups) {
  function->setAttr(groupsTogetherAttribute, b.getI64IntegerAttr(groups));
}

Value GroupKernel::localOfNeighbour(Value pointer, int64_t number) {
  constexpr unsigned localOfAll = 7;
  Type type = LLVM::LLVMPointerType::get(b.getContext(), localOfAll);
  return NVVM::MapaOp::create(b, c.loc, type, pointer, c.i32(number));
}

void GroupKernel::awaitNeighbours() {
  NVVM::ClusterArriveOp::create(b, c.loc, b.getUnitAttr());
  NVVM::ClusterWaitOp::create(b, c.loc, b.getUnitAttr());
}

SmallVector<Value> GroupKernel::loadMatrices(Value pointer, int64_t count, bool transposed) {
  Type word = b.getI32Type(), all = LLVM::LLVMStructType::getLiteral(b.getContext(), SmallVector<Type>(count, word));
  auto layout = transposed ? NVVM::MMALayout::col : NVVM::MMALayout::row;
  auto shape = NVVM::LdStMatrixShapeAttr::get(b.getContext(), 8, 8);
  Value loaded = NVVM::LdMatrixOp::create(b, c.loc, all, pointer, count, layout, shape, NVVM::LdStMatrixEltType::B16);
  SmallVector<Value> words;
  for (int64_t i = 0; i < count; ++i)
    words.push_back(LLVM::ExtractValueOp::create(b, c.loc, loaded, i));
  return words;
}

SmallVector<Value> GroupKernel::loadTogether(Value pointer, Value index, Type element, int64_t count) {
  Value loaded = c.load(pointer, index, element, count);
  if (count == 1)
    return {loaded};
  loaded.getDefiningOp<LLVM::LoadOp>().setAlignment(count * elementBytes(element));
  return llvm::to_vector_of<Value>(vector::ToElementsOp::create(b, c.loc, loaded).getResults());
}

void GroupKernel::storeTogether(ValueRange values, Value pointer, Value index, Type element) {
  if (values.size() == 1)
    return c.store(values[0], pointer, index, element);
  Value vector = vector::FromElementsOp::create(b, c.loc, vectorType(element, values.size()), values);
  LLVM::StoreOp::create(b, c.loc, vector, c.address(pointer, index, element), values.size() * elementBytes(element));
}

void GroupKernel::storeAnchor(Indices index, int64_t dim, ValueRange values) {
  std::vector<SmallVector<Value>> results(returned.size());
  Index first = index[dim];
  for (auto [i, value] : llvm::enumerate(values)) {
    index[dim] = {c.add(first.base, i)};
    e.bind(anchor->getResult(0), [value = value](ArrayRef<Index>, int64_t) { return value; });
    Emitter::Request request(e);
    for (auto [tensor, of] : llvm::zip(returned, results))
      of.push_back(e.element(tensor, index, 1));
  }
  for (auto [output, of] : llvm::zip(outputs, results)) {
    int64_t count = values.size();
    if (liesTogether(output, dim, count)) {
      index[dim] = {first.base, 1};
      Value vector = vector::FromElementsOp::create(b, c.loc, vectorType(output.type.getElementType(), count), of);
      e.store(output, index, vector, count);
      cast<LLVM::StoreOp>(b.getInsertionBlock()->back())
          .setAlignment(count * elementBytes(output.type.getElementType()));
      continue;
    }
    for (int64_t i = 0; i < count; ++i) {
      index[dim] = {c.add(first.base, i)};
      e.store(output, index, of[i], 1);
    }
  }
}

} // namespace fathom
