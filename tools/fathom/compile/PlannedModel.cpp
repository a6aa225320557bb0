// The stages of a compilation up to kernels.
#include "tools/fathom/compile/PlannedModel.h"

#include "compiler/functional/Functional.h"

using namespace llvm;
using namespace fathom::tune;

namespace fathom {

mlir::LogicalResult PlannedModel::plan(StringRef path, const OptionValues &options, CommandBit command) {
  auto made = makeCompileRequest(options, *context, command);
  if (failed(made))
    return mlir::failure();
  request = std::move(*made);
  CompileOptions &compile = request.options;
  module = importAny(ModelSource::file(path), *context, request.import);
  if (!module)
    return mlir::failure();
  auto pipeline = pipelineFor(compile, module->getLoc());
  auto begun = Compilation::begin(compile, module->getLoc());
  if (failed(pipeline) || failed(begun))
    return mlir::failure();
  compilation = std::move(*begun);
  PassContext &passes = compilation->context;
  compilation->describe(*module, *pipeline);
  if (failed(pipeline->run(*module, passes)))
    return mlir::failure();
  uses = tasksOf(compilation->program, {compile.target, compile.fp == FloatMode::Strict});
  return mlir::success();
}

std::vector<const KernelTask *> PlannedModel::tasks(double leastShare) const {
  std::vector<double> costs;
  double total = 0;
  for (const TaskUse &use : uses) {
    costs.push_back(use.task->space().score(use.task->planned()) * double(use.kernels.size()));
    total += costs.back();
  }
  std::vector<const KernelTask *> costly;
  for (auto [use, cost] : zip(uses, costs))
    if (cost >= leastShare * total)
      costly.push_back(use.task.get());
  return costly;
}

} // namespace fathom
