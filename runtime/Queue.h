// A queue before a model: requests wait in it until a context is free, and those that go together are run as one.
#ifndef FATHOM_RUNTIME_QUEUE_H
#define FATHOM_RUNTIME_QUEUE_H

#include "Batch.h"

#include <atomic>

struct fathom_queue {
  fathom_queue() = default;
  fathom_queue(const fathom_queue &) = delete;
  fathom_queue &operator=(const fathom_queue &) = delete;
  ~fathom_queue();

  [[nodiscard]] fathom_status *start(fathom_model *SharedModel, const fathom_queue_options &Options);

  // Takes the request, or says why not; then it is still the caller's.
  [[nodiscard]] fathom_status *add(fathom_request *Request);
  // Ends a request that waits; one that runs or is done is left alone.
  void cancel(fathom_request *Request);
  // Returns when the request is done; at its deadline it is, unless it runs.
  void wait(fathom_request *Request);
  // Takes no more. What waits is run first, or else cancelled; what runs comes to its end. Waits for that, unless a
  // worker asks, which would wait for itself.
  void close(bool Drain);
  // Gives up the caller's reference. Workers that nobody has waited for end by themselves.
  void abandon();

  // The caller's, one of each request and one of each worker.
  std::atomic<uint32_t> References{1};
  void release();

  fathom_model *Model = nullptr; // kept alive by the contexts
  fathom::Mutex Lock;

  fathom_queue_stats stats();

private:
  struct Worker {
    fathom_queue *Queue;
    pthread_t Thread;
    fathom::BatchRunner *Runner;
    bool HasEnded; // guarded by Lock; until then nobody else has its thread's id
  };
  static void *workerMain(void *Self);
  void workerLoop(fathom::BatchRunner &Runner);
  [[nodiscard]] fathom_status *startWorkers();
  bool isWorker();
  void joinWorkers();

  // What to do next, which is waited for; false when there is nothing left to do.
  bool take(fathom::RequestList &Run, fathom::RequestList &Expired);
  bool collect(fathom::RequestList *Run);
  int64_t dueTime(const fathom_request &First) const;
  int64_t moveExpired(int64_t Now, fathom::RequestList &Expired);
  // Tells whoever waits, without the lock.
  void finish(fathom::RequestList &Done);
  void finishCancelled(fathom::RequestList &Cancelled);

  int64_t MaxWaitNs = 0, MaxPending = 0;
  // Guarded by Lock.
  int64_t MostItems = 1;
  fathom::RequestList Waiting;
  fathom_queue_stats Stats = {};
  bool Closed = false;
  fathom::Condition Changed, AllJoined;

  fathom::Array<Worker> Workers;
  size_t Started = 0;
  size_t Claimed = 0, Joined = 0; // guarded by Lock: workers that somebody waits for, and has waited for
};

#endif
