// The best of a few rounds of multiply-adds on registers, and of sums over a large block of memory.
#include "tools/fathom/machine/MachinePeak.h"

#include "compiler/target/HostCaches.h"
#include "tools/fathom/machine/MultiplyAdds.h"
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <numeric>
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

// The best rate of each thread over many short pieces of work while all threads are at work: a piece is short enough to
// find an undisturbed moment of a busy machine, as a kernel does. Work on registers alone is no other thread's loss.
template <typename Work> double sumOfBestRates(int threads, Work work) {
  constexpr double enough = 0.06;
  std::vector<double> best(threads);
  std::vector<std::thread> others;
  auto run = [&](int thread) {
    for (auto start = Clock::now(); seconds(start) < enough;) {
      auto begin = Clock::now();
      double done = work(thread);
      best[thread] = std::max(best[thread], done / std::max(seconds(begin), 1e-9));
    }
  };
  for (int i = 1; i < threads; ++i)
    others.emplace_back(run, i);
  run(0);
  for (std::thread &other : others)
    other.join();
  return std::accumulate(best.begin(), best.end(), 0.0);
}

typedef uint64_t Line __attribute__((vector_size(64)));
constexpr size_t together = 4;

// Several sums, so that none waits for the one before it.
inline __attribute__((always_inline)) void addLines(const Line *lines, size_t count) {
  Line sums[together] = {};
  for (size_t i = 0; i < count; i += together)
    for (size_t j = 0; j < together; ++j)
      sums[j] += lines[i + j];
  volatile Line used = sums[0] + sums[1] + sums[2] + sums[3];
  (void)used;
}

#if defined(__x86_64__)
// This program is built for every machine of its kind: with its vectors alone it would read slower than kernels do.
__attribute__((target("avx512f"))) void addLines512(const Line *lines, size_t count) { addLines(lines, count); }
__attribute__((target("avx2"))) void addLines256(const Line *lines, size_t count) { addLines(lines, count); }

void addLinesBest(const Line *lines, size_t count) {
  if (__builtin_cpu_supports("avx512f"))
    return addLines512(lines, count);
  return __builtin_cpu_supports("avx2") ? addLines256(lines, count) : addLines(lines, count);
}
#else
void addLinesBest(const Line *lines, size_t count) { addLines(lines, count); }
#endif

// Memory that one thread reads.
class Block {
public:
  explicit Block(size_t bytes) : lines(std::max<size_t>(1, bytes / (together * sizeof(Line))) * together) {}
  // The bytes it read.
  double read(size_t passes) const {
    for (size_t pass = 0; pass < passes; ++pass)
      addLinesBest(lines.data(), lines.size());
    return double(lines.size() * sizeof(Line)) * double(passes);
  }

private:
  std::vector<Line> lines;
};

} // namespace

size_t lastLevelCacheBytes() {
  std::vector<int64_t> sizes = hostCacheBytes();
  return sizes.empty() ? size_t(32) << 20 : size_t(sizes.back());
}

double readRate(size_t bytes, int threads) {
  std::vector<Block> blocks(threads, Block(bytes));
  // Long enough to be timed.
  size_t passes = std::max<size_t>(1, (size_t(16) << 20) / std::max<size_t>(bytes, 1));
  return bestRate(threads, [&](int thread) { return blocks[thread].read(passes); });
}

MachinePeak measurePeak(int threads) {
  MachinePeak peak;
  threads = std::max(threads, 1);
  peak.flopPerSecond = sumOfBestRates(threads, [](int) { return double(multiplyAdds(1 << 13)); });
  // Four times the cache, but no more than a small machine can spare.
  size_t all = std::clamp<size_t>(4 * lastLevelCacheBytes(), size_t(64) << 20, size_t(256) << 20);
  peak.bytesPerSecond = readRate(all / threads, threads);
  std::vector<int64_t> caches = hostCacheBytes();
  size_t own = caches.size() > 1 ? size_t(caches[1]) : size_t(256) << 10;
  std::vector<Block> blocks(threads, Block(own / 2));
  peak.cachedBytesPerSecond = sumOfBestRates(threads, [&](int thread) { return blocks[thread].read(4); });
  return peak;
}

} // namespace fathom
