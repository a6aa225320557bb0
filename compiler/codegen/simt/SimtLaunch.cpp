// Kernels of devices in the host code: an entry is a number, and the runtime launches it.
#include "compiler/codegen/simt/SimtBackend.h"
#include "runtime/abi.h"
#include <cstddef>

using namespace mlir;

namespace fathom {

void SimtBackend::declareEntry(Code &, StringRef) const {}

Value SimtBackend::entryOf(Code &c, StringRef, size_t number) const { return c.i32(int32_t(number)); }

Value SimtBackend::emitLaunch(Code &c, const Launch &launch) const {
  Type pointer = LLVM::LLVMPointerType::get(c.b.getContext()), i32 = c.b.getI32Type(), i64 = c.b.getI64Type();
  Value slot = LLVM::GEPOp::create(c.b, c.loc, pointer, c.b.getI8Type(), launch.services,
                                   ArrayRef<LLVM::GEPArg>{int32_t(offsetof(fathom_services, device_launch))});
  Value service = LLVM::LoadOp::create(c.b, c.loc, pointer, slot, 8);
  auto type = LLVM::LLVMFunctionType::get(i32, {pointer, i32, i32, pointer, i64});
  return LLVM::CallOp::create(
             c.b, c.loc, type,
             ValueRange{service, launch.runtime, c.i32(launch.kernel), launch.entry, launch.arguments, launch.tasks})
      .getResult();
}

std::string SimtBackend::entryName(StringRef code) const { return simtSymbol(code); }

} // namespace fathom
