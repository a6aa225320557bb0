// From options to the passes and their context.
#include "compiler/driver/Compilation.h"

#include "compiler/driver/DefaultPasses.h"
#include "compiler/driver/Policies.h"
#include "compiler/passes/select/Rules.h"
#include "compiler/support/Diagnostics.h"

using namespace mlir;

namespace fathom {

FailureOr<std::unique_ptr<Compilation>> Compilation::begin(const CompileOptions &options, Location loc) {
  auto made = std::make_unique<Compilation>(options);
  PassContext &context = made->context;
  context.target = options.target;
  context.fp = options.fp;
  context.algorithms = options.algorithms;
  context.algorithms.threads = options.threads;
  context.foldFactor = options.foldBudget;
  bool isOff = options.tuning.mode == tune::Mode::Off && !options.plan;
  FailureOr<std::unique_ptr<Chooser>> chooser =
      isOff ? offChooser(context.target) : chooserFor(options.plan ? &*options.plan : nullptr, context.target, loc);
  if (failed(chooser))
    return failure();
  made->chooser = std::move(*chooser);
  context.chooser = made->chooser.get();
  context.program = &made->program;
  if (options.fold)
    context.evaluator = &made->evaluator;
  return made;
}

void Compilation::describe(ModuleOp module, const Pipeline &pipeline) {
  context.algorithms.folds = context.evaluator && pipeline.has("fold-constant");
  context.foldBudget = FoldBudget::forModel(module, options.foldBudget);
  // Gradients are made of ops that the model does not have yet.
  if (options.passes == autoPolicy && options.loss.empty())
    for (StringRef pass : idlePasses(pipeline.names(), featuresOf(module)))
      context.idle.insert(pass);
}

void Compilation::forget(ModuleOp module, ModuleOp graph) {
  int64_t sourceWeightBytes = program.sourceWeightBytes;
  std::string choicesEntry = std::move(program.choicesEntry);
  program = Program();
  program.sourceWeightBytes = sourceWeightBytes, program.choicesEntry = std::move(choicesEntry);
  module.getBodyRegion().takeBody(graph.getBodyRegion());
  module->setAttrs(graph->getAttrs());
}

LogicalResult Compilation::run(ModuleOp module, StringRef passes) {
  FailureOr<Pipeline> pipeline = Pipeline::parse(passes, module.getLoc());
  return failed(pipeline) ? failure() : pipeline->run(module, context);
}

// What --passes says, and the pass that --precision stands for.
static FailureOr<std::string> passesOf(const CompileOptions &options, Location loc) {
  StringRef passes = StringRef(options.passes).trim();
  if (options.precision != "fp16" && options.precision != "bf16")
    return passes.str();
  std::string narrows = "to-mixed-precision{type=" + std::string(options.precision == "fp16" ? "f16" : "bf16") + "}";
  if (passes.empty() || passes == "default" || passes == autoPolicy)
    return defaultAndPrefix.str() + narrows;
  if (passes.starts_with(defaultAndPrefix))
    return passes.str() + "+" + narrows;
  return LogicalResult(hint(emitError(loc, ErrorCode(2001)) << "option --precision " << options.precision
                                                            << " does not go with --passes '" << passes << "'",
                            "it adds " + narrows + " to the default: put that among your passes instead"));
}

FailureOr<Pipeline> pipelineFor(const CompileOptions &options, Location loc) {
  FailureOr<std::string> passes = passesOf(options, loc);
  if (failed(passes))
    return failure();
  FailureOr<std::string> text = pipelineText(*passes, loc);
  if (failed(text))
    return failure();
  if (!options.loss.empty() && !StringRef(*text).contains("first-order-gradient"))
    text = (gradientPasses() + ",\n" + *text).str();
  FailureOr<Pipeline> pipeline = Pipeline::parse(*text, loc);
  if (failed(pipeline))
    return failure();
  FailureOr<Facts> facts = pipeline->check(importedFacts);
  if (failed(facts))
    return failure();
  if (options.stop != Stage::Graph && !(*facts & Kernels))
    return LogicalResult(hint(emitError(loc, ErrorCode(2001)) << "the pipeline of passes does not end in kernels",
                              "let it end as the default does, which 'fathom passes' prints, or stop with --emit "
                              "graph"));
  return pipeline;
}

} // namespace fathom
