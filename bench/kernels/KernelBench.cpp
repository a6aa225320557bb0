// Matrix products and convolutions of real networks on one thread, beside OpenBLAS and the peak of the machine, in
// turns. Fathom's weights are packed when a model is compiled; OpenBLAS gets matrices as they are. Beside a convolution
// stands the product of its size, without the work of making it one.
#include "bench/common/OneNodeModel.h"
#include "bench/kernels/ComparisonTable.h"
#include "tools/fathom/MachinePeak.h"

#include <cblas.h>
#include <cmath>
#include <cstdio>
#include <memory>
#include <optional>

namespace fathom::bench {
namespace {

struct Problem {
  std::string name;
  int64_t rows, columns, depth;
  int64_t pixels = 0; // height and width of a convolution; 0 for a product
};

const Problem problems[] = {
    {"gemm/128x768x768", 128, 768, 768},       {"gemm/128x3072x768", 128, 3072, 768},
    {"gemm/128x768x3072", 128, 768, 3072},     {"gemm/3136x64x576", 3136, 64, 576},
    {"gemm/196x256x2304", 196, 256, 2304},     {"gemm/49x512x4608", 49, 512, 4608},
    {"gemm/1x4096x4096", 1, 4096, 4096},       {"conv3x3/56x56x64", 3136, 64, 576, 56},
    {"conv3x3/14x14x256", 196, 256, 2304, 14}, {"conv3x3/7x7x512", 49, 512, 4608, 7},
};

// What both sides need for a problem, made when it is first measured.
class Contestants {
public:
  explicit Contestants(const Problem &problem) : problem(problem) {}

  OneNodeModel &ours() {
    prepare();
    return *model;
  }
  void runTheirs() {
    prepare();
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, problem.rows, problem.columns, problem.depth, 1, left.data(),
                problem.depth, right.data(), problem.columns, 0, result.data(), problem.columns);
  }

private:
  void prepare() {
    if (model)
      return;
    left = randomFloats(problem.rows * problem.depth, 1), right = randomFloats(problem.depth * problem.columns, 2);
    result.resize(problem.rows * problem.columns);
    if (problem.pixels) {
      model.emplace(OneNodeModel::conv(problem.pixels, problem.columns, 3));
      return;
    }
    model.emplace(OneNodeModel::matMul(problem.rows, problem.columns, problem.depth, right));
    checkResults();
  }

  // A time means nothing if the results are wrong.
  void checkResults() {
    model->run();
    runTheirs();
    for (size_t i = 0; i < result.size(); ++i)
      if (!(std::abs(model->output[i] - result[i]) <= 1e-4 * std::sqrt(problem.depth) * 10)) {
        std::fprintf(stderr, "%s: the results differ from OpenBLAS's\n", problem.name.c_str());
        exit(1);
      }
  }

  const Problem &problem;
  std::vector<float> left, right, result;
  std::optional<OneNodeModel> model;
};

template <typename Run> void measure(benchmark::State &state, double operations, Run run) {
  run(); // prepares, and brings the data into the caches
  for (auto _ : state)
    run();
  state.counters[rateCounter] = benchmark::Counter(operations, benchmark::Counter::kIsIterationInvariantRate);
}

void registerAll() {
  constexpr int64_t peakRounds = 1 << 16;
  benchmark::RegisterBenchmark("peak/fma", [](benchmark::State &state) {
    measure(state, multiplyAdds(peakRounds), [] { multiplyAdds(peakRounds); });
  })->UseRealTime();
  for (const Problem &problem : problems) {
    auto contestants = std::make_shared<Contestants>(problem);
    double operations = 2.0 * problem.rows * problem.columns * problem.depth;
    benchmark::RegisterBenchmark((problem.name + "/fathom").c_str(), [=](benchmark::State &state) {
      measure(state, operations, [&] { contestants->ours().run(); });
    })->UseRealTime();
    benchmark::RegisterBenchmark((problem.name + "/openblas").c_str(), [=](benchmark::State &state) {
      measure(state, operations, [&] { contestants->runTheirs(); });
    })->UseRealTime();
  }
}

} // namespace
} // namespace fathom::bench

int main(int argc, char **argv) {
  openblas_set_num_threads(1);
  // Repetitions of all benchmarks in random order, so that a slow moment of the machine meets both sides. What the user
  // says comes later and counts.
  char repeat[] = "--benchmark_repetitions=7", interleave[] = "--benchmark_enable_random_interleaving=true",
       time[] = "--benchmark_min_time=0.1";
  std::vector<char *> arguments{argv[0], repeat, interleave, time};
  arguments.insert(arguments.end(), argv + 1, argv + argc);
  int count = arguments.size();
  arguments.push_back(nullptr);
  benchmark::Initialize(&count, arguments.data());
  if (benchmark::ReportUnrecognizedArguments(count, arguments.data()))
    return 2;
  fathom::bench::registerAll();
  std::vector<std::string> kernels;
  for (const fathom::bench::Problem &problem : fathom::bench::problems)
    kernels.push_back(problem.name);
  fathom::bench::ComparisonTable table(kernels);
  benchmark::RunSpecifiedBenchmarks(&table);
}
