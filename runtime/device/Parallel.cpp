// Threads that take the next number until there is none.
#include "Parallel.h"

#include "../CpuCount.h"

#include <algorithm>
#include <atomic>
#include <pthread.h>

using namespace fathom;

namespace {

struct Work {
  size_t Count;
  fathom_status *(*Do)(void *Arg, size_t I);
  void *Arg;
  std::atomic<size_t> Next{0};
  pthread_mutex_t Lock = PTHREAD_MUTEX_INITIALIZER;
  fathom_status *Failed = nullptr;
  size_t FailedAt = SIZE_MAX;
};

void *takePart(void *Given) {
  auto &All = *static_cast<Work *>(Given);
  for (size_t I; (I = All.Next.fetch_add(1)) < All.Count;) {
    fathom_status *Status = All.Do(All.Arg, I);
    if (!Status)
      continue;
    All.Next.store(All.Count);
    pthread_mutex_lock(&All.Lock);
    if (I < All.FailedAt) {
      std::swap(All.Failed, Status);
      All.FailedAt = I;
    }
    pthread_mutex_unlock(&All.Lock);
    fathom_status_free(Status);
  }
  return nullptr;
}

} // namespace

fathom_status *fathom::inParallel(size_t Count, fathom_status *(*Do)(void *Arg, size_t I), void *Arg) {
  constexpr size_t Most = 16;
  Work All = {Count, Do, Arg};
  pthread_t Threads[Most];
  size_t Started = 0, Wanted = std::min({Most, Count, size_t(availableCpus())});
  // One that cannot be started is not missed: this thread takes what is left.
  while (Started + 1 < Wanted && pthread_create(&Threads[Started], nullptr, takePart, &All) == 0)
    ++Started;
  takePart(&All);
  for (size_t I = 0; I < Started; ++I)
    pthread_join(Threads[I], nullptr);
  return All.Failed;
}
