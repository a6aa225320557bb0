// What every cost model gives, and what moving data costs: the terms that the models of all kernel families share.
// Times are in cycles of one core.
#pragma once

#include "compiler/target/Target.h"
#include <array>

namespace fathom::cost {

// Cycles by where data comes from: the caches behind the first, level by level, and memory, which is the last. Levels
// behind the fourth count with it.
constexpr size_t mostSources = 4;
using BySource = std::array<double, mostSources>;

inline void add(BySource &to, const BySource &from) {
  for (size_t i = 0; i < mostSources; ++i)
    to[i] += from[i];
}

inline BySource times(BySource of, double factor) {
  for (double &part : of)
    part *= factor;
  return of;
}

// What is waited for of data on its way.
struct Movement {
  double cycles = 0;
  BySource from{};

  Movement &operator+=(const Movement &other) {
    cycles += other.cycles;
    add(from, other.from);
    return *this;
  }
  Movement operator*(double factor) const { return {cycles * factor, times(from, factor)}; }
};

// Where the time of an estimate goes, in cycles of one thread among all: its even share of the work, and what it costs
// that there are several. They add up to the estimate's total.
struct Parts {
  double arithmetic = 0; // as if all tiles were full
  double tails = 0;      // what partial tiles cost beyond full ones
  BySource movement{};
  double packing = 0;
  double results = 0;   // storing them, with what is fused behind
  double tasks = 0;     // starting them
  double imbalance = 0; // tasks that do not come out even, a slow thread, what threads pack again
  double exchange = 0;  // data that other cores have
  double spreading = 0; // waking threads, and waiting for the last of them

  double sum() const;
};

struct Estimate {
  double arithmetic = 0; // the register tiles
  double movement = 0;   // refilling caches, as far as arithmetic does not hide it
  double packing = 0;
  double results = 0; // storing them, with what is fused behind
  double tasks = 1;
  // So many neighbouring tasks are packed for at once, by a thread that takes a run of them; it may keep that for more
  // of them.
  double groupTasks = 1;
  bool isKept = false;
  double largest = 0; // share of the work that the largest task has; 0: all have the same
  double perTask = 0; // starting one
  // Bringing all data from other cores, as it is where they cut it otherwise: all kernels cut rows of pixels, this one
  // into so many parts.
  double exchange = 0, rowParts = 1;
  double spreading = 0;    // waking other threads and waiting for the last of them
  double tails = 0;        // of the arithmetic: what partial tiles cost beyond full ones
  BySource movementFrom{}; // of the movement

  // What every task and thread costs on a machine.
  static Estimate on(const Target &target);
  void moves(const Movement &movement);

  // The time that `threads` threads need, which share the tasks evenly as far as they come out even; one of them may
  // have only `slowest` of the others' speed.
  double total(int64_t threads = 1, double slowest = 1) const;
  Parts parts(int64_t threads = 1, double slowest = 1) const;
};

// What a schedule is judged by: the time of all threads together, for one thread and for as many as the target has.
double overThreads(const Estimate &estimate, const Target &target);

// Cycles of bringing data into the first-level cache: all of them, and those that prefetching does not hide where there
// is arithmetic enough to hide the rest behind.
struct Refill {
  double full = 0, exposed = 0;
  BySource fullFrom{}, exposedFrom{};

  Refill &operator+=(const Refill &other) {
    full += other.full, exposed += other.exposed;
    add(fullFrom, other.fullFrom), add(exposedFrom, other.exposedFrom);
    return *this;
  }
  Refill operator*(double factor) const { return scaled(factor, factor); }
  // The same data at another speed, or waited for otherwise.
  Refill scaled(double fullTimes, double exposedTimes) const {
    return {full * fullTimes, exposed * exposedTimes, times(fullFrom, fullTimes), times(exposedFrom, exposedTimes)};
  }
  // Where at least this share of it is waited for.
  Refill exposedAtLeast(double share) const {
    return full * share > exposed ? Refill{full, full * share, fullFrom, times(fullFrom, share)} : *this;
  }
  // What remains to be waited for beside so many cycles of arithmetic.
  Movement beside(double arithmetic) const {
    if (exposed >= full - arithmetic)
      return {exposed, exposedFrom};
    return {full - arithmetic, times(fullFrom, (full - arithmetic) / full)};
  }
  // All of it.
  Movement waitedFor() const { return {full, fullFrom}; }
};
// From where a working set of `residentBytes` stays, beside what is fetched ahead into the second-level cache, and from
// memory in any case.
Refill refill(double bytes, double residentBytes, const Target &target, double fetchedAhead = 0);
Refill coldRefill(double bytes, const Target &target);
// Cycles of storing results from stretches of so many bytes. Where they are parts of longer rows, of which other tasks
// have the rest, hardware fetches ahead what is not theirs.
double storingCycles(double bytes, double stretch, bool inParts, const Target &target);
// What of it remains where it is one stream, which is prefetched from any distance.
Refill asStream(const Refill &refill, const Target &target);
// How much longer this machine waits for what lies apart than Neoverse-N1, on which that was measured.
double waiting(const Target &target);
// What reading so many lines side by side costs, again and again at a distance, in multiples of the time that a stream
// of as many bytes takes: hardware fetches ahead where several lines follow each other.
double linesApart(double lines, const Target &target);
// How far so many runs of bytes, read side by side, fill the sets of a cache that they share: at a distance (in bytes)
// with a large power of two in it there are few such sets. Above 1 they throw each other out.
double setsFilled(double runs, int64_t distance, const CacheLevel &level, int64_t run = lineBytes);

} // namespace fathom::cost
