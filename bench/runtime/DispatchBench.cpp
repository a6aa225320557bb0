// What a call costs besides its kernels: checks, shape arithmetic, memory planning and dispatch. Measures an artifact:
// dispatch_bench ARTIFACT [NAME=SIZE...] [Google Benchmark's options].
#include "runtime/fathom_rt.h"

#include <benchmark/benchmark.h>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>

namespace {

void check(fathom_status *status) {
  if (!status)
    return;
  fprintf(stderr, "dispatch_bench: %s\n", fathom_status_message(status));
  exit(1);
}

// Inputs of zeros and room for the outputs.
struct Tensors {
  std::vector<std::vector<int64_t>> dims;
  std::vector<std::vector<char>> data;
  std::vector<fathom_tensor> tensors;

  void add(const fathom_tensor_info &info, std::vector<int64_t> shape) {
    size_t bytes = fathom_dtype_bytes(info.dtype);
    for (int64_t size : shape)
      bytes *= size;
    dims.push_back(std::move(shape));
    // An empty vector has no address.
    data.emplace_back(bytes + 64);
    tensors.push_back({data.back().data(), info.dtype, info.rank, dims.back().data(), bytes});
  }
};

struct Call {
  fathom_model *model = nullptr;
  fathom_context *context = nullptr;
  Tensors inputs, outputs;

  Call(const char *artifact, std::map<std::string, int64_t> sizes) {
    check(fathom_model_load(artifact, &model));
    fathom_context_options options = FATHOM_CONTEXT_OPTIONS_INIT;
    options.threads = 1;
    check(fathom_context_create(model, &options, &context));
    fathom_context_set_profiling(context, 1);
    fathom_tensor_info info;
    std::vector<const int64_t *> given;
    for (size_t i = 0; i < fathom_model_input_count(model); ++i) {
      check(fathom_model_input(model, i, &info));
      std::vector<int64_t> shape(info.dims, info.dims + info.rank);
      for (int32_t d = 0; d < info.rank; ++d)
        if (shape[d] < 0)
          shape[d] = info.symbols[d] && sizes.count(info.symbols[d]) ? sizes[info.symbols[d]] : 1;
      inputs.add(info, std::move(shape));
      given.push_back(inputs.tensors.back().dims);
    }
    std::vector<std::vector<int64_t>> shapes;
    std::vector<int64_t *> computed;
    for (size_t i = 0; i < fathom_model_output_count(model); ++i) {
      check(fathom_model_output(model, i, &info));
      computed.push_back(shapes.emplace_back(info.rank + 1).data());
    }
    check(fathom_context_output_dims(context, given.data(), computed.data()));
    for (size_t i = 0; i < shapes.size(); ++i) {
      check(fathom_model_output(model, i, &info));
      outputs.add(info, {shapes[i].begin(), shapes[i].begin() + info.rank});
    }
  }
  ~Call() {
    fathom_context_free(context);
    fathom_model_free(model);
  }

  void run() {
    check(fathom_context_run(context, inputs.tensors.data(), inputs.tensors.size(), outputs.tensors.data(),
                             outputs.tensors.size()));
  }

  int64_t kernelNs() const {
    int64_t sum = 0;
    fathom_profile_entry entry;
    for (size_t i = 0; i < fathom_context_profile_count(context); ++i) {
      check(fathom_context_profile(context, i, &entry));
      sum += entry.end_ns - entry.start_ns;
    }
    return sum;
  }
};

using Clock = std::chrono::steady_clock;
int64_t nsSince(Clock::time_point start) { return std::chrono::nanoseconds(Clock::now() - start).count(); }

// Of one reading of the clock: profiling adds about one to what lies between two kernels.
double clockNs() {
  constexpr int readings = 10000;
  auto start = Clock::now();
  for (int i = 0; i < readings; ++i)
    benchmark::DoNotOptimize(Clock::now());
  return double(nsSince(start)) / readings;
}

// The time of a call less that of its kernels and of measuring them.
void dispatch(benchmark::State &state, Call *call) {
  for (auto _ : state) {
    auto start = Clock::now();
    call->run();
    int64_t all = nsSince(start);
    double readings = double(fathom_context_profile_count(call->context)) * clockNs();
    state.SetIterationTime(1e-9 * (double(all - call->kernelNs()) - readings));
  }
  state.counters["kernels"] = double(fathom_context_profile_count(call->context));
}

} // namespace

int main(int argc, char **argv) {
  benchmark::Initialize(&argc, argv);
  std::map<std::string, int64_t> sizes;
  for (int i = 2; i < argc; ++i)
    if (const char *equals = strrchr(argv[i], '='))
      sizes[std::string(argv[i], equals - argv[i])] = atoll(equals + 1);
  if (argc < 2) {
    fputs("usage: dispatch_bench ARTIFACT [NAME=SIZE...] [--benchmark_...]\n", stderr);
    return 2;
  }
  Call call(argv[1], sizes);
  call.run();
  // One call at a time, for the median: whatever else the machine does hits few of them.
  benchmark::RegisterBenchmark("dispatch", dispatch, &call)
      ->UseManualTime()
      ->Unit(benchmark::kMicrosecond)
      ->Iterations(1)
      ->Repetitions(101)
      ->ReportAggregatesOnly();
  benchmark::RunSpecifiedBenchmarks();
}
