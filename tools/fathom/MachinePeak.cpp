// Multiply-adds in independent chains, enough of them to hide the latency, in the widest registers that this CPU has;
// and sums over a large block of memory.
#include "tools/fathom/MachinePeak.h"

#include "compiler/target/HostCaches.h"
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <thread>
#include <vector>

namespace fathom {
namespace {

using Clock = std::chrono::steady_clock;

// Small enough that the compiler keeps all chains in registers: 16 vectors of AVX2, 32 elsewhere.
template <int bytes, int chains> inline __attribute__((always_inline)) int64_t multiplyAdd(int64_t rounds) {
  typedef float Vector __attribute__((vector_size(bytes)));
  // Volatile, so that neither the factors are known nor the result is unused: the loop cannot be simplified.
  volatile Vector first = Vector{} + 0.999f, second = Vector{} + 0.001f, result;
  const Vector x = first, y = second;
  Vector sums[chains] = {};
  for (int64_t round = 0; round < rounds; ++round) {
#pragma clang loop unroll(full)
    for (Vector &sum : sums)
      sum = __builtin_elementwise_fma(x, y, sum);
  }
  Vector total{};
  for (const Vector &sum : sums)
    total += sum;
  result = total;
  (void)result;
  return rounds * 2 * chains * int64_t(bytes / sizeof(float));
}

#if defined(__x86_64__)
__attribute__((target("avx512f"))) int64_t multiplyAdd512(int64_t rounds) { return multiplyAdd<64, 24>(rounds); }
__attribute__((target("avx2,fma"))) int64_t multiplyAdd256(int64_t rounds) { return multiplyAdd<32, 12>(rounds); }
#endif

double seconds(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

// The best of a few rounds of `work` on all threads at once; it returns how much it did.
template <typename Work> double bestRate(int threads, Work work) {
  double best = 0;
  for (int round = 0; round < 12; ++round) {
    std::vector<double> done(threads);
    std::vector<std::thread> others;
    auto start = Clock::now();
    for (int i = 1; i < threads; ++i)
      others.emplace_back([&, i] { done[i] = work(i); });
    done[0] = work(0);
    for (std::thread &other : others)
      other.join();
    double time = seconds(start), sum = 0;
    for (double amount : done)
      sum += amount;
    best = std::max(best, time > 0 ? sum / time : 0);
  }
  return best;
}

} // namespace

int64_t multiplyAdds(int64_t rounds) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f"))
    return multiplyAdd512(rounds);
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? multiplyAdd256(rounds) : 0;
#else
  return multiplyAdd<16, 24>(rounds);
#endif
}

size_t lastLevelCacheBytes() {
  std::vector<int64_t> sizes = hostCacheBytes();
  return sizes.empty() ? size_t(32) << 20 : size_t(sizes.back());
}

double readRate(size_t bytes, int threads) {
  // Several sums, so that none waits for the one before it.
  typedef uint64_t Line __attribute__((vector_size(64)));
  constexpr size_t together = 4;
  bytes = std::max<size_t>(1, bytes / (together * sizeof(Line))) * together * sizeof(Line);
  std::vector<std::vector<Line>> blocks(threads, std::vector<Line>(bytes / sizeof(Line)));
  // Long enough to be timed.
  size_t passes = std::max<size_t>(1, (size_t(16) << 20) / bytes);
  return bestRate(threads, [&](int thread) {
    for (size_t pass = 0; pass < passes; ++pass) {
      Line sums[together] = {};
      for (size_t i = 0; i < blocks[thread].size(); i += together)
        for (size_t j = 0; j < together; ++j)
          sums[j] += blocks[thread][i + j];
      volatile Line used = sums[0] + sums[1] + sums[2] + sums[3];
      (void)used;
    }
    return double(bytes) * double(passes);
  });
}

MachinePeak measurePeak(int threads) {
  MachinePeak peak;
  threads = std::max(threads, 1);
  peak.flopPerSecond = bestRate(threads, [](int) { return double(multiplyAdds(1 << 18)); });
  // Four times the cache, but no more than a small machine can spare.
  size_t all = std::clamp<size_t>(4 * lastLevelCacheBytes(), size_t(64) << 20, size_t(256) << 20);
  peak.bytesPerSecond = readRate(all / threads, threads);
  return peak;
}

} // namespace fathom
