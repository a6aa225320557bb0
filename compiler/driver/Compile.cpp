// The stages, in the order of the data.
#include "compiler/driver/Compile.h"

#include "compiler/codegen/cpu/Codegen.h"
#include "compiler/driver/FoldConstant.h"
#include "compiler/driver/Manifest.h"
#include "compiler/kernel/Program.h"
#include "compiler/package/Host.h"
#include "compiler/passes/Passes.h"
#include "compiler/support/Cancellation.h"
#include "compiler/support/LargeStack.h"
#include "llvm/Target/TargetMachine.h"
#include <atomic>
#include <chrono>

using namespace mlir;

namespace fathom {
namespace {

class Stopwatch {
public:
  Stopwatch(CompileReport &report, StringRef stage) : report(report), stage(stage), start(Clock::now()) {}
  // A stage that runs several times has one entry.
  ~Stopwatch() {
    double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    auto known = llvm::find_if(report.stages, [&](const auto &entry) { return entry.first == stage; });
    if (known == report.stages.end())
      report.stages.emplace_back(stage.str(), seconds);
    else
      known->second += seconds;
  }

private:
  using Clock = std::chrono::steady_clock;
  CompileReport &report;
  StringRef stage;
  Clock::time_point start;
};

// Code for every kernel, each in a module of its own, so that they are compiled in parallel and their order does not
// matter.
LogicalResult generateCode(Program &program, const CompileOptions &options, std::vector<Object> &objects) {
  CodegenOptions codegen{options.target, options.fp == FloatMode::Strict};
  std::vector<std::string> texts(program.codes.size());
  objects.resize(program.codes.size());
  std::atomic<bool> failedAny = false;
  std::atomic<size_t> done = 0;
  auto generate = [&](size_t i) {
    if (isCancelled())
      return void(failedAny = true);
    KernelCode &code = program.codes[i];
    OwningOpRef<ModuleOp> loops = ModuleOp::create(code.function.getLoc());
    unsigned symbols = graph::symbolsOf(code.function).size();
    auto grid = emitKernel(code.function, *code.kernelClass, code.schedule, code.symbol, symbols, codegen, *loops);
    if (failed(grid))
      return void(failedAny = true);
    code.grid = *grid;
    if (options.stop == Stage::Loops)
      return void(llvm::raw_string_ostream(texts[i]) << *loops << "\n");
    llvm::LLVMContext llvmContext;
    std::unique_ptr<llvm::Module> module = lowerToLlvm(*loops, llvmContext, codegen);
    if (!module)
      return void(failedAny = true);
    std::unique_ptr<llvm::TargetMachine> machine = createTargetMachine(options.target);
    for (llvm::Function &function : *module)
      if (!function.isDeclaration())
        function.setVisibility(llvm::GlobalValue::HiddenVisibility);
    optimize(*module, *machine);
    if (options.stop == Stage::Llvm)
      return void(llvm::raw_string_ostream(texts[i]) << *module << "\n");
    if (options.stop == Stage::Asm)
      return void(texts[i] = emitAssembly(*module, *machine));
    objects[i] = emitObject(*module, *machine);
    if (options.progress)
      options.progress("code", ++done, program.codes.size());
  };
  // The largest first would balance better, but their cost is not known; in order is good enough for many small pieces.
  onLargeStacks(options.threads, program.codes.size(), generate);
  if (options.text)
    for (const std::string &text : texts)
      *options.text << text;
  return failure(failedAny);
}

Object generateHost(const Program &program, const MemoryPlan &memory, const CompileOptions &options,
                    const ArtifactInfo &info) {
  CodegenOptions codegen{options.target, options.fp == FloatMode::Strict};
  OwningOpRef<ModuleOp> host = ModuleOp::create(ModuleOp(program.module).getLoc());
  emitHost(program, memory, *host);
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> module = lowerToLlvm(*host, context, codegen);
  if (!module)
    return {};
  addArtifactTable(*module, program, memory, options.target, info);
  std::unique_ptr<llvm::TargetMachine> machine = createTargetMachine(options.target);
  optimize(*module, *machine);
  return emitObject(*module, *machine);
}

Object generateBuiltins(const Target &target) {
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> module = createBuiltins(context, target);
  std::unique_ptr<llvm::TargetMachine> machine = createTargetMachine(target);
  module->setTargetTriple(machine->getTargetTriple());
  module->setDataLayout(machine->createDataLayout());
  return emitObject(*module, *machine);
}

// The algorithms of convolutions and products.
LogicalResult chooseAlgorithms(ModuleOp module, const CompileOptions &options, FoldBudget &budget,
                               CompileReport &report) {
  Stopwatch watch(report, "algorithms");
  auto main = module.lookupSymbol<func::FuncOp>("main");
  nameOps(main);
  AlgorithmOptions algorithms = options.algorithms;
  algorithms.fp = options.fp, algorithms.folds = options.fold;
  if (failed(alterOpLayout(main, options.target, algorithms, options.plan ? &*options.plan : nullptr)))
    return failure();
  return options.fold ? foldConstants(module, budget) : success();
}

} // namespace

std::unique_ptr<MLIRContext> createContext() {
  DialectRegistry registry;
  registerCodegenDialects(registry);
  auto context = std::make_unique<MLIRContext>(registry);
  context->loadAllAvailableDialects();
  return context;
}

LogicalResult simplifyGraph(ModuleOp module, CompileReport &report) {
  Stopwatch watch(report, "graph");
  auto clean = [](OpPassManager &passes) {
    passes.addNestedPass<func::FuncOp>(createCanonicalizeOpsPass());
    passes.addNestedPass<func::FuncOp>(createEliminateCommonSubexprPass());
    passes.addNestedPass<func::FuncOp>(createDeadCodeEliminationPass());
  };
  PassManager passes(module.getContext());
  clean(passes);
  passes.addNestedPass<func::FuncOp>(createHoistInvariantsPass());
  passes.addNestedPass<func::FuncOp>(createFoldExplicitPaddingPass());
  passes.addNestedPass<func::FuncOp>(createSimplifyInferencePass());
  passes.addNestedPass<func::FuncOp>(createForwardFoldScaleAxisPass());
  clean(passes);
  passes.addNestedPass<func::FuncOp>(createNestConcatsPass());
  return passes.run(module);
}

static LogicalResult runStages(ModuleOp module, const CompileOptions &options, StringRef path, CompileReport &report) {
  int64_t sourceWeightBytes = constantBytes(module);
  FoldBudget budget = FoldBudget::forModel(module, options.foldBudget);
  // What folding finds out may make sizes known, and these may make more constant.
  for (int round = 0; round < 4; ++round) {
    if (isCancelled() || failed(simplifyGraph(module, report)))
      return failure();
    Stopwatch watch(report, "fold");
    if (isCancelled() || (options.fold && failed(foldConstants(module, budget))))
      return failure();
    FailureOr<bool> isChanged = resolvePins(module);
    if (failed(isChanged))
      return failure();
    if (!*isChanged)
      break;
  }
  if (isCancelled() || failed(chooseAlgorithms(module, options, budget, report)) || isCancelled())
    return failure();
  if (options.stop == Stage::Graph)
    return *options.text << module << "\n", success();

  FailureOr<Program> program = failure();
  {
    Stopwatch watch(report, "kernels");
    program = buildProgram(module, options.target, options.plan ? &*options.plan : nullptr);
  }
  if (failed(program))
    return failure();
  program->sourceWeightBytes = sourceWeightBytes;
  report.kernels = program->kernels.size(), report.codes = program->codes.size();
  if (options.stop == Stage::Plan)
    return *options.text << printPlan(program->plan), success();
  if (options.stop == Stage::Kernels) {
    // Kernels number their symbols themselves, so that a call's types differ from its callee's: not for the verifier.
    module->print(*options.text, OpPrintingFlags().assumeVerified());
    return *options.text << "\n", success();
  }

  std::vector<Object> objects;
  {
    Stopwatch watch(report, "code");
    if (failed(generateCode(*program, options, objects)))
      return failure();
  }
  if (options.stop != Stage::Artifact)
    return success();

  MemoryPlan memory = planMemory(*program);
  report.weightBytes = memory.weightBytes, report.arenaBytes = memory.fixedBytes;
  report.sourceWeightBytes = program->sourceWeightBytes;
  Stopwatch watch(report, "package");
  ArtifactInfo info{describeArtifact(*program, memory, options), options.weightsSeed};
  objects.push_back(generateHost(*program, memory, options, info));
  objects.push_back(generateBuiltins(options.target));
  if (llvm::Error error = writeArtifact(objects, memory, options.target, info, path)) {
    emitError(module.getLoc(), ErrorCode::FileUnwritable) << llvm::toString(std::move(error));
    return failure();
  }
  return success();
}

LogicalResult compileModule(ModuleOp module, const CompileOptions &options, StringRef path, CompileReport &report) {
  LogicalResult result = failure();
  onLargeStack([&] { result = runStages(module, options, path, report); });
  return result;
}

} // namespace fathom
