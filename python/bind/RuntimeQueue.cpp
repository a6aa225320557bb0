// Queues: what a request needs is held until the runtime tells that it is done.
#include "python/bind/RuntimeQueue.h"

#include <nanobind/stl/shared_ptr.h>

namespace nb = nanobind;

namespace fathom::python {

namespace {

// What must stay as long as a request is on its way.
struct Flight {
  std::vector<ConstBytes> inputs;
  nb::object done;
  std::shared_ptr<Request> request;
};

nb::list resultsOf(const std::shared_ptr<Request> &request, size_t count) {
  nb::list results;
  for (size_t i = 0; i < count; ++i) {
    fathom_tensor output;
    check(fathom_request_output(request->request, i, &output));
    nb::capsule owner(new std::shared_ptr<Request>(request),
                      [](void *held) noexcept { delete static_cast<std::shared_ptr<Request> *>(held); });
    nb::ndarray<nb::numpy, uint8_t> bytes(output.data, {output.bytes}, owner);
    results.append(nb::make_tuple(std::vector<int64_t>(output.dims, output.dims + output.rank), bytes));
  }
  return results;
}

// How a request went, which is done.
nb::object failureOf(fathom_request *request) {
  fathom_status *status = fathom_request_wait(request);
  if (!status)
    return nb::none();
  fathom_code code = fathom_status_code(status);
  nb::object failure = nb::make_tuple(fathom_code_number(code), text(fathom_status_message(status)),
                                      text(fathom_status_node(status)), code == FATHOM_ERROR_INDEX);
  fathom_status_free(status);
  return failure;
}

} // namespace

Pool::Pool(int threads) {
  fathom_pool *created = nullptr;
  check(fathom_pool_create(threads, &created));
  pool.reset(created, fathom_pool_free);
}

Queue::Queue(const Model &given, const fathom_context_options &context, const fathom_queue_options &givenOptions,
             std::shared_ptr<fathom_pool> shared)
    : model(given.get()), pool(std::move(shared)) {
  fathom_context_options contextOptions = context;
  if (pool) {
    contextOptions.parallel_for = fathom_pool_parallel_for;
    contextOptions.parallel_for_user = pool.get();
    if (!contextOptions.threads)
      contextOptions.threads = fathom_pool_threads(pool.get());
  }
  fathom_queue_options options = givenOptions;
  options.context = &contextOptions;
  fathom_status *status;
  {
    nb::gil_scoped_release release;
    status = fathom_queue_create(model.get(), &options, &queue);
  }
  check(status);
}

// What runs tells its end to Python.
Queue::~Queue() {
  nb::gil_scoped_release release;
  fathom_queue_free(queue);
}

void Queue::close(bool drain) {
  nb::gil_scoped_release release;
  fathom_queue_close(queue, drain);
}

std::shared_ptr<Request> Queue::submit(std::vector<ConstBytes> inputs, Dims inputDims, int64_t timeoutUs,
                                       nb::object done) {
  if (inputs.size() != inputDims.size() || inputs.size() != fathom_model_input_count(model.get()))
    throw nb::value_error("as many arrays and shapes as inputs are needed");
  std::vector<fathom_tensor> tensors;
  for (size_t i = 0; i < inputs.size(); ++i) {
    fathom_tensor_info info;
    check(fathom_model_input(model.get(), i, &info));
    tensors.push_back({const_cast<uint8_t *>(inputs[i].data()), info.dtype, int32_t(inputDims[i].size()),
                       inputDims[i].data(), inputs[i].size()});
  }
  auto request = std::make_shared<Request>();
  request->pool = pool;
  auto flight = std::make_unique<Flight>(Flight{std::move(inputs), std::move(done), request});
  fathom_request_options options = FATHOM_REQUEST_OPTIONS_INIT;
  options.timeout_us = timeoutUs;
  options.done_user = flight.get();
  // Needs the GIL, which the thread that submits has until `request` is complete.
  options.done = [](void *user, fathom_request *) {
    nb::gil_scoped_acquire acquire;
    std::unique_ptr<Flight> landed(static_cast<Flight *>(user));
    nb::object failure;
    nb::object results = nb::list();
    // Whatever happens, somebody waits to be told, and the runtime takes no exception.
    try {
      failure = failureOf(landed->request->request);
      if (failure.is_none())
        results = resultsOf(landed->request, landed->request->outputs);
    } catch (const std::exception &error) {
      failure = nb::make_tuple(fathom_code_number(FATHOM_ERROR_MEMORY), text(error.what()), text(""), false);
    }
    try {
      landed->done(failure, results);
    } catch (nb::python_error &error) {
      error.discard_as_unraisable("a request's function");
    } catch (const std::exception &) {
    }
  };
  request->outputs = fathom_model_output_count(model.get());
  check(fathom_queue_submit(queue, tensors.data(), tensors.size(), &options, &request->request));
  flight.release();
  return request;
}

nb::dict Queue::stats() const {
  fathom_queue_stats now;
  fathom_queue_read_stats(queue, &now, sizeof(now));
  nb::dict stats;
  stats["pending"] = now.pending;
  stats["running"] = now.running;
  stats["completed"] = now.completed;
  stats["failed"] = now.failed;
  stats["refused"] = now.refused;
  stats["expired"] = now.expired;
  stats["cancelled"] = now.cancelled;
  stats["runs"] = now.runs;
  return stats;
}

void addQueues(nb::module_ &module) {
  nb::class_<Pool>(module, "Pool").def(nb::init<int>(), nb::arg("threads")).def("threads", &Pool::threads);
  nb::class_<Request>(module, "Request").def("cancel", &Request::cancel);
  nb::class_<Queue>(module, "Queue")
      .def(
          "__init__",
          [](Queue *self, const Model &model, const Pool *pool, int threads, int device, int contexts, int64_t maxBatch,
             int64_t maxWaitUs, int64_t maxPending) {
            fathom_context_options context = FATHOM_CONTEXT_OPTIONS_INIT;
            context.threads = threads, context.device = device;
            fathom_queue_options options = FATHOM_QUEUE_OPTIONS_INIT;
            options.contexts = contexts, options.max_batch = maxBatch;
            options.max_wait_us = maxWaitUs, options.max_pending = maxPending;
            new (self) Queue(model, context, options, pool ? pool->get() : nullptr);
          },
          nb::arg("model"), nb::arg("pool").none(), nb::arg("threads"), nb::arg("device"), nb::arg("contexts"),
          nb::arg("max_batch"), nb::arg("max_wait_us"), nb::arg("max_pending"))
      .def("submit", &Queue::submit)
      .def("close", &Queue::close)
      .def("stats", &Queue::stats);
}

} // namespace fathom::python
