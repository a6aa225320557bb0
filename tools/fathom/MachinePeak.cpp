// The best of a few rounds of multiply-adds on registers, and of sums over a large block of memory.
#include "tools/fathom/MachinePeak.h"

#include "compiler/target/HostCaches.h"
#include "tools/fathom/MultiplyAdds.h"
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <thread>
#include <vector>

namespace fathom {
namespace {

using Clock = std::chrono::steady_clock;

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
