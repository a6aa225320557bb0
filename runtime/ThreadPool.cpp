// The thread pool: a share of the tasks for every thread, taken in runs, then the others' shares; short spinning, then
// sleeping on a futex.
#include "ThreadPool.h"

#include "Clock.h"
#include "CpuCount.h"
#include "FloatMode.h"
#include "Futex.h"
#include "Lock.h"
#include "Status.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

using namespace fathom;

namespace {

// A worker spins longer than the gap between most kernels and shorter than an idle program would notice; while others
// still run tasks, so that the next launch is to come, longer than it mostly waits for the slowest of them. The caller
// spins less, as what it waits for may be a worker in need of its CPU: where another program takes one of two CPUs,
// models take 3 to 12 % longer than without much spinning, and up to 50 % longer with 2 ms of it.
constexpr int64_t WorkerSpinNs = 50000, LaunchSpinNs = 500000, CallerSpinNs = 100000;

inline void pause() {
#if defined(__aarch64__)
  __asm__ volatile("isb" ::: "memory"); // "yield" does nothing on most cores; this waits some tens of cycles
#elif defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

// Spins until Ready() or until the time is over; tells which.
template <typename Predicate> bool spinFor(int64_t LimitNs, Predicate Ready) {
  if (Ready())
    return true;
  if (!LimitNs)
    return false;
  int64_t End = nowNs() + LimitNs;
  do {
    for (int I = 0; I < 16; ++I) {
      pause();
      if (Ready())
        return true;
    }
  } while (nowNs() < End);
  return false;
}

} // namespace

fathom_status *ThreadPool::start(int32_t Count, char *ScratchMemory, size_t Stride) {
  Scratch = ScratchMemory;
  ScratchStride = Stride;
  // Spinning helps only threads that have a CPU each.
  Spins = Count <= availableCpus();
  if (!Workers.allocate(size_t(Count - 1)) || !allocateShares(Count))
    return outOfMemory("the workers", size_t(Count) * (sizeof(Worker) + sizeof(Share)));
  Threads = Count;

  SignalsBlocked Blocked;
  int Error = 0;
  for (; Started < Workers.size() && !Error; Started += !Error) {
    Workers[Started].Pool = this;
    Workers[Started].Index = int32_t(Started) + 1;
    Error = pthread_create(&Workers[Started].Thread, nullptr, workerMain, &Workers[Started]);
  }
  return Error ? makeStatus(FATHOM_ERROR_MEMORY, "cannot start worker thread %zu of %d: %s", Started + 1, Count - 1,
                            strerror(Error))
               : nullptr;
}

fathom_status *ThreadPool::use(fathom_parallel_for_fn Function, void *User, int32_t Count, char *ScratchMemory,
                               size_t Stride) {
  if (!allocateShares(Count))
    return outOfMemory("the threads' shares", size_t(Count) * sizeof(Share));
  ParallelFor = Function;
  ParallelForUser = User;
  Threads = Count;
  Scratch = ScratchMemory;
  ScratchStride = Stride;
  return nullptr;
}

bool ThreadPool::allocateShares(int32_t Count) {
  Shares = static_cast<Share *>(aligned_alloc(alignof(Share), size_t(Count) * sizeof(Share)));
  for (int32_t I = 0; Shares && I < Count; ++I)
    new (&Shares[I]) Share;
  return Shares;
}

ThreadPool::~ThreadPool() {
  Stop.store(true);
  Launches.fetch_add(1);
  wake(Threads);
  for (size_t I = 0; I < Started; ++I)
    pthread_join(Workers[I].Thread, nullptr);
  free(Shares);
}

// Neighbouring tasks in runs, as long as possible. Backwards, runs are short enough that what the last ones leave in a
// cache is much of what the next launch begins with.
template <typename Body> void ThreadPool::Job::overRuns(int64_t Begin, int64_t End, Body Run) const {
  constexpr int64_t RunsOfShare = 8;
  int64_t Most = Backwards ? std::max<int64_t>(1, Tasks / Shares / RunsOfShare) : End - Begin;
  for (int64_t Last = End; Last > Begin; Last -= Most)
    Run(std::max(Begin, Last - Most), Last);
}

Fault ThreadPool::runInline(const Job &J) {
  forgetParts();
  int64_t Start = Timed ? nowNs() : 0;
  Place At{Scratch};
  Fault Lowest;
  J.overRuns(0, J.Tasks, [&](int64_t First, int64_t Last) {
    if (int32_t Code = At.run(J, First, Last))
      Lowest = {Code, First};
  });
  if (Timed)
    Parts[0] = {Start, nowNs(), J.Tasks};
  return Lowest;
}

void ThreadPool::forgetParts() {
  for (int32_t Thread = 0; Thread < timedThreads(); ++Thread)
    Parts[size_t(Thread)] = {};
}

Fault ThreadPool::runParallel(const Job &J) {
  forgetParts();
  if (J.Tasks <= 0)
    return {};
  uint64_t Number = Current.Number + 1;
  Current = J;
  Current.Number = Number;
  Current.Shares = std::min<int64_t>(Threads, J.Tasks);
  if (First.Code) {
    First = {};
    FaultRun.store(INT64_MAX, std::memory_order_relaxed);
  }
  Unfinished.store(J.Tasks, std::memory_order_relaxed);
  for (int64_t I = 0; I < Current.Shares; ++I)
    Shares[I].Left.store(Current.shareEnd(I) - Current.shareEnd(I - 1), std::memory_order_release);
  // Sequentially consistent, as are a falling asleep worker's count of itself and its last look at Launches: either it
  // sees the launch or we see the sleeper.
  Launches.fetch_add(1);
  if (ParallelFor)
    ParallelFor(ParallelForUser, poolBody, this, int32_t(std::min<int64_t>(Threads, J.Tasks)));
  else if (Sleepers.load() > 0)
    wake(J.Tasks - 1);
  takePart(0);
  waitForOthers();
  return First;
}

// Takes tasks until none are left: those of its own share, then what others have left of theirs. It tells of each
// share at once, so that nobody waits for a thread that looks for more.
void ThreadPool::takePart(int32_t Index) {
  Place At{Scratch + size_t(Index) * ScratchStride};
  for (int32_t I = 0; I < Threads; ++I) {
    int64_t Start = 0;
    int64_t Finished = takeShare(Index + I < Threads ? Index + I : Index + I - Threads, At, Start);
    if (!Finished)
      continue;
    if (Timed) {
      Part &Mine = Parts[size_t(Index)];
      Mine = {Mine.Tasks ? Mine.Start : Start, nowNs(), Mine.Tasks + Finished};
    }
    if (Unfinished.fetch_sub(Finished) == Finished && CallerSleeps.load()) {
      Done.fetch_add(1);
      futexWake(Done, 1);
    }
  }
}

// Each claim is a run of neighbours, half of what is left: long at first, for few claims, and single tasks at the end,
// for balance. Returns how many tasks there were, and when the first of them started. Before it has one, it must not
// touch what belongs to a launch.
int64_t ThreadPool::takeShare(int32_t Index, Place &At, int64_t &Start) {
  std::atomic<int64_t> &Share = Shares[Index].Left;
  int64_t Finished = 0, Left = Share.load(std::memory_order_relaxed);
  while (Left > 0) {
    int64_t Count = std::max<int64_t>(1, Left / 2);
    if (!Share.compare_exchange_weak(Left, Left - Count, std::memory_order_acquire, std::memory_order_relaxed))
      continue;
    if (Timed && !Finished)
      Start = nowNs();
    int64_t Begin = Current.Backwards ? Current.shareEnd(Index - 1) + Left - Count : Current.shareEnd(Index) - Left;
    runTasks(Begin, Begin + Count, At);
    Finished += Count;
    Left = Share.load(std::memory_order_relaxed);
  }
  return Finished;
}

void ThreadPool::runTasks(int64_t Begin, int64_t End, Place &At) {
  Current.overRuns(Begin, End, [&](int64_t First, int64_t Last) {
    if (First > FaultRun.load(std::memory_order_relaxed))
      return;
    if (int32_t Code = At.run(Current, First, Last))
      recordFault({Code, First});
  });
}

void ThreadPool::recordFault(Fault Found) {
  pthread_mutex_lock(&FaultLock);
  if (Found.Run < First.Run) {
    First = Found;
    FaultRun.store(Found.Run, std::memory_order_relaxed);
  }
  pthread_mutex_unlock(&FaultLock);
}

void ThreadPool::waitForOthers() {
  auto AllFinished = [&] { return Unfinished.load(std::memory_order_acquire) == 0; };
  if (spinFor(Spins ? CallerSpinNs : 0, AllFinished))
    return;
  CallerSleeps.store(true);
  for (uint32_t Seen = Done.load(); Unfinished.load() != 0; Seen = Done.load())
    futexWait(Done, Seen);
  CallerSleeps.store(false);
}

// Whether a launch after the one last seen comes while a worker spins.
bool ThreadPool::spinForWork(uint32_t Seen) {
  auto IsNew = [&] { return Launches.load(std::memory_order_acquire) != Seen; };
  if (!Spins)
    return IsNew();
  bool Busy = true;
  for (int64_t Spun = 0; Busy && Spun < LaunchSpinNs; Spun += WorkerSpinNs) {
    Busy = Unfinished.load(std::memory_order_relaxed) > 0;
    if (spinFor(WorkerSpinNs, IsNew))
      return true;
  }
  return false;
}

// Waits for a launch after the one last seen; false when the pool is to stop.
bool ThreadPool::waitForWork(uint32_t &Seen) {
  while (!spinForWork(Seen)) {
    Sleepers.fetch_add(1);
    if (Launches.load() == Seen)
      futexWait(Launches, Seen);
    Sleepers.fetch_sub(1);
  }
  Seen = Launches.load();
  return !Stop.load(std::memory_order_relaxed);
}

void ThreadPool::wake(int64_t Count) { futexWake(Launches, int(std::min<int64_t>(Count, Threads))); }

void ThreadPool::workerLoop(int32_t Index) {
  StandardFloatMode Mode;
  for (uint32_t Seen = 0; waitForWork(Seen);)
    takePart(Index);
}

void *ThreadPool::workerMain(void *Argument) {
  auto *Self = static_cast<Worker *>(Argument);
  char Name[16];
  snprintf(Name, sizeof(Name), "fathom-%d", Self->Index);
  pthread_setname_np(pthread_self(), Name);
  Self->Pool->workerLoop(Self->Index);
  return nullptr;
}

// A call of the caller's pool. One with a number that was never asked for has no scratch and so takes no part.
void ThreadPool::poolBody(void *Argument, int32_t Index) {
  auto *Pool = static_cast<ThreadPool *>(Argument);
  if (Index < 0 || Index >= Pool->Threads)
    return;
  StandardFloatMode Mode;
  Pool->takePart(Index);
}
