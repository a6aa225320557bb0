// The stages, in the order of the data.
#include "compiler/driver/Compile.h"

#include "compiler/driver/Backends.h"
#include "compiler/driver/Choose.h"
#include "compiler/driver/Compilation.h"
#include "compiler/driver/EmitCosts.h"
#include "compiler/driver/Generate.h"
#include "compiler/driver/GivenStages.h"
#include "compiler/driver/Manifest.h"
#include "compiler/driver/Retune.h"
#include "compiler/driver/Stopwatch.h"
#include "compiler/driver/Variants.h"
#include "compiler/kernel/ConvAlgorithm.h"
#include "compiler/kernel/Precision.h"
#include "compiler/passes/gradient/Request.h"
#include "compiler/passes/normalform/Words.h"
#include "compiler/support/Cancellation.h"
#include "compiler/support/LargeStack.h"

using namespace mlir;

namespace fathom {
std::unique_ptr<MLIRContext> createContext() {
  DialectRegistry registry;
  registerCodegenDialects(registry);
  auto context = std::make_unique<MLIRContext>(registry);
  context->loadAllAvailableDialects();
  return context;
}

// What kernels and host code became, to where it is printed; without such a place, only whether it can be is asked.
static void print(ArrayRef<MachineCode> codes, raw_ostream *text) {
  if (text)
    for (const MachineCode &code : codes)
      *text << code.text;
}

// Code, or its text; and of code an artifact.
static LogicalResult generateAll(Program &program, const CompileOptions &options, StringRef path,
                                 CompileReport &report) {
  llvm::StringSet<> titles;
  titles.insert(hostTitle(hostTargetOf(options.target)));
  for (const KernelCode &kernel : program.codes)
    titles.insert(titleOf(kernel, options.target));
  FailureOr<GivenCode> given = GivenCode::read(options.given, titles, program.module.getLoc());
  if (failed(given))
    return failure();
  PartGenerator parts(options, *given);
  std::vector<MachineCode> codes;
  {
    Stopwatch watch(report, "code");
    if (failed(generateKernels(program, options, parts, codes)))
      return failure();
  }
  if (!program.backend->makesArtifacts())
    return print(codes, options.text), success();
  MemoryPlan memory = planMemory(program);
  report.weightBytes = memory.weightBytes, report.arenaBytes = memory.fixedBytes;
  report.sourceWeightBytes = program.sourceWeightBytes;
  Stopwatch watch(report, "package");
  ArtifactInfo info;
  info.weightsSeed = options.weightsSeed;
  // Of a device, what its driver takes is printed, and nothing else.
  if (memory.space != MemorySpace::Host && options.stop != Stage::Artifact)
    return print(codes, options.text), success();
  if (memory.space != MemorySpace::Host)
    for (MachineCode &code : std::exchange(codes, {}))
      info.programs.push_back(std::move(code.text));
  if (options.stop == Stage::Artifact)
    info.manifest = printManifest(program, memory, options, info);
  FailureOr<MachineCode> host = generateHost(program, memory, options, parts, info);
  if (failed(host))
    return failure();
  codes.push_back(std::move(*host));
  if (options.stop != Stage::Artifact)
    return print(codes, options.text), success();
  std::vector<Object> objects = objectsOf(std::move(codes), options.target);
  int64_t weightBytes = info.weightsSeed ? memory.keptBytes : memory.weightBytes;
  if (llvm::Error error = writeArtifact(objects, memory.weights, weightBytes, hostTargetOf(options.target), info, path))
    return emitError(program.module.getLoc(), ErrorCode::FileUnwritable) << llvm::toString(std::move(error));
  return success();
}

// An artifact of a graph before layouts, whose layouts, kernels and schedules a plan says.
static LogicalResult buildPlanned(ModuleOp graph, Pipeline &pipeline, size_t begin, const Plan &plan,
                                  const CompileOptions &given, int64_t sourceWeightBytes, StringRef path) {
  CompileOptions options = given;
  options.plan = plan, options.stop = Stage::Artifact, options.text = nullptr, options.progress = nullptr;
  options.given = {};
  auto compilation = Compilation::begin(options, graph.getLoc());
  if (failed(compilation))
    return failure();
  (*compilation)->describe(graph, pipeline);
  Program &program = (*compilation)->program;
  program.sourceWeightBytes = sourceWeightBytes;
  OwningOpRef<ModuleOp> copy = graph.clone();
  CompileReport report;
  if (failed(pipeline.run(*copy, (*compilation)->context, begin, pipeline.size())))
    return failure();
  return generateAll(program, options, path, report);
}

// What passes are told of gradients.
static void askForGradients(ModuleOp module, const CompileOptions &options) {
  Builder b(module.getContext());
  if (!options.loss.empty())
    module->setAttr(gradient::lossAttrName, b.getStringAttr(options.loss));
  if (!options.wrt.empty())
    module->setAttr(gradient::wrtAttrName,
                    b.getStrArrayAttr(SmallVector<StringRef>(options.wrt.begin(), options.wrt.end())));
  if (options.curvature)
    module->setAttr(gradient::curvatureAttrName, b.getUnitAttr());
  if (options.memoryBudget > 0)
    module->setAttr(gradient::memoryBudgetAttrName, b.getI64IntegerAttr(options.memoryBudget));
  if (!options.train.empty())
    module->setAttr(gradient::trainAttrName, b.getStringAttr(options.train));
}

// The stages up to the program of kernels. Null where the options ask for an earlier one, which is printed.
static FailureOr<std::unique_ptr<Compilation>> planModule(ModuleOp module, const CompileOptions &options,
                                                          CompileReport &report) {
  auto printed = [] { return std::unique_ptr<Compilation>(); };
  const Backend &backend = backendOf(options.target);
  if (options.stop == Stage::Artifact && !backend.makesArtifacts())
    return LogicalResult(hint(emitError(module.getLoc(), ErrorCode::BadTarget)
                                  << "the back end '" << backend.name() << "' makes no artifacts",
                              "--emit asm prints its kernels"));
  if (options.precision != "fp32")
    module->setAttr(precisionAttribute, StringAttr::get(module.getContext(), options.precision));
  askForGradients(module, options);
  FailureOr<Pipeline> pipeline = pipelineFor(options, module.getLoc());
  if (failed(pipeline))
    return failure();
  int64_t sourceWeightBytes = constantBytes(module);
  bool isGraphGiven = options.given.graph.isGiven();
  if (isGraphGiven && failed(takeGraph(module, options.given.graph)))
    return failure();
  auto compilation = Compilation::begin(options, module.getLoc());
  if (failed(compilation))
    return failure();
  PassContext &context = (*compilation)->context;
  (*compilation)->describe(module, *pipeline);
  // A pass that runs several times has one entry.
  llvm::StringMap<size_t> entries;
  context.onPass = [&](StringRef pass, double seconds) {
    auto [entry, isNew] = entries.try_emplace(pass, report.passes.size());
    if (isNew)
      report.passes.emplace_back(pass.str(), 0);
    report.passes[entry->second].second += seconds;
  };
  Program &program = (*compilation)->program;
  program.sourceWeightBytes = sourceWeightBytes;

  // Layouts end the graph as it can be printed for people.
  size_t graphEnd = pipeline->firstThatGives(Layouts);
  size_t choicesBegin = mayChoose(options, *pipeline) && !isGraphGiven ? OpenModel::begin(*pipeline) : graphEnd;
  std::optional<OpenModel> open;
  SiteChooser *sites = nullptr;
  {
    Stopwatch watch(report, "graph");
    if (failed(pipeline->run(module, context, 0, choicesBegin)))
      return failure();
    if (choicesBegin < graphEnd) {
      open.emplace(options, *pipeline, module.clone(), context, program.sourceWeightBytes);
      sites = (*compilation)->take(siteChooser(context.target, {}));
    }
    if (failed(pipeline->run(module, context, choicesBegin, graphEnd)) || isCancelled())
      return failure();
  }
  // With locations, which name the model's nodes in messages and traces.
  if (options.stop == Stage::Graph) {
    if (auto program = module->getAttrOfType<StringAttr>(normalform::programAttribute))
      return *options.text << program.getValue(), printed();
    module->setAttr(hasAlgorithmsAttribute, UnitAttr::get(module.getContext()));
    return module->print(*options.text, OpPrintingFlags().enableDebugInfo()), *options.text << "\n", printed();
  }
  OwningOpRef<ModuleOp> graph = mayRetune(options) ? OwningOpRef<ModuleOp>(module.clone()) : nullptr;
  {
    Stopwatch watch(report, "kernels");
    if (failed(pipeline->run(module, context, graphEnd, pipeline->size())))
      return failure();
  }
  if (open) {
    Stopwatch watch(report, "choices");
    auto build = [&](Program &chosen, StringRef path) {
      CompileOptions whole = options;
      whole.stop = Stage::Artifact, whole.text = nullptr, whole.progress = nullptr, whole.given = {};
      CompileReport ignored;
      return generateAll(chosen, whole, path, ignored);
    };
    if (failed(choose(*open, program, sites->sites(), build, report, module.getLoc())))
      return failure();
    if (report.chosen && report.chosen->isChanged()) {
      sites->fix(report.chosen->made(), report.chosen->kept());
      context.foldBudget = open->context.foldBudget;
      program.choicesEntry = report.chosen->entry;
      (*compilation)->forget(module, *open->graph);
      if (failed(pipeline->run(module, context, choicesBegin, graphEnd)))
        return failure();
      graph = module.clone();
      if (failed(pipeline->run(module, context, graphEnd, pipeline->size())))
        return failure();
    }
  }
  if (graph) {
    Stopwatch watch(report, "tune");
    auto plan = [&] { return pipeline->run(module, context, graphEnd, pipeline->size()); };
    auto build = [&](const Plan &plan, StringRef path) {
      return buildPlanned(*graph, *pipeline, graphEnd, plan, options, program.sourceWeightBytes, path);
    };
    if (failed(retune(module, *graph, options, **compilation, plan, build, report)))
      return failure();
  }
  if (options.given.kernels.isGiven() && failed(takeKernels(program, options.target, options.given.kernels)))
    return failure();
  report.kernels = program.kernels.size(), report.codes = program.codes.size();
  if (options.stop == Stage::Plan)
    return *options.text << printPlan(program.plan), printed();
  if (options.stop == Stage::Kernels) {
    // Kernels number their symbols themselves, so that a call's types differ from its callee's: not for the verifier.
    module->print(*options.text, OpPrintingFlags().assumeVerified().enableDebugInfo());
    return *options.text << "\n", printed();
  }
  return compilation;
}

static LogicalResult runStages(ModuleOp module, const CompileOptions &options, StringRef path, CompileReport &report) {
  if (!options.variants.empty())
    return compileVariants(module, options, path, report, planModule);
  auto compilation = planModule(module, options, report);
  if (failed(compilation) || !*compilation)
    return success(succeeded(compilation));
  Program &program = (*compilation)->program;
  if (options.stop == Stage::Cost)
    return emitCosts(program, options, report);
  return generateAll(program, options, path, report);
}

LogicalResult compileModule(ModuleOp module, const CompileOptions &options, StringRef path, CompileReport &report) {
  LogicalResult result = failure();
  onLargeStack([&] { result = runStages(module, options, path, report); });
  return result;
}

} // namespace fathom
