// The queue's workers: one for each context, each of which takes the requests of its next run.
#include "Queue.h"

#include "Clock.h"
#include "CpuCount.h"
#include "Status.h"

#include <algorithm>
#include <cstring>
#include <utility>

using namespace fathom;

fathom_queue::~fathom_queue() {
  for (size_t I = 0; I < Workers.size(); ++I)
    destroy(Workers[I].Runner);
}

void fathom_queue::release() {
  if (References.fetch_sub(1) == 1)
    destroy(this);
}

fathom_status *fathom_queue::start(fathom_model *SharedModel, const fathom_queue_options &Options) {
  Model = SharedModel;
  MostItems = std::min(Options.max_batch, mostItems(*Model->Artifact));
  MaxWaitNs = Options.max_wait_us * 1000;
  MaxPending = Options.max_pending;
  auto *First = create<BatchRunner>();
  if (!First)
    return outOfMemory("the queue", sizeof(BatchRunner));
  fathom_status *Status = First->init(Model, Options.context);
  int32_t Contexts =
      Options.contexts || Status ? Options.contexts : std::max(1, availableCpus() / std::max(1, First->threads()));
  if (Status || !Workers.allocate(size_t(Contexts))) {
    destroy(First);
    return Status ? Status : outOfMemory("the queue", size_t(Contexts) * sizeof(Worker));
  }
  Workers[0].Runner = First;
  for (size_t I = 1; I < Workers.size(); ++I) {
    Workers[I].Runner = create<BatchRunner>();
    if (!Workers[I].Runner)
      return outOfMemory("the queue", sizeof(BatchRunner));
    if ((Status = Workers[I].Runner->init(Model, Options.context)))
      return Status;
  }
  return startWorkers();
}

fathom_status *fathom_queue::startWorkers() {
  SignalsBlocked Blocked;
  for (; Started < Workers.size(); ++Started) {
    Worker &W = Workers[Started];
    W.Queue = this;
    References.fetch_add(1);
    if (int Error = pthread_create(&W.Thread, nullptr, workerMain, &W)) {
      References.fetch_sub(1);
      return makeStatus(FATHOM_ERROR_MEMORY, "cannot start thread %zu of %zu of the queue: %s", Started + 1,
                        Workers.size(), strerror(Error));
    }
  }
  return nullptr;
}

fathom_status *fathom_queue::add(fathom_request *Request) {
  Guard Held(Lock);
  if (Closed) {
    ++Stats.refused;
    return makeStatus(FATHOM_ERROR_CANCELLED, "the queue is closed");
  }
  if (int64_t(Waiting.Count) >= MaxPending) {
    ++Stats.refused;
    return makeStatus(FATHOM_ERROR_BUSY, "the queue is full: %zu requests wait", Waiting.Count);
  }
  References.fetch_add(1);
  Request->Queue = this;
  Waiting.append(Request);
  Changed.signal();
  return nullptr;
}

// When the first request waits for others no longer. A deadline leaves half of its time for the run.
int64_t fathom_queue::dueTime(const fathom_request &First) const {
  int64_t Wait = MaxWaitNs;
  if (First.Deadline != INT64_MAX)
    Wait = std::min(Wait, (First.Deadline - First.Arrival) / 2);
  return First.Arrival + Wait;
}

// The first request that waits, and those that go with it, into Run if there is one. Tells whether another one of its
// shape would find no room.
bool fathom_queue::collect(RequestList *Run) {
  fathom_request *First = Waiting.First, *Next;
  int64_t Items = First->items();
  bool IsFull = Items == 0 || Items >= MostItems;
  for (fathom_request *Other = First; Other; Other = Next) {
    Next = Other->Next;
    if (Other != First) {
      if (IsFull)
        break;
      if (!Other->items() || !Other->hasShapeOf(*First))
        continue;
      // Nobody overtakes one of the same shape.
      IsFull = Other->items() > MostItems - Items;
      if (IsFull)
        break;
      Items += Other->items();
      IsFull = Items == MostItems;
    }
    if (!Run)
      continue;
    Waiting.remove(Other);
    Run->append(Other);
    Other->At = fathom_request::Running;
    ++Stats.running;
  }
  return IsFull;
}

// The next time at which a deadline passes.
int64_t fathom_queue::moveExpired(int64_t Now, RequestList &Expired) {
  int64_t Soonest = INT64_MAX;
  fathom_request *Next;
  for (fathom_request *Request = Waiting.First; Request; Request = Next) {
    Next = Request->Next;
    if (Request->Deadline > Now) {
      Soonest = std::min(Soonest, Request->Deadline);
      continue;
    }
    Waiting.remove(Request);
    Expired.append(Request);
    // Nobody else ends it now.
    Request->At = fathom_request::Running;
    Request->Failure = makeStatus(FATHOM_ERROR_DEADLINE, "the request's deadline passed after %lld us in the queue",
                                  static_cast<long long>((Now - Request->Arrival) / 1000));
    ++Stats.running;
    ++Stats.expired;
  }
  return Soonest;
}

bool fathom_queue::take(RequestList &Run, RequestList &Expired) {
  Guard Held(Lock);
  for (;;) {
    int64_t Now = nowNs(), Deadline = moveExpired(Now, Expired);
    if (Expired.Count)
      return true;
    if (!Waiting.First) {
      if (Closed)
        return false;
      Changed.wait(Lock);
      continue;
    }
    int64_t Due = dueTime(*Waiting.First);
    if (Closed || Due <= Now || collect(nullptr)) {
      collect(&Run);
      // What is left may be for another worker.
      if (Waiting.First)
        Changed.signal();
      return true;
    }
    Changed.waitUntil(Lock, std::min(Due, Deadline));
  }
}

void fathom_queue::workerLoop(BatchRunner &Runner) {
  for (RequestList Run, Expired; take(Run, Expired);) {
    finish(Expired);
    if (!Run.Count)
      continue;
    int64_t Runs = Runner.run(Run);
    {
      Guard Held(Lock);
      Stats.runs += Runs;
      for (fathom_request *Request = Run.First; Request; Request = Request->Next)
        ++(Request->Failure ? Stats.failed : Stats.completed);
      if (Runner.isUnfit())
        MostItems = 1;
    }
    finish(Run);
  }
}

void fathom_queue::finish(RequestList &Done) {
  while (fathom_request *Request = Done.takeFirst()) {
    {
      Guard Held(Lock);
      Request->At = fathom_request::Done;
      --Stats.running;
      Request->IsDone.broadcast();
    }
    if (Request->OnDone)
      Request->OnDone(Request->OnDoneUser, Request);
    releaseRequest(Request);
  }
}

void fathom_queue::finishCancelled(RequestList &Cancelled) {
  for (fathom_request *Request = Cancelled.First; Request; Request = Request->Next)
    Request->Failure = makeStatus(FATHOM_ERROR_CANCELLED, "the request was cancelled");
  finish(Cancelled);
}

void fathom_queue::cancel(fathom_request *Request) {
  RequestList Cancelled;
  {
    Guard Held(Lock);
    if (Request->At != fathom_request::Pending)
      return;
    Waiting.remove(Request);
    Cancelled.append(Request);
    Request->At = fathom_request::Running;
    ++Stats.running;
    ++Stats.cancelled;
  }
  finishCancelled(Cancelled);
}

void fathom_queue::wait(fathom_request *Request) {
  for (;;) {
    RequestList Expired;
    {
      Guard Held(Lock);
      while (Request->At != fathom_request::Done && !Expired.Count) {
        if (Request->At == fathom_request::Running || Request->Deadline == INT64_MAX) {
          Request->IsDone.wait(Lock);
          continue;
        }
        // All workers may be busy for longer.
        moveExpired(nowNs(), Expired);
        if (!Expired.Count)
          Request->IsDone.waitUntil(Lock, Request->Deadline);
      }
    }
    if (!Expired.Count)
      return;
    // It is among them, or those are others, which must not wait for this one.
    finish(Expired);
  }
}

fathom_queue_stats fathom_queue::stats() {
  Guard Held(Lock);
  fathom_queue_stats Now = Stats;
  Now.pending = int64_t(Waiting.Count);
  return Now;
}

void fathom_queue::close(bool Drain) {
  RequestList Cancelled;
  {
    Guard Held(Lock);
    Closed = true;
    while (!Drain && Waiting.First) {
      fathom_request *Request = Waiting.takeFirst();
      Cancelled.append(Request);
      Request->At = fathom_request::Running;
      ++Stats.running;
      ++Stats.cancelled;
    }
    Changed.broadcast();
  }
  finishCancelled(Cancelled);
  if (!isWorker())
    joinWorkers();
}

// Whether a request's function asks, in a thread of the queue's.
bool fathom_queue::isWorker() {
  Guard Held(Lock);
  for (size_t I = 0; I < Started; ++I)
    if (!Workers[I].HasEnded && pthread_equal(Workers[I].Thread, pthread_self()))
      return true;
  return false;
}

// Of threads that ask at the same time, all return when the last worker has ended.
void fathom_queue::joinWorkers() {
  Guard Held(Lock);
  while (Claimed < Started) {
    pthread_t Thread = Workers[Claimed++].Thread;
    Lock.unlock();
    pthread_join(Thread, nullptr);
    Lock.lock();
    if (++Joined == Started)
      AllJoined.broadcast();
  }
  while (Joined < Started)
    AllJoined.wait(Lock);
}

void fathom_queue::abandon() {
  {
    Guard Held(Lock);
    for (; Claimed < Started; ++Claimed)
      pthread_detach(Workers[Claimed].Thread);
  }
  release();
}

void *fathom_queue::workerMain(void *Argument) {
  auto *Self = static_cast<Worker *>(Argument);
  fathom_queue *Queue = Self->Queue;
  pthread_setname_np(pthread_self(), "fathom-queue");
  Queue->workerLoop(*Self->Runner);
  {
    Guard Held(Queue->Lock);
    Self->HasEnded = true;
  }
  // The last one where a request's function has freed the queue.
  Queue->release();
  return nullptr;
}
