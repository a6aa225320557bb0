// The shared pool: helpers look for launches of any context that can use another worker.
#include "Clock.h"
#include "CpuCount.h"
#include "Lock.h"
#include "Memory.h"
#include "Status.h"

#include <cstring>

using namespace fathom;

namespace {

// A launch that has numbers of workers left to give away. It lies on the stack of the thread that waits for it.
struct Launch {
  void (*Body)(void *Arg, int32_t Worker);
  void *Arg;
  int32_t Workers, Next = 0, Unfinished = 0;
  Launch *Later = nullptr;
};

} // namespace

struct fathom_pool {
  fathom_pool() = default;
  fathom_pool(const fathom_pool &) = delete;
  fathom_pool &operator=(const fathom_pool &) = delete;
  ~fathom_pool();

  [[nodiscard]] fathom_status *start(int32_t Count);
  void run(Launch &Given);

  int32_t Threads = 1;

private:
  static void *helperMain(void *Self);
  void help();
  void work(Launch &Given);
  void forget(Launch &Given);

  Mutex Lock;
  Condition Offered, Finished;
  Launch *First = nullptr, **End = &First; // that have numbers left
  int32_t Active = 0;                      // threads that work
  bool Stop = false;
  Array<pthread_t> Helpers;
  size_t Started = 0;
};

fathom_status *fathom_pool::start(int32_t Count) {
  Threads = Count;
  if (!Helpers.allocate(size_t(Count - 1)))
    return outOfMemory("the pool", size_t(Count) * sizeof(pthread_t));
  SignalsBlocked Blocked;
  for (; Started < Helpers.size(); ++Started)
    if (int Error = pthread_create(&Helpers[Started], nullptr, helperMain, this))
      return makeStatus(FATHOM_ERROR_MEMORY, "cannot start thread %zu of %d of the pool: %s", Started + 1, Count,
                        strerror(Error));
  return nullptr;
}

fathom_pool::~fathom_pool() {
  {
    Guard Held(Lock);
    Stop = true;
    Offered.broadcast();
  }
  for (size_t I = 0; I < Started; ++I)
    pthread_join(Helpers[I], nullptr);
}

// Takes a number, with the lock held, and gives it up for the work.
void fathom_pool::work(Launch &Given) {
  int32_t Worker = Given.Next++;
  if (Given.Next == Given.Workers)
    forget(Given);
  Lock.unlock();
  Given.Body(Given.Arg, Worker);
  Lock.lock();
  if (--Given.Unfinished == 0)
    Finished.broadcast();
}

void fathom_pool::forget(Launch &Given) {
  Launch **At = &First;
  while (*At != &Given)
    At = &(*At)->Later;
  *At = Given.Later;
  if (!*At)
    End = At;
}

void fathom_pool::run(Launch &Given) {
  Given.Unfinished = Given.Workers;
  Guard Held(Lock);
  ++Active;
  *End = &Given;
  End = &Given.Later;
  for (int32_t I = 1; I < Given.Workers && Active + I <= Threads; ++I)
    Offered.signal();
  // A worker that finds no tasks returns at once, so that the numbers that nobody took cost nothing.
  while (Given.Next < Given.Workers)
    work(Given);
  --Active;
  Offered.signal();
  while (Given.Unfinished)
    Finished.wait(Lock);
}

void fathom_pool::help() {
  Guard Held(Lock);
  while (!Stop) {
    if (!First || Active >= Threads) {
      Offered.wait(Lock);
      continue;
    }
    ++Active;
    work(*First);
    --Active;
  }
}

void *fathom_pool::helperMain(void *Argument) {
  pthread_setname_np(pthread_self(), "fathom-pool");
  static_cast<fathom_pool *>(Argument)->help();
  return nullptr;
}

fathom_status *fathom_pool_create(int32_t threads, fathom_pool **pool) {
  if (!pool)
    return isNull("fathom_pool_create", "pool");
  *pool = nullptr;
  if (fathom_status *Status = chooseThreads(threads, threads))
    return Status;
  auto *Created = create<fathom_pool>();
  if (!Created)
    return outOfMemory("the pool", sizeof(fathom_pool));
  if (fathom_status *Status = Created->start(threads)) {
    destroy(Created);
    return Status;
  }
  *pool = Created;
  return nullptr;
}

void fathom_pool_free(fathom_pool *pool) { destroy(pool); }

int32_t fathom_pool_threads(const fathom_pool *pool) { return pool ? pool->Threads : 0; }

void fathom_pool_parallel_for(void *pool, void (*body)(void *arg, int32_t worker), void *arg, int32_t workers) {
  if (workers <= 0)
    return;
  Launch Given = {body, arg, workers};
  static_cast<fathom_pool *>(pool)->run(Given);
}
