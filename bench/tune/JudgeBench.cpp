// How many schedules a second are judged, by the draft and by their code; the latter with one thread and with all, so
// that it shows how searches scale.
#include "bench/tune/Problems.h"
#include "compiler/tune/judge/Judges.h"
#include "llvm/Support/Threading.h"

#include <benchmark/benchmark.h>

namespace fathom::tune {
namespace {

// A problem's kernel for the machine that is named, and different schedules of it.
struct Candidates : ProblemKernel {
  Candidates(const Problem &problem, const char *machine, size_t count) : ProblemKernel(problem, machine) {
    SearchSpace space(*task);
    Random random(1);
    while (schedules.size() < count)
      schedules.push_back(space.scheduleAt(*space.any(random)));
  }

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
    std::unique_ptr<Judge> judge = preciseJudge(*candidates.task, timer, pureLatencies(), 1, unsigned(state.range(0)));
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
