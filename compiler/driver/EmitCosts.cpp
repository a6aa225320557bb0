// Kernels are estimated in parallel and printed in order.
#include "compiler/driver/EmitCosts.h"

#include "compiler/analysis/Score.h"
#include "compiler/support/Cancellation.h"
#include "compiler/support/Diagnostics.h"
#include "compiler/support/LargeStack.h"
#include <atomic>

using namespace mlir;

namespace fathom {

LogicalResult emitCosts(const Program &program, const CompileOptions &options, CompileReport &report) {
  Location loc = ModuleOp(program.module).getLoc();
  SmallVector<const Kernel *> told;
  SmallVector<size_t> codes;
  for (const Kernel &kernel : program.kernels)
    if (options.kernel.empty() ? !llvm::is_contained(codes, kernel.code) : kernel.name == options.kernel)
      told.push_back(&kernel), codes.push_back(kernel.code);
  if (told.empty())
    return hint(emitError(loc, ErrorCode::BadInput) << "there is no kernel '" << options.kernel << "'",
                "--emit plan lists the kernels");
  BlockTimer timer(options.target);
  std::vector<std::string> texts(told.size());
  std::vector<AnalysisTimes> times(told.size());
  std::atomic<bool> failedAny = false;
  onLargeStacks(options.threads, told.size(), [&](size_t i) {
    if (isCancelled())
      return void(failedAny = true);
    const KernelCode &code = program.codes[codes[i]];
    FailureOr<PreciseEstimate> estimate =
        analyze(*program.backend, code.function, *code.kernelClass, code.schedule, options.target, timer, &times[i]);
    if (failed(estimate))
      return void(failedAny = true);
    llvm::raw_string_ostream text(texts[i]);
    text << code.kernelClass->name << " '" << told[i]->name << "' (" << code.symbol << ")\n";
    printScore(featuresOf(*estimate, options.target),
               options.tuning.coefficients.value_or(coefficientsFor(options.target)), text);
    print(*estimate, options.target, text);
    text << "\n";
  });
  for (const std::string &text : texts)
    *options.text << text;
  auto sum = [&](double AnalysisTimes::*step) {
    double seconds = 0;
    for (const AnalysisTimes &one : times)
      seconds += one.*step;
    return seconds;
  };
  report.stages.insert(report.stages.end(), {{"cost: loops", sum(&AnalysisTimes::loops)},
                                             {"cost: movement", sum(&AnalysisTimes::movement)},
                                             {"cost: LLVM", sum(&AnalysisTimes::llvm)},
                                             {"cost: code", sum(&AnalysisTimes::code)},
                                             {"cost: pipeline", sum(&AnalysisTimes::pipeline)}});
  if (failedAny && !program.backend->makesArtifacts())
    return emitError(loc, ErrorCode::BadTarget)
           << "costs are those of LLVM's code; the back end '" << program.backend->name() << "' makes other code";
  return failure(failedAny);
}

} // namespace fathom
