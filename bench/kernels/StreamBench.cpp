// How fast one core reads weights and multiplies them with the elements of a vector, by their size and in how many
// streams: the bound of matrix-vector products, through which all weights pass once. They lie in panels of 16 columns,
// as Fathom packs them, and every stream is in a part of its own. How much of it is left with other multiply-adds
// beside, on registers alone, tells whether a product that needs few weights could be computed meanwhile.
#include <algorithm>
#include <benchmark/benchmark.h>
#include <cstdint>
#include <vector>

namespace {

using Columns = float __attribute__((vector_size(64)));
constexpr int64_t steps = 512, panelBytes = steps * int64_t(sizeof(Columns));

// The products of panels that lie `apart` rows of columns from each other, and as many of columns in registers as are
// to be `beside` them.
template <int64_t streams, int64_t beside>
void multiply(const Columns *weights, int64_t apart, const float *x, Columns *results) {
  Columns sums[streams + beside] = {}, columns[beside + 1];
  std::copy_n(results + streams, beside, columns);
  for (int64_t k = 0; k < steps; ++k) {
    for (int64_t s = 0; s < streams; ++s)
      sums[s] += weights[s * apart + k] * x[k];
    for (int64_t b = 0; b < beside; ++b)
      sums[streams + b] += columns[b] * x[k];
  }
  for (int64_t s = 0; s < streams + beside; ++s)
    results[s] = sums[s];
}

template <int64_t streams, int64_t beside = 0> void readWeights(benchmark::State &state) {
  int64_t panels = state.range(0) * 1024 / panelBytes / streams; // of each stream
  std::vector<Columns> weights(panels * streams * steps), results(streams + beside);
  std::vector<float> x(steps, 1e-3f);
  for (auto _ : state)
    for (int64_t panel = 0; panel < panels; ++panel) {
      multiply<streams, beside>(&weights[panel * steps], panels * steps, x.data(), results.data());
      benchmark::DoNotOptimize(results.data());
      benchmark::ClobberMemory();
    }
  state.SetBytesProcessed(state.iterations() * panels * streams * panelBytes);
}

} // namespace

// Sizes of weights that a second-level cache, a third-level cache, and neither of them holds.
#define WITH_STREAMS(count)                                                                                            \
  BENCHMARK(readWeights<count>)->Name("streams:" #count)->ArgName("KiB")->Arg(512)->Arg(4 << 10)->Arg(128 << 10)
WITH_STREAMS(1);
WITH_STREAMS(2);
WITH_STREAMS(3);
WITH_STREAMS(4);
WITH_STREAMS(5);
WITH_STREAMS(6);
#define WITH_OTHERS(count)                                                                                             \
  BENCHMARK(readWeights<1, count>)->Name("streams:1/beside:" #count)->ArgName("KiB")->Arg(512)->Arg(4 << 10)
WITH_OTHERS(1);
WITH_OTHERS(2);

BENCHMARK_MAIN();
