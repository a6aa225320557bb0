// What a CPU adds to the lowering of loops: which math it has as instructions, its features, constants from memory.
#include "compiler/codegen/common/ExpandBf16.h"
#include "compiler/codegen/cpu/AddedConstants.h"
#include "compiler/codegen/cpu/Codegen.h"

#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/SubtargetFeature.h"

using namespace mlir;

namespace fathom {

void setTarget(llvm::Module &module, const Target &target) {
  llvm::SubtargetFeatures features(target.features);
  if (llvm::is_contained(target.required, "avx512bf16")) // expandBf16 says why not
    features.AddFeature("avx512bf16", /*Enable=*/false);
  for (llvm::Function &function : module) {
    if (function.isDeclaration())
      continue;
    function.addFnAttr("target-cpu", target.cpu);
    function.addFnAttr("target-features", features.getString());
    function.addFnAttr(llvm::Attribute::NoUnwind);
    if (target.vectorBytes == 64) {
      function.addFnAttr("prefer-vector-width", "512");
      function.addFnAttr("min-legal-vector-width", "512");
    }
  }
}

std::unique_ptr<llvm::Module> lowerToLlvm(ModuleOp loops, llvm::LLVMContext &llvmContext,
                                          const CodegenOptions &options) {
  auto has = [&](StringRef feature) { return llvm::is_contained(options.target.required, feature); };
  bool arm = options.target.isAArch64();
  if (!(arm && has("bf16")) && failed(expandBf16(loops)))
    return nullptr;
  MathOptions math{options.strict, arm || has("fma"), arm || has("sse4.1"), arm};
  std::unique_ptr<llvm::Module> module = lowerLoops(loops, llvmContext, math);
  if (!module)
    return nullptr;
  setTarget(*module, options.target);
  return module;
}

void optimize(llvm::Module &module, llvm::TargetMachine &machine) {
  cleanUp(module, machine);
  // Last: what comes before would move the loads out of loops again.
  if (machine.getTargetTriple().isAArch64())
    for (llvm::Function &function : module)
      loadAddedConstants(function);
}

} // namespace fathom
