// Runs passes on the text form of the IR; the lit tests are written with it. What passes know of a compilation is said
// by the options that fathom compile has: --target, --fp, --plan and so on.
#include "compiler/codegen/common/MathLowering.h"
#include "compiler/driver/Backends.h"
#include "compiler/driver/Compilation.h"
#include "compiler/driver/EmitLoops.h"
#include "compiler/driver/Options.h"
#include "compiler/graph/InferShapes.h"
#include "mlir/Support/FileUtilities.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/ToolOutputFile.h"

using namespace fathom;

namespace {

// The options of passes as LLVM's command line has them.
class ContextOptions {
public:
  ContextOptions() {
    for (const Option &option : optionTable())
      if (option.commands & OptBit)
        given.push_back({option, std::make_unique<llvm::cl::opt<std::string>>(option.name, llvm::cl::desc(option.help),
                                                                              llvm::cl::value_desc(option.value))});
  }

  mlir::FailureOr<CompileRequest> request(mlir::MLIRContext &context) const {
    OptionValues values;
    for (const auto &[option, text] : given)
      if (text->getNumOccurrences())
        if (llvm::Error error = values.set(option, *text))
          return mlir::LogicalResult(emitError(mlir::UnknownLoc::get(&context), ErrorCode(2001))
                                     << llvm::toString(std::move(error)));
    return makeCompileRequest(values, context);
  }

private:
  struct Given {
    const Option &option;
    std::unique_ptr<llvm::cl::opt<std::string>> text;
  };
  std::vector<Given> given;
};

// Lives as long as the passes that it was begun for.
struct Owner : mlir::PassInstrumentation {
  CompileRequest request;
  std::unique_ptr<Compilation> compilation;
};

mlir::LogicalResult giveContext(mlir::PassManager &passes, const ContextOptions &options) {
  auto owner = std::make_unique<Owner>();
  mlir::FailureOr<CompileRequest> request = options.request(*passes.getContext());
  if (failed(request))
    return mlir::failure();
  owner->request = std::move(*request);
  auto begun = Compilation::begin(owner->request.options, mlir::UnknownLoc::get(passes.getContext()));
  if (failed(begun))
    return mlir::failure();
  owner->compilation = std::move(*begun);
  setContext(passes, owner->compilation->context);
  passes.addInstrumentation(std::move(owner));
  return mlir::success();
}

} // namespace

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  registerCodegenDialects(registry);
  mlir::registerCanonicalizerPass();
  mlir::registerCSEPass();
  graph::registerInferShapesPass();
  registerPasses();
  registerMathLoweringPass();
  registerEmitLoopsPass();
  ContextOptions options;
  auto [inputPath, outputPath] = mlir::registerAndParseCLIOptions(argc, argv, "Fathom's pass driver\n", registry);
  const mlir::MlirOptMainConfig given = mlir::MlirOptMainConfig::createFromCLOptions();
  mlir::MlirOptMainConfig config = given;
  config.setPassPipelineSetupFn([&](mlir::PassManager &passes) {
    return mlir::success(succeeded(given.setupPassPipeline(passes)) && succeeded(giveContext(passes, options)));
  });
  std::string problem;
  std::unique_ptr<llvm::MemoryBuffer> input = mlir::openInputFile(inputPath, &problem);
  std::unique_ptr<llvm::ToolOutputFile> output = mlir::openOutputFile(outputPath, &problem);
  if (!input || !output) {
    llvm::errs() << problem << "\n";
    return 1;
  }
  if (failed(mlir::MlirOptMain(output->os(), std::move(input), registry, config)))
    return 1;
  output->keep();
  return 0;
}
