// Kernels are generated in parallel; the host's code last, as it says how many tasks each kernel has.
#include "compiler/driver/Generate.h"

#include "compiler/driver/Backends.h"
#include "compiler/package/Host.h"
#include "compiler/support/Cancellation.h"
#include "compiler/support/LargeStack.h"
#include <atomic>

using namespace mlir;

namespace fathom {

CodeForm PartGenerator::form() const {
  return options.stop == Stage::Llvm  ? CodeForm::Llvm
         : options.stop == Stage::Asm ? CodeForm::Assembly
                                      : CodeForm::Object;
}

FailureOr<MachineCode> PartGenerator::generate(const Backend &backend, ModuleOp generated, const Target &target,
                                               StringRef title, Complete complete) const {
  FailureOr<ModuleOp> loops = given.loops(title, generated);
  if (failed(loops))
    return failure();
  MachineCode code;
  if (options.stop == Stage::Loops) {
    llvm::raw_string_ostream(code.text) << "// " << title << "\n" << *loops << "\n";
    return code;
  }
  CodegenOptions codegen{target, options.fp == FloatMode::Strict};
  FailureOr<MachineCode> made = failure();
  if (llvm::Module *module = given.llvm(title)) {
    complete(*module);
    made = backend.finish(*module, *loops, codegen, form());
  } else {
    made = backend.generate(*loops, codegen, form(), complete);
  }
  if (succeeded(made) && options.stop == Stage::Llvm)
    made->text.insert(0, ("; " + title + "\n").str());
  return made;
}

static void hideFunctions(llvm::Module &module) {
  for (llvm::Function &function : module)
    if (!function.isDeclaration())
      function.setVisibility(llvm::GlobalValue::HiddenVisibility);
}

LogicalResult generateKernels(Program &program, const CompileOptions &options, const PartGenerator &parts,
                              std::vector<MachineCode> &codes) {
  CodegenOptions codegen{options.target, options.fp == FloatMode::Strict};
  codes.resize(program.codes.size());
  std::atomic<bool> failedAny = false;
  std::atomic<size_t> done = 0;
  auto generateKernel = [&](size_t i) {
    if (isCancelled())
      return void(failedAny = true);
    KernelCode &kernel = program.codes[i];
    OwningOpRef<ModuleOp> loops = ModuleOp::create(kernel.function.getLoc());
    unsigned symbols = graph::symbolsOf(kernel.function).size();
    auto grid = program.backend->emitKernel(kernel.function, *kernel.kernelClass, kernel.schedule, kernel.symbol,
                                            symbols, codegen, *loops);
    if (failed(grid))
      return void(failedAny = true);
    kernel.grid = *grid;
    FailureOr<MachineCode> code =
        parts.generate(*program.backend, *loops, options.target, titleOf(kernel, options.target), hideFunctions);
    if (failed(code))
      return void(failedAny = true);
    codes[i] = std::move(*code);
    if (options.progress)
      options.progress("code", ++done, program.codes.size());
  };
  // The largest first would balance better, but their cost is not known; in order is good enough for many small pieces.
  onLargeStacks(options.threads, program.codes.size(), generateKernel);
  return failure(failedAny);
}

FailureOr<MachineCode> generateHost(const Program &program, const MemoryPlan &memory, const CompileOptions &options,
                                    const PartGenerator &parts, ArtifactInfo &info) {
  OwningOpRef<ModuleOp> host = ModuleOp::create(ModuleOp(program.module).getLoc());
  info.isReplayable = emitHost(program, memory, *host);
  Target target = hostTargetOf(options.target);
  return parts.generate(hostBackendOf(options.target), *host, target, hostTitle(target), [&](llvm::Module &module) {
    // The text is for those who read code: without the table, in which the manifest is.
    if (options.stop == Stage::Artifact)
      addArtifactTable(module, program, memory, options.target, info);
  });
}

std::vector<Object> objectsOf(std::vector<MachineCode> codes, const Target &target) {
  std::vector<Object> objects;
  for (MachineCode &code : codes)
    objects.push_back(std::move(code.object));
  objects.push_back(hostBackendOf(target).supportObject(hostTargetOf(target)));
  return objects;
}

} // namespace fathom
