// What back ends have in common: that they need not make artifacts.
#include "compiler/kernel/Backend.h"

#include "compiler/support/Diagnostics.h"

using namespace mlir;

namespace fathom {

[[noreturn]] static void makesNone() { llvm_unreachable("a back end without artifacts is asked for a part of one"); }

const KernelClass *Backend::classFor(Algorithm algorithm) const {
  ArrayRef<const KernelClass *> classes = kernelClasses();
  const auto *found = llvm::find_if(classes, [&](const KernelClass *klass) { return klass->algorithm == algorithm; });
  return found == classes.end() ? nullptr : *found;
}

void Backend::declareEntry(Code &, StringRef) const { makesNone(); }
Value Backend::entryOf(Code &, StringRef, size_t) const { makesNone(); }
Value Backend::emitLaunch(Code &, const Launch &) const { makesNone(); }
DevicePrograms Backend::devicePrograms(const Target &) const { makesNone(); }
std::string Backend::entryName(StringRef) const { makesNone(); }
SmallVector<char, 0> Backend::supportObject(const Target &) const { makesNone(); }
FailureOr<MachineCode> Backend::finish(llvm::Module &, ModuleOp loops, const CodegenOptions &, CodeForm) const {
  return LogicalResult(emitError(loops.getLoc(), ErrorCode::BadPlan)
                       << "the back end '" << name() << "' does not go on from LLVM's modules");
}
LogicalResult Backend::lookAtModule(ModuleOp, const CodegenOptions &, Look) const { return failure(); }

const KernelClass &kernelClassOf(Operation *anchor, const Backend &backend) {
  const KernelClass *klass = backend.classOf(anchor);
  assert(klass && "the program was checked for ops that the back end has no kernels for");
  return *klass;
}

const KernelClass &kernelClassOf(func::FuncOp kernel, const Backend &backend) {
  const KernelClass *klass = backend.classOf(kernel);
  assert(klass && "the program was checked for ops that the back end has no kernels for");
  return *klass;
}

} // namespace fathom
