// Kernels of work items through LLVM's NVPTX.
#include "compiler/codegen/cuda/CudaBackend.h"

#include "compiler/codegen/common/ExpandBf16.h"
#include "compiler/codegen/common/LowerLoops.h"
#include "compiler/codegen/simt/SimtBackend.h"
#include "compiler/support/Diagnostics.h"
#include "mlir/Conversion/GPUToNVVM/GPUToNVVMPass.h"
#include "mlir/Conversion/LLVMCommon/ConversionTarget.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"
#include "llvm/Target/TargetMachine.h"

using namespace mlir;

namespace fathom {
namespace {

class CudaBackend final : public SimtBackend {
public:
  StringRef name() const override { return "cuda"; }

  void registerDialects(DialectRegistry &registry) const override {
    SimtBackend::registerDialects(registry);
    registry.insert<NVVM::NVVMDialect>();
    registerNVVMDialectTranslation(registry);
  }

  FailureOr<MachineCode> generate(ModuleOp loops, const CodegenOptions &options, CodeForm form,
                                  llvm::function_ref<void(llvm::Module &)> complete) const override {
    MachineCode code;
    if (form == CodeForm::Assembly)
      for (auto kernel : loops.getOps<func::FuncOp>())
        code.text += launchNote(kernel);
    auto emit = [&](llvm::Module &module, llvm::TargetMachine &machine) {
      code.text += emitted(module, machine, form);
    };
    if (failed(optimized(loops, options, complete, emit)))
      return failure();
    return code;
  }

  FailureOr<MachineCode> finish(llvm::Module &module, ModuleOp loops, const CodegenOptions &options,
                                CodeForm form) const override {
    std::unique_ptr<llvm::TargetMachine> machine = createTargetMachine(options.target);
    if (failed(checkSubstitute(module, loops, *machine, simtSymbol)))
      return failure();
    MachineCode code;
    code.text = emitted(module, *machine, form);
    return code;
  }

  LogicalResult lookAtModule(ModuleOp loops, const CodegenOptions &options, Look look) const override {
    return optimized(loops, options, [](llvm::Module &) {}, look);
  }

  MemorySpace memorySpace() const override { return MemorySpace::Cuda; }

  DevicePrograms devicePrograms(const Target &target) const override {
    DevicePrograms programs{FATHOM_ABI_PROGRAM_PTX, 0};
    StringRef digits = StringRef(target.cpu).drop_front(StringRef("sm_").size()).take_while(llvm::isDigit);
    if (digits.getAsInteger(10, programs.architecture))
      llvm_unreachable("the target's architecture is one that LLVM knows");
    return programs;
  }

private:
  static std::string emitted(llvm::Module &module, llvm::TargetMachine &machine, CodeForm form) {
    if (form != CodeForm::Llvm)
      return emitAssembly(module, machine);
    std::string text;
    llvm::raw_string_ostream(text) << module << "\n";
    return text;
  }

  static LogicalResult optimized(ModuleOp loops, const CodegenOptions &options,
                                 llvm::function_ref<void(llvm::Module &)> complete, Look look) {
    if (failed(expandBf16(loops)))
      return failure();
    llvm::LLVMContext context;
    llvm::StringMap<int64_t> items, groupsTogether;
    for (auto kernel : loops.getOps<func::FuncOp>())
      for (auto [name, counts] :
           {std::pair(itemsAttribute, &items), std::pair(groupsTogetherAttribute, &groupsTogether)})
        if (auto count = kernel->getAttrOfType<IntegerAttr>(name))
          (*counts)[kernel.getName()] = count.getInt();
    // Every device of the last ten years has multiply-adds and rounding; minima that keep a NaN came with sm_80.
    MathOptions math{options.strict, /*hasFma=*/true, /*hasRounding=*/true, /*hasMinMax=*/false};
    std::unique_ptr<llvm::Module> module =
        lowerLoops(loops, context, math,
                   [](LLVMTypeConverter &converter, RewritePatternSet &patterns, LLVMConversionTarget &target) {
                     // Behind the others: it would make calls of NVIDIA's library of instructions that LLVM has.
                     populateGpuToNVVMConversionPatterns(converter, patterns, /*benefit=*/0);
                     target.addLegalDialect<NVVM::NVVMDialect>();
                   });
    if (!module)
      return failure();
    for (llvm::Function &function : *module) {
      if (function.isDeclaration())
        continue;
      // ptxas gives an item as many registers as a group of that size can have.
      if (int64_t count = items.lookup(function.getName()))
        function.addFnAttr("nvvm.reqntid", std::to_string(count));
      if (int64_t count = groupsTogether.lookup(function.getName()))
        function.addFnAttr("nvvm.cluster_dim", std::to_string(count));
      function.setName(simtSymbol(function.getName()));
      function.setCallingConv(llvm::CallingConv::PTX_Kernel);
      function.addFnAttr(llvm::Attribute::NoUnwind);
    }
    complete(*module);
    std::unique_ptr<llvm::TargetMachine> machine = createTargetMachine(options.target);
    cleanUp(*module, *machine);
    look(*module, *machine);
    return success();
  }
};

} // namespace

const Backend &cudaBackend() {
  static const CudaBackend backend;
  return backend;
}

} // namespace fathom
