// A request of a queue: the caller's inputs, which are borrowed until it is done, and the results, which are its own.
#ifndef FATHOM_RUNTIME_REQUEST_H
#define FATHOM_RUNTIME_REQUEST_H

#include "Allocator.h"
#include "Lock.h"
#include "Memory.h"
#include "Model.h"

#include <atomic>

struct fathom_request {
  enum State { Pending, Running, Done };

  // Holds the inputs against the model and keeps their descriptions.
  [[nodiscard]] fathom_status *init(const fathom_model &Model, const fathom_tensor *Given);

  // Where inputs other than in their first dimension differ, runs cannot join the two.
  bool hasShapeOf(const fathom_request &Other) const;
  // The first dimension of the first input.
  int64_t items() const { return Inputs.size() && Inputs[0].rank ? Inputs[0].dims[0] : 1; }

  // Makes room for outputs of these dimensions, those of all outputs one after another; what data decides has none yet.
  [[nodiscard]] fathom_status *placeOutputs(const fathom_model &Model, const int64_t *Dims);

  ~fathom_request();

  fathom::Array<fathom_tensor> Inputs, Outputs;
  fathom::Array<int64_t> InputDims, OutputDims;
  fathom::Buffer Results;
  // What the run told only at its end; for outputs whose dimensions data decides.
  fathom::Array<fathom::Buffer *> DataSized;

  int64_t Arrival = 0, Deadline = INT64_MAX; // of the monotonic clock, in ns
  void (*OnDone)(void *User, fathom_request *Request) = nullptr;
  void *OnDoneUser = nullptr;

  // The caller's, and the queue's until it is done and its function has returned.
  std::atomic<uint32_t> References{2};
  fathom_queue *Queue = nullptr;

  // Guarded by the queue's lock.
  State At = Pending;
  fathom_status *Failure = nullptr;
  fathom::Condition IsDone;
  fathom_request *Next = nullptr, *Previous = nullptr;
};

namespace fathom {

// Gives up one of its references.
void releaseRequest(fathom_request *Request);

// Requests in a row, which has none of its own memory; one request is in one row at a time.
struct RequestList {
  fathom_request *First = nullptr, *Last = nullptr;
  size_t Count = 0;

  void append(fathom_request *Request);
  void remove(fathom_request *Request);
  fathom_request *takeFirst() {
    fathom_request *Request = First;
    if (Request)
      remove(Request);
    return Request;
  }
};

} // namespace fathom

#endif
