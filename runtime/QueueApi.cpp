// The API's functions on queues and requests: the checks that need no lock, then the queue's own code.
#include "Queue.h"

#include "Clock.h"
#include "CpuCount.h"
#include "Status.h"

#include <algorithm>
#include <cstring>

using namespace fathom;

namespace {

fathom_status *wrongSize(const char *Options, size_t Given, size_t Expected) {
  return makeStatus(FATHOM_ERROR_INVALID_ARGUMENT, "%s.struct_size is %zu and not %zu: start from its _INIT", Options,
                    Given, Expected);
}

fathom_status *outOfRange(const char *Option, int64_t Given, int64_t Least, int64_t Most) {
  if (Given >= Least && Given <= Most)
    return nullptr;
  return makeStatus(FATHOM_ERROR_INVALID_ARGUMENT, "%s is %lld: expected %lld to %lld", Option,
                    static_cast<long long>(Given), static_cast<long long>(Least), static_cast<long long>(Most));
}

constexpr int64_t LongestUs = INT64_MAX / 4000; // so that sums of nanoseconds do not overflow

fathom_status *checkOptions(const fathom_queue_options &Options) {
  if (fathom_status *Status = outOfRange("max_batch", Options.max_batch, 1, INT64_MAX))
    return Status;
  if (fathom_status *Status = outOfRange("max_wait_us", Options.max_wait_us, 0, LongestUs))
    return Status;
  if (fathom_status *Status = outOfRange("max_pending", Options.max_pending, 1, INT64_MAX))
    return Status;
  return outOfRange("contexts", Options.contexts, 0, MaxThreads);
}

} // namespace

fathom_status *fathom_queue_create(fathom_model *model, const fathom_queue_options *options, fathom_queue **queue) {
  if (!model || !queue)
    return isNull("fathom_queue_create", model ? "queue" : "model");
  *queue = nullptr;
  fathom_queue_options Options = FATHOM_QUEUE_OPTIONS_INIT;
  if (options) {
    if (options->struct_size != sizeof(Options))
      return wrongSize("fathom_queue_options", options->struct_size, sizeof(Options));
    Options = *options;
  }
  if (fathom_status *Status = checkOptions(Options))
    return Status;
  auto *Created = create<fathom_queue>();
  if (!Created)
    return outOfMemory("the queue", sizeof(fathom_queue));
  if (fathom_status *Status = Created->start(model, Options)) {
    fathom_queue_free(Created);
    return Status;
  }
  *queue = Created;
  return nullptr;
}

void fathom_queue_close(fathom_queue *queue, int32_t drain) {
  if (queue)
    queue->close(drain != 0);
}

void fathom_queue_free(fathom_queue *queue) {
  if (!queue)
    return;
  queue->close(false);
  queue->abandon();
}

fathom_status *fathom_queue_submit(fathom_queue *queue, const fathom_tensor *inputs, size_t input_count,
                                   const fathom_request_options *options, fathom_request **request) {
  if (!queue || !request)
    return isNull("fathom_queue_submit", queue ? "request" : "queue");
  *request = nullptr;
  fathom_request_options Options = FATHOM_REQUEST_OPTIONS_INIT;
  if (options) {
    if (options->struct_size != sizeof(Options))
      return wrongSize("fathom_request_options", options->struct_size, sizeof(Options));
    Options = *options;
  }
  size_t Expected = queue->Model->Artifact->input_count;
  if (input_count != Expected)
    return makeStatus(FATHOM_ERROR_INVALID_ARGUMENT, "got %zu inputs, the model has %zu", input_count, Expected);
  if (!inputs && Expected)
    return isNull("fathom_queue_submit", "inputs");
  auto *Created = create<fathom_request>();
  if (!Created)
    return outOfMemory("the request", sizeof(fathom_request));
  Created->Arrival = nowNs();
  if (Options.timeout_us)
    Created->Deadline = Created->Arrival + std::clamp<int64_t>(Options.timeout_us, -1, LongestUs) * 1000;
  Created->OnDone = Options.done;
  Created->OnDoneUser = Options.done_user;
  fathom_status *Status = Created->init(*queue->Model, inputs);
  // Before a worker sees it: its function may want to find it there.
  *request = Created;
  if (!Status)
    Status = queue->add(Created);
  if (Status) {
    *request = nullptr;
    destroy(Created);
  }
  return Status;
}

fathom_status *fathom_request_wait(fathom_request *request) {
  if (!request)
    return isNull("fathom_request_wait", "request");
  request->Queue->wait(request);
  return copyStatus(request->Failure);
}

fathom_status *fathom_request_output(fathom_request *request, size_t index, fathom_tensor *output) {
  if (!request || !output)
    return isNull("fathom_request_output", request ? "output" : "request");
  if (index >= request->Outputs.size())
    return makeStatus(FATHOM_ERROR_INVALID_ARGUMENT, "fathom_request_output: index %zu, and the model has %zu outputs",
                      index, request->Outputs.size());
  Guard Held(request->Queue->Lock);
  if (request->At != fathom_request::Done)
    return makeStatus(FATHOM_ERROR_INVALID_ARGUMENT, "fathom_request_output: the request is not done");
  if (request->Failure)
    return copyStatus(request->Failure);
  *output = request->Outputs[index];
  return nullptr;
}

void fathom_request_cancel(fathom_request *request) {
  if (request)
    request->Queue->cancel(request);
}

void fathom_request_free(fathom_request *request) {
  if (!request)
    return;
  request->Queue->cancel(request);
  request->Queue->wait(request);
  releaseRequest(request);
}

void fathom_queue_read_stats(fathom_queue *queue, fathom_queue_stats *stats, size_t size) {
  if (!queue || !stats)
    return;
  fathom_queue_stats Now = queue->stats();
  memset(stats, 0, size);
  memcpy(stats, &Now, std::min(size, sizeof(Now)));
}
