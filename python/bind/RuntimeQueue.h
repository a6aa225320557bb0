// Queues of the runtime as Python has them: requests whose results come to a function.
#pragma once

#include "python/bind/Runtime.h"

namespace fathom::python {

// Threads that contexts of several queues share.
class Pool {
public:
  explicit Pool(int threads);
  int threads() const { return fathom_pool_threads(pool.get()); }
  const std::shared_ptr<fathom_pool> &get() const { return pool; }

private:
  std::shared_ptr<fathom_pool> pool;
};

// A request, as long as somebody may cancel it or has its results.
struct Request {
  Request() = default;
  Request(const Request &) = delete;
  ~Request() { fathom_request_free(request); }
  void cancel() { fathom_request_cancel(request); }

  std::shared_ptr<fathom_pool> pool; // outlives the contexts that the request keeps
  fathom_request *request = nullptr;
  size_t outputs = 0;
};

class Queue {
public:
  Queue(const Model &model, const fathom_context_options &context, const fathom_queue_options &options,
        std::shared_ptr<fathom_pool> pool);
  Queue(const Queue &) = delete;
  ~Queue();

  // Calls done(error, results) once, from any thread: (number, message, node, whether an index was out of range) or
  // None, and for each output its dimensions and bytes.
  std::shared_ptr<Request> submit(std::vector<ConstBytes> inputs, Dims inputDims, int64_t timeoutUs,
                                  nanobind::object done);
  void close(bool drain);
  nanobind::dict stats() const;

private:
  std::shared_ptr<fathom_model> model;
  std::shared_ptr<fathom_pool> pool;
  fathom_queue *queue = nullptr;
};

// Adds the classes to the module.
void addQueues(nanobind::module_ &module);

} // namespace fathom::python
