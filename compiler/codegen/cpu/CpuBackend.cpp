// Classes, code and launches of kernels on a CPU.
#include "compiler/codegen/cpu/CpuBackend.h"

#include "compiler/codegen/cpu/Builtins.h"
#include "compiler/codegen/cpu/Codegen.h"
#include "compiler/codegen/cpu/CpuClasses.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "runtime/abi.h"
#include "llvm/Target/TargetMachine.h"
#include <cstddef>

using namespace mlir;
using namespace fathom::graph;

namespace fathom {
namespace {

class CpuBackend final : public Backend {
public:
  StringRef name() const override { return "cpu"; }

  ArrayRef<const KernelClass *> kernelClasses() const override { return cpuKernelClasses(); }

  const KernelClass *classOf(Operation *anchor) const override { return cpuClassOf(anchor); }
  const KernelClass *classOf(func::FuncOp kernel) const override { return cpuClassOf(kernel); }

  std::optional<AnchorLayouts> layoutsOf(Operation *anchor, const Target &target) const override {
    return cpuLayoutsOf(anchor, target);
  }

  void registerDialects(DialectRegistry &registry) const override {
    registry.insert<GraphDialect, func::FuncDialect, arith::ArithDialect, math::MathDialect, scf::SCFDialect,
                    cf::ControlFlowDialect, vector::VectorDialect, LLVM::LLVMDialect, ub::UBDialect>();
    registerBuiltinDialectTranslation(registry);
    registerLLVMDialectTranslation(registry);
  }

  FailureOr<Grid> emitKernel(func::FuncOp kernel, const KernelClass &klass, const Schedule &schedule, StringRef name,
                             unsigned symbolCount, const CodegenOptions &options, ModuleOp loops) const override {
    return fathom::emitKernel(kernel, klass, schedule, name, symbolCount, options, loops);
  }

  FailureOr<MachineCode> generate(ModuleOp loops, const CodegenOptions &options, CodeForm form,
                                  llvm::function_ref<void(llvm::Module &)> complete) const override {
    MachineCode code;
    auto emit = [&](llvm::Module &module, llvm::TargetMachine &machine) { code = emitted(module, machine, form); };
    if (failed(optimized(loops, options, complete, emit)))
      return failure();
    return code;
  }

  FailureOr<MachineCode> finish(llvm::Module &module, ModuleOp loops, const CodegenOptions &options,
                                CodeForm form) const override {
    std::unique_ptr<llvm::TargetMachine> machine = createTargetMachine(options.target);
    if (failed(checkSubstitute(module, loops, *machine, [](StringRef name) { return name.str(); })))
      return failure();
    setTarget(module, options.target);
    return emitted(module, *machine, form);
  }

  LogicalResult lookAtModule(ModuleOp loops, const CodegenOptions &options, Look look) const override {
    return optimized(loops, options, [](llvm::Module &) {}, look);
  }

  bool makesArtifacts() const override { return true; }

  void declareEntry(Code &c, StringRef code) const override {
    Type pointer = pointerType(c), i64 = c.b.getI64Type();
    auto type = LLVM::LLVMFunctionType::get(c.b.getI32Type(), {pointer, i64, pointer});
    auto declaration = LLVM::LLVMFuncOp::create(c.b, c.loc, (code + ".task").str(), type);
    declaration.setVisibility_(LLVM::Visibility::Hidden);
  }

  Value entryOf(Code &c, StringRef code, size_t) const override {
    return LLVM::AddressOfOp::create(c.b, c.loc, pointerType(c), (code + ".task").str());
  }

  // The runtime's workers call the entry for runs of tasks.
  Value emitLaunch(Code &c, const Launch &launch) const override {
    Type pointer = pointerType(c), i64 = c.b.getI64Type(), i32 = c.b.getI32Type();
    Value slot = LLVM::GEPOp::create(c.b, c.loc, pointer, c.b.getI8Type(), launch.services,
                                     ArrayRef<LLVM::GEPArg>{int32_t(offsetof(fathom_services, launch))});
    Value service = LLVM::LoadOp::create(c.b, c.loc, pointer, slot, 8);
    auto type = LLVM::LLVMFunctionType::get(i32, {pointer, i32, pointer, pointer, i64});
    return LLVM::CallOp::create(
               c.b, c.loc, type,
               ValueRange{service, launch.runtime, c.i32(launch.kernel), launch.entry, launch.arguments, launch.tasks})
        .getResult();
  }

  SmallVector<char, 0> supportObject(const Target &target) const override {
    llvm::LLVMContext context;
    std::unique_ptr<llvm::Module> module = createBuiltins(context, target);
    std::unique_ptr<llvm::TargetMachine> machine = createTargetMachine(target);
    module->setTargetTriple(machine->getTargetTriple());
    module->setDataLayout(machine->createDataLayout());
    return emitObject(*module, *machine);
  }

private:
  static MachineCode emitted(llvm::Module &module, llvm::TargetMachine &machine, CodeForm form) {
    MachineCode code;
    if (form == CodeForm::Llvm)
      llvm::raw_string_ostream(code.text) << module << "\n";
    else if (form == CodeForm::Assembly)
      code.text = emitAssembly(module, machine);
    else
      code.object = emitObject(module, machine);
    return code;
  }

  static LogicalResult optimized(ModuleOp loops, const CodegenOptions &options,
                                 llvm::function_ref<void(llvm::Module &)> complete, Look look) {
    llvm::LLVMContext context;
    std::unique_ptr<llvm::Module> module = lowerToLlvm(loops, context, options);
    if (!module)
      return failure();
    complete(*module);
    std::unique_ptr<llvm::TargetMachine> machine = createTargetMachine(options.target);
    optimize(*module, *machine);
    look(*module, *machine);
    return success();
  }

  static Type pointerType(Code &c) { return LLVM::LLVMPointerType::get(c.b.getContext()); }
};

} // namespace

const Backend &cpuBackend() {
  static const CpuBackend backend;
  return backend;
}

} // namespace fathom
