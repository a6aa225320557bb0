// What the tests of queues share: owners, requests of the artifact rows, and a gate that holds up what runs.
#ifndef FATHOM_TESTS_RUNTIME_QUEUESUPPORT_H
#define FATHOM_TESTS_RUNTIME_QUEUESUPPORT_H

#include "TestSupport.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <random>

namespace fathom::test {

struct FreeQueue {
  void operator()(fathom_queue *Q) const { fathom_queue_free(Q); }
  void operator()(fathom_request *R) const { fathom_request_free(R); }
};
using QueuePtr = std::unique_ptr<fathom_queue, FreeQueue>;
using RequestPtr = std::unique_ptr<fathom_request, FreeQueue>;

inline QueuePtr makeQueue(const ModelPtr &Model, const fathom_queue_options &Options) {
  fathom_queue *Queue = nullptr;
  expectOk(fathom_queue_create(Model.get(), &Options, &Queue));
  return QueuePtr(Queue);
}

inline fathom_queue_stats statsOf(const QueuePtr &Queue) {
  fathom_queue_stats Stats;
  fathom_queue_read_stats(Queue.get(), &Stats, sizeof(Stats));
  return Stats;
}

// Holds up all that runs until it is opened.
class Gate {
public:
  // Of a context with two threads, which asks for them in each run of the artifact rows.
  fathom_context_options context() {
    fathom_context_options Options = FATHOM_CONTEXT_OPTIONS_INIT;
    Options.threads = 2;
    Options.parallel_for = [](void *User, void (*Body)(void *, int32_t), void *Arg, int32_t Workers) {
      static_cast<Gate *>(User)->pass();
      for (int32_t W = 0; W < Workers; ++W)
        Body(Arg, W);
    };
    Options.parallel_for_user = this;
    return Options;
  }
  void open() { set(true); }
  void shut() { set(false); }
  void waitForRuns(int Count) {
    std::unique_lock<std::mutex> Held(Lock);
    Changed.wait(Held, [&] { return Runs >= Count; });
  }

private:
  void set(bool To) {
    std::lock_guard<std::mutex> Held(Lock);
    IsOpen = To;
    Changed.notify_all();
  }
  void pass() {
    std::unique_lock<std::mutex> Held(Lock);
    ++Runs;
    Changed.notify_all();
    Changed.wait(Held, [&] { return IsOpen; });
  }
  std::mutex Lock;
  std::condition_variable Changed;
  bool IsOpen = true;
  int Runs = 0;
};

// A request of the artifact rows, with elements of 0 or more.
struct Rows {
  Rows(int64_t Batch, int64_t Width, std::mt19937 &Random) : Dims{Batch, Width}, X(size_t(Batch * Width)) {
    for (float &Element : X)
      Element = float(Random() % 1000);
  }

  fathom_status *submit(const QueuePtr &Queue, const fathom_request_options *Options = nullptr) {
    fathom_request *Made = nullptr;
    fathom_tensor Input = tensor(X, Dims);
    fathom_status *Status = fathom_queue_submit(Queue.get(), &Input, 1, Options, &Made);
    EXPECT_EQ(Made == nullptr, Status != nullptr);
    Request.reset(Made);
    return Status;
  }

  // Whole numbers, whose sums are exact.
  void expectRight() {
    expectOk(fathom_request_wait(Request.get()));
    fathom_tensor Y, First;
    expectOk(fathom_request_output(Request.get(), 0, &Y));
    expectOk(fathom_request_output(Request.get(), 1, &First));
    ASSERT_EQ(std::vector<int64_t>(Y.dims, Y.dims + Y.rank), Dims);
    ASSERT_EQ(std::vector<int64_t>(First.dims, First.dims + First.rank), std::vector<int64_t>{Dims[0]});
    ASSERT_EQ(Y.bytes, X.size() * sizeof(float));
    const float *Row = X.data(), *Got = static_cast<float *>(Y.data);
    for (int64_t R = 0; R < Dims[0]; ++R, Row += Dims[1], Got += Dims[1]) {
      float Sum = 0;
      for (int64_t C = 0; C < Dims[1]; ++C)
        Sum += Row[C];
      for (int64_t C = 0; C < Dims[1]; ++C)
        ASSERT_EQ(Got[C], 2 * Row[C] + Sum) << "row " << R << ", column " << C;
      if (Dims[1])
        ASSERT_EQ(static_cast<float *>(First.data)[R], Row[0]);
    }
  }

  void expectFailure(fathom_code Code, const std::string &Text, const std::string &Nodes = "") {
    expectError(fathom_request_wait(Request.get()), Code, Text, Nodes);
  }

  std::vector<int64_t> Dims;
  std::vector<float> X;
  RequestPtr Request; // first to go
};

inline std::mt19937 seeded() {
  const char *Given = getenv("FATHOM_TEST_SEED");
  auto Seed = Given ? unsigned(strtoul(Given, nullptr, 10)) : std::random_device()();
  printf("FATHOM_TEST_SEED=%u\n", Seed);
  return std::mt19937(Seed);
}

} // namespace fathom::test

#endif
