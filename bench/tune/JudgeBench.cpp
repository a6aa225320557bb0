// How many schedules a second are judged, by the draft and by their code; the latter with one thread and with all, so
// that it shows how searches scale.
#include "compiler/driver/Compilation.h"
#include "compiler/driver/DefaultPasses.h"
#include "compiler/tune/judge/Judges.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/Threading.h"

#include <benchmark/benchmark.h>

namespace fathom::tune {
namespace {

struct Problem {
  const char *name, *text;
};

constexpr Problem problems[] = {
    {"convolution", R"(
func.func @main(%x: tensor<1x64x28x28xf32>) -> tensor<1x64x28x28xf32> {
  %w = graph.Constant dense<0.1> : tensor<64x64x3x3xf32> as tensor<64x64x3x3xf32>
  %none = graph.None
  %c = graph.Conv(%x, %w, %none) {pads = array<i64: 1, 1, 1, 1>, graph.name = "c"} : (tensor<1x64x28x28xf32>, tensor<64x64x3x3xf32>, none) -> tensor<1x64x28x28xf32>
  %y = graph.Relu(%c) {graph.name = "y"} : (tensor<1x64x28x28xf32>) -> tensor<1x64x28x28xf32>
  return %y : tensor<1x64x28x28xf32>
})"},
    {"depthwise", R"(
func.func @main(%x: tensor<1x96x28x28xf32>) -> tensor<1x96x28x28xf32> {
  %w = graph.Constant dense<0.1> : tensor<96x1x3x3xf32> as tensor<96x1x3x3xf32>
  %none = graph.None
  %c = graph.Conv(%x, %w, %none) {pads = array<i64: 1, 1, 1, 1>, group = 96 : i64, graph.name = "c"} : (tensor<1x96x28x28xf32>, tensor<96x1x3x3xf32>, none) -> tensor<1x96x28x28xf32>
  return %c : tensor<1x96x28x28xf32>
})"},
    {"product", R"(
func.func @main(%x: tensor<128x768xf32>) -> tensor<128x768xf32> {
  %w = graph.Constant dense<0.1> : tensor<768x768xf32> as tensor<768x768xf32>
  %c = graph.MatMul(%x, %w) {graph.name = "c"} : (tensor<128x768xf32>, tensor<768x768xf32>) -> tensor<128x768xf32>
  return %c : tensor<128x768xf32>
})"},
};

// A problem's kernel for the machine that is named, and different schedules of it.
class Candidates {
public:
  Candidates(const Problem &problem, const char *machine, size_t count) {
    options.target = llvm::cantFail(parseTarget(machine));
    module = mlir::parseSourceString<mlir::ModuleOp>(problem.text, mlir::ParserConfig(context.get()));
    auto compilation = Compilation::begin(options, module->getLoc());
    if (failed(compilation) || failed((*compilation)->run(*module, "canonicalize-ops, " + kernelPasses().str())))
      llvm::report_fatal_error("the problem cannot be planned");
    for (TaskUse &use : tasksOf((*compilation)->program, {options.target}))
      if (anchorOf(mlir::cast<mlir::func::FuncOp>(use.task->site()->getParentOp())))
        task = std::move(use.task);
    SearchSpace space(*task);
    Random random(1);
    while (schedules.size() < count)
      schedules.push_back(space.scheduleAt(*space.any(random)));
  }

private:
  std::unique_ptr<mlir::MLIRContext> context = createContext();
  CompileOptions options;
  mlir::OwningOpRef<mlir::ModuleOp> module;

public:
  std::unique_ptr<KernelTask> task;
  std::vector<Schedule> schedules;
};

void byDraft(benchmark::State &state, const Problem &problem, const char *machine) {
  Candidates candidates(problem, machine, 512);
  std::unique_ptr<Judge> judge = draftJudge(*candidates.task);
  for (auto _ : state)
    benchmark::DoNotOptimize(judge->costs(candidates.schedules));
  state.SetItemsProcessed(int64_t(state.iterations() * candidates.schedules.size()));
}

void byCode(benchmark::State &state, const Problem &problem, const char *machine) {
  Candidates candidates(problem, machine, 32);
  for (auto _ : state) {
    BlockTimer timer(candidates.task->target());
    std::unique_ptr<Judge> judge = preciseJudge(*candidates.task, timer, 1, unsigned(state.range(0)));
    benchmark::DoNotOptimize(judge->costs(candidates.schedules));
  }
  state.SetItemsProcessed(int64_t(state.iterations() * candidates.schedules.size()));
}

void registerAll() {
  int64_t all = llvm::hardware_concurrency().compute_thread_count();
  for (const Problem &problem : problems)
    for (const char *machine : {"neoverse-v1", "x86-64-v3"}) {
      std::string name = std::string(problem.name) + "/" + machine;
      benchmark::RegisterBenchmark(("draft/" + name).c_str(), byDraft, problem, machine);
      auto *code = benchmark::RegisterBenchmark(("code/" + name).c_str(), byCode, problem, machine);
      code->ArgName("threads")->Unit(benchmark::kMillisecond)->UseRealTime()->Arg(1);
      if (all > 1)
        code->Arg(all);
    }
}

} // namespace
} // namespace fathom::tune

int main(int argc, char **argv) {
  fathom::tune::registerAll();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv))
    return 2;
  benchmark::RunSpecifiedBenchmarks();
}
