// The workers of a context: runs a kernel's tasks on them and the calling thread, and tells the first fault.
// A thread begins with its own share of the tasks, the same stretch of them in every kernel: what it wrote is in its
// cache when it reads it. Who runs which task in the end is decided while running; what the tasks compute does not
// depend on it.
#ifndef FATHOM_RUNTIME_THREADPOOL_H
#define FATHOM_RUNTIME_THREADPOOL_H

#include "Memory.h"
#include "abi.h"
#include "fathom_rt.h"

#include <algorithm>
#include <atomic>
#include <pthread.h>

namespace fathom {

struct Fault {
  int32_t Code = FATHOM_FAULT_NONE;
  int64_t Run = INT64_MAX; // the first task of the run of tasks in which it is
};

class ThreadPool {
public:
  ThreadPool() = default;
  ThreadPool(const ThreadPool &) = delete;
  ThreadPool &operator=(const ThreadPool &) = delete;
  ~ThreadPool();

  // Starts Threads - 1 workers; the calling thread of a launch is the one more. Worker W's scratch is at
  // Scratch + W * ScratchStride and stays the caller's.
  [[nodiscard]] fathom_status *start(int32_t Threads, char *Scratch, size_t ScratchStride);

  // Uses the caller's threads instead of own ones.
  [[nodiscard]] fathom_status *use(fathom_parallel_for_fn ParallelFor, void *User, int32_t Threads, char *Scratch,
                                   size_t ScratchStride);

  // Runs the tasks [0, Tasks) and waits. When tasks fault, the fault of the lowest one is returned, whatever the
  // threads' timing: every task below it has run, and tasks above it may be left out. Backwards, a thread begins with
  // the last tasks of its share.
  Fault launch(fathom_task_fn Fn, const void *Env, int64_t Tasks, bool Backwards = false) {
    if (Tasks == 1 || Threads == 1)
      return runInline({Fn, Env, Tasks, Backwards});
    return runParallel({Fn, Env, Tasks, Backwards});
  }

  int32_t threads() const { return Threads; }

  // What a thread did of the last launch, and when; no tasks where it came too late.
  struct Part {
    int64_t Start, End, Tasks;
  };
  // From the next launch on; without memory for it, nothing is timed.
  void timeParts(bool On) { Timed = On && (Parts.size() || Parts.allocate(size_t(Threads))); }
  int32_t timedThreads() const { return Timed ? Threads : 0; }
  const Part &part(int32_t Thread) const { return Parts[size_t(Thread)]; }

private:
  struct Job {
    fathom_task_fn Fn;
    const void *Env;
    int64_t Tasks;
    bool Backwards = false;
    int64_t Shares = 1;
    uint64_t Number = 0; // of the launch

    int64_t shareEnd(int64_t Index) const { return Tasks / Shares * (Index + 1) + std::min(Index + 1, Tasks % Shares); }
    template <typename Body> void overRuns(int64_t Begin, int64_t End, Body Run) const;
  };

  // Where a thread runs tasks: its scratch, and the last task that left something there. A thread that looks for more
  // tasks may find those of the next launch already, for which the scratch holds nothing.
  struct Place {
    char *Scratch;
    uint64_t Launch = 0;
    int64_t Before = -1;

    int32_t run(const Job &J, int64_t First, int64_t Last) {
      int32_t Code = J.Fn(J.Env, First, Last, J.Number == Launch ? Before : -1, Scratch);
      Launch = J.Number, Before = Code ? -1 : Last - 1;
      return Code;
    }
  };

  struct Worker {
    ThreadPool *Pool;
    int32_t Index;
    pthread_t Thread;
  };

  // The tasks of a thread's share that nobody has taken. CPUs fetch a cache line's neighbour too.
  struct alignas(2 * Alignment) Share {
    std::atomic<int64_t> Left{0};
  };

  Fault runInline(const Job &J);
  Fault runParallel(const Job &J);
  void takePart(int32_t Index);
  int64_t takeShare(int32_t Index, Place &At, int64_t &Start);
  bool allocateShares(int32_t Count);
  void forgetParts();
  void runTasks(int64_t Begin, int64_t End, Place &At);
  void recordFault(Fault Found);
  bool spinForWork(uint32_t Seen);
  bool waitForWork(uint32_t &Seen);
  void waitForOthers();
  void wake(int64_t Count);
  void workerLoop(int32_t Index);
  static void *workerMain(void *Self);
  static void poolBody(void *Pool, int32_t Index);

  int32_t Threads = 1;
  bool Spins = false;
  char *Scratch = nullptr;
  size_t ScratchStride = 0;
  fathom_parallel_for_fn ParallelFor = nullptr;
  void *ParallelForUser = nullptr;
  // Each thread writes its own, before it tells that its tasks are done.
  Array<Part> Parts;
  bool Timed = false;
  Array<Worker> Workers;
  size_t Started = 0;

  // Whoever lowers what is left of a share owns the tasks it took away and may read the job until it lowers Unfinished
  // by them; only then can the launch end and the job change. So a worker that comes late, or even between two
  // launches, needs no further care, and a launch does not wait for workers that never woke.
  Share *Shares = nullptr; // one for each thread
  alignas(Alignment) Job Current = {};

  alignas(Alignment) std::atomic<int64_t> Unfinished{0};
  std::atomic<int64_t> FaultRun{INT64_MAX}; // those behind it need not run
  Fault First;                              // guarded by FaultLock while tasks run
  pthread_mutex_t FaultLock = PTHREAD_MUTEX_INITIALIZER;

  // Sleep: workers sleep on Launches, the calling thread on Done.
  alignas(Alignment) std::atomic<uint32_t> Launches{0};
  std::atomic<int32_t> Sleepers{0};
  std::atomic<uint32_t> Done{0};
  std::atomic<bool> CallerSleeps{false};
  std::atomic<bool> Stop{false};
};

} // namespace fathom

#endif
