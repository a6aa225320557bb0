// Matrix products and convolutions of real networks on one thread, beside libraries and the peak of the machine, in
// turns. All weights are packed ahead, but OpenBLAS's, which takes matrices as they are. bench/single_kernels.py makes
// tables of what this prints.
#include "bench/kernels/Contestant.h"
#include "tools/fathom/machine/MultiplyAdds.h"

#include <benchmark/benchmark.h>
#include <optional>

namespace fathom::bench {
namespace {

const std::pair<const char *, MakeContestant> makers[] = {
    {"fathom", makeFathom},   {"openblas", makeOpenBlas},
#ifdef FATHOM_BENCH_XNNPACK
    {"xnnpack", makeXnnpack},
#endif
#ifdef FATHOM_BENCH_ACL
    {"acl", makeArmCompute},
#endif
#ifdef FATHOM_BENCH_ONEDNN
    {"onednn", makeOneDnn},
#endif
};

// A contestant with its data, made when it is first measured: one may ask for few of the benchmarks.
class Entry {
public:
  Entry(const Problem &problem, const char *name, const MakeContestant &make)
      : problem(problem), name(name), make(make) {}

  void measure(benchmark::State &state) {
    if (!contestant)
      prepare();
    for (auto _ : state)
      contestant->run();
    state.counters["flops"] = benchmark::Counter(problem.operations(), benchmark::Counter::kIsIterationInvariantRate);
    state.counters["operations"] = problem.operations();
    state.counters["uses"] = problem.uses;
    state.counters["constant_ms"] = problem.constantMs;
    state.counters["constant_peak"] = constantsPeak * 1e9;
  }

private:
  void prepare() {
    data.emplace(problem);
    contestant = make(problem, *data);
    contestant->run();
    checkResult(problem, *data, *contestant, name);
  }

  const Problem &problem;
  const char *name;
  const MakeContestant &make;
  std::optional<ProblemData> data;
  std::unique_ptr<Contestant> contestant;
};

// In CPU time, the default: all run on the calling thread, and what else the machine does must not count.
void registerAll() {
  benchmark::RegisterBenchmark("peak/fma", [](benchmark::State &state) {
    constexpr int64_t rounds = 1 << 16;
    int64_t operations = 0;
    for (auto _ : state)
      operations = multiplyAdds(rounds);
    state.counters["flops"] = benchmark::Counter(operations, benchmark::Counter::kIsIterationInvariantRate);
  })->Unit(benchmark::kMillisecond);
  for (const Problem &problem : allProblems())
    for (const auto &[name, make] : makers) {
      auto entry = std::make_shared<Entry>(problem, name, make);
      benchmark::RegisterBenchmark((problem.name + "/" + name).c_str(), [=](benchmark::State &state) {
        entry->measure(state);
      })->Unit(benchmark::kMillisecond);
    }
}

} // namespace
} // namespace fathom::bench

int main(int argc, char **argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv))
    return 2;
  fathom::bench::registerAll();
  benchmark::RunSpecifiedBenchmarks();
}
