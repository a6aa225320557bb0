// What the runtime adds to the kernels: one call of a model with next to nothing to do, and one parallel launch.
#include "bench/common/OneNodeModel.h"
#include "runtime/ThreadPool.h"

#include <benchmark/benchmark.h>

namespace fathom::bench {
namespace {

void callTinyModel(benchmark::State &state) {
  OneNodeModel model = OneNodeModel::relu(1);
  for (auto _ : state)
    model.run();
}
BENCHMARK(callTinyModel)->UseRealTime();

// As many tasks as threads, each with nothing to do.
void launch(benchmark::State &state) {
  ThreadPool pool;
  if (fathom_status *status = pool.start(state.range(0), nullptr, 0)) {
    state.SkipWithError(fathom_status_message(status));
    return fathom_status_free(status);
  }
  auto nothing = [](const void *, int64_t, int64_t, int64_t, void *) -> int32_t { return FATHOM_FAULT_NONE; };
  for (auto _ : state)
    pool.launch(nothing, nullptr, state.range(0));
}
BENCHMARK(launch)->ArgName("threads")->Arg(1)->Arg(2)->Arg(4)->UseRealTime();

} // namespace
} // namespace fathom::bench

BENCHMARK_MAIN();
