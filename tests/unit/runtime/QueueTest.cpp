// Tests of queues: what is run together and what is not, what is refused, too late or cancelled, and what is left of it
// when the queue goes.
#include "QueueSupport.h"

#include <chrono>
#include <thread>

using namespace fathom::test;

namespace {

// A queue of one context whose only run is held up by a gate, so that what comes then waits.
struct HeldQueue {
  explicit HeldQueue(const char *Artifact, fathom_queue_options Options = FATHOM_QUEUE_OPTIONS_INIT)
      : Model(load(Artifact)) {
    fathom_context_options Context = Held.context();
    Options.contexts = 1;
    Options.context = &Context;
    Queue = makeQueue(Model, Options);
  }
  ~HeldQueue() { Held.open(); }
  // The first request, which runs from now until the gate is opened.
  void hold() {
    Held.shut();
    expectOk(First.submit(Queue));
    Held.waitForRuns(1);
  }

  std::mt19937 Random = seeded();
  Rows First{1, 3, Random};
  Gate Held;
  ModelPtr Model;
  QueuePtr Queue;
};

fathom_queue_options joining(int64_t Items, int64_t WaitUs = 0) {
  fathom_queue_options Options = FATHOM_QUEUE_OPTIONS_INIT;
  Options.max_batch = Items;
  Options.max_wait_us = WaitUs;
  return Options;
}

// Submits requests while a run is held up, expects their results, and tells how many runs they took.
int64_t runsOf(HeldQueue &Held, const std::vector<std::pair<int64_t, int64_t>> &Sizes) {
  std::vector<Rows> Requests;
  Held.hold();
  for (auto [Batch, Width] : Sizes) {
    Requests.emplace_back(Batch, Width, Held.Random);
    expectOk(Requests.back().submit(Held.Queue));
  }
  EXPECT_EQ(statsOf(Held.Queue).pending, int64_t(Sizes.size()));
  Held.Held.open();
  for (Rows &Request : Requests)
    Request.expectRight();
  Held.First.expectRight();
  fathom_queue_stats Stats = statsOf(Held.Queue);
  EXPECT_EQ(Stats.completed, int64_t(Sizes.size()) + 1);
  EXPECT_EQ(Stats.pending, 0);
  EXPECT_EQ(Stats.failed + Stats.refused + Stats.expired + Stats.cancelled, 0);
  return Stats.runs - 1;
}

fathom_request_options withTimeout(int64_t Us) {
  fathom_request_options Options = FATHOM_REQUEST_OPTIONS_INIT;
  Options.timeout_us = Us;
  return Options;
}

} // namespace

TEST(Queue, RunsRequestsOfAllSizes) {
  std::mt19937 Random = seeded();
  ModelPtr Model = load("rows");
  QueuePtr Queue = makeQueue(Model, joining(8));
  for (int64_t Batch : {0, 1, 2, 7, 9, 64})
    for (int64_t Width : {0, 1, 13, 1000}) {
      Rows Request(Batch, Width, Random);
      expectOk(Request.submit(Queue));
      Request.expectRight();
    }
}

TEST(Queue, RunsRequestsByThemselvesAtFirst) {
  HeldQueue Held("rows");
  EXPECT_EQ(runsOf(Held, {{1, 5}, {1, 5}, {1, 5}}), 3);
}

TEST(Queue, JoinsWhatWaits) {
  HeldQueue Held("rows", joining(8));
  EXPECT_EQ(runsOf(Held, {{1, 5}, {1, 5}, {1, 5}, {3, 5}, {2, 5}}), 1);
}

TEST(Queue, JoinsNoMoreThanItMay) {
  HeldQueue Held("rows", joining(3));
  EXPECT_EQ(runsOf(Held, {{1, 5}, {1, 5}, {1, 5}, {1, 5}, {1, 5}}), 2);
}

TEST(Queue, JoinsNoMoreThanTheModelTakes) {
  HeldQueue Held("rows", joining(1000));
  EXPECT_EQ(runsOf(Held, {{40, 2}, {24, 2}, {1, 2}, {63, 2}}), 2); // 64 at most
}

TEST(Queue, LeavesRequestsInTheirOrder) {
  HeldQueue Held("rows", joining(4));
  EXPECT_EQ(runsOf(Held, {{3, 5}, {3, 5}, {1, 5}}), 2); // 3, then 3 and 1
}

TEST(Queue, JoinsOnlyWhatHasOneShape) {
  HeldQueue Held("rows", joining(8));
  EXPECT_EQ(runsOf(Held, {{1, 5}, {1, 6}, {1, 5}, {0, 5}, {1, 6}}), 3);
}

TEST(Queue, RunsWhatIsLargerThanItMayJoin) {
  HeldQueue Held("rows", joining(2));
  EXPECT_EQ(runsOf(Held, {{5, 4}, {1, 4}, {1, 4}}), 2);
}

TEST(Queue, WaitsForOthersToJoin) {
  std::mt19937 Random = seeded();
  ModelPtr Model = load("rows");
  // For ever, if the run were not full.
  fathom_queue_options Options = joining(3, 3600000000);
  Options.contexts = 2;
  QueuePtr Queue = makeQueue(Model, Options);
  for (int Round = 0; Round < 20; ++Round) {
    std::vector<Rows> Requests;
    for (int I = 0; I < 3; ++I)
      Requests.emplace_back(1, 4, Random);
    for (Rows &Request : Requests)
      expectOk(Request.submit(Queue));
    for (Rows &Request : Requests)
      Request.expectRight();
  }
  EXPECT_EQ(statsOf(Queue).runs, 20);
  // And for no longer than it may.
  Queue = makeQueue(Model, joining(3, 100));
  Rows Request(1, 4, Random);
  expectOk(Request.submit(Queue));
  Request.expectRight();
}

TEST(Queue, RunsARequestWithADeadlineBeforeIt) {
  std::mt19937 Random = seeded();
  ModelPtr Model = load("rows");
  QueuePtr Queue = makeQueue(Model, joining(3, 3600000000));
  // Half of the time is for the run, which may be too short on a busy machine, but not however long it is.
  for (int64_t Us = 10000; Us < 100000000 && !statsOf(Queue).completed; Us *= 10) {
    Rows Request(1, 4, Random);
    fathom_request_options Options = withTimeout(Us);
    expectOk(Request.submit(Queue, &Options));
    fathom_status_free(fathom_request_wait(Request.Request.get()));
    if (statsOf(Queue).completed)
      Request.expectRight();
  }
  EXPECT_EQ(statsOf(Queue).completed, 1);
}

TEST(Queue, FailsOnlyTheRequestThatIsWrong) {
  HeldQueue Held("rows", joining(8));
  Held.hold();
  std::vector<Rows> Requests;
  for (int I = 0; I < 4; ++I)
    Requests.emplace_back(2, 3, Held.Random);
  Requests[2].X[3] = -1;
  for (Rows &Request : Requests)
    expectOk(Request.submit(Held.Queue));
  Held.Held.open();
  for (int I : {0, 1, 3})
    Requests[size_t(I)].expectRight();
  for (int Again = 0; Again < 2; ++Again)
    Requests[2].expectFailure(FATHOM_ERROR_INDEX, "an index is outside the dimension it selects from", "Rows_0");
  fathom_tensor Output;
  expectError(fathom_request_output(Requests[2].Request.get(), 0, &Output), FATHOM_ERROR_INDEX, "an index", "Rows_0");
  EXPECT_EQ(statsOf(Held.Queue).failed, 1);
}

TEST(Queue, DoesNotJoinWhatHasNoRowsInItsResults) {
  std::mt19937 Random = seeded();
  ModelPtr Model = load("reduced_rows");
  QueuePtr Queue = makeQueue(Model, joining(2, 3600000000));
  std::vector<Rows> Requests;
  for (int I = 0; I < 4; ++I) {
    Requests.emplace_back(1, 3, Random);
    expectOk(Requests.back().submit(Queue));
  }
  for (Rows &Request : Requests) {
    expectOk(fathom_request_wait(Request.Request.get()));
    fathom_tensor Y;
    expectOk(fathom_request_output(Request.Request.get(), 0, &Y));
    ASSERT_EQ(Y.bytes, 3 * sizeof(float));
    EXPECT_TRUE(std::equal(Request.X.begin(), Request.X.end(), static_cast<float *>(Y.data)));
  }
  EXPECT_EQ(statsOf(Queue).runs, 4);
}

TEST(Queue, DoesNotJoinWhatHasAnOutputWithoutABatch) {
  ModelPtr Model = load("scale_add");
  QueuePtr Queue = makeQueue(Model, joining(8, 3600000000));
  for (int64_t Batch : {1, 1, 0, 5}) {
    ScaleAdd Call(Batch);
    fathom_tensor Inputs[] = {tensor(Call.X, Call.Dims), tensor(Call.Y, Call.Dims)}, Output;
    fathom_request *Request = nullptr;
    expectOk(fathom_queue_submit(Queue.get(), Inputs, 2, nullptr, &Request));
    RequestPtr Owned(Request);
    expectOk(fathom_request_wait(Request));
    expectOk(fathom_request_output(Request, 0, &Output));
    auto *Z = static_cast<float *>(Output.data);
    Call.Z.assign(Z, Z + Output.bytes / sizeof(float));
    expectOk(fathom_request_output(Request, 1, &Output));
    Call.Total[0] = *static_cast<float *>(Output.data);
    Call.expectRight();
  }
  EXPECT_EQ(statsOf(Queue).runs, 4);
}

TEST(Queue, KeepsResultsWhoseSizeDataDecides) {
  ModelPtr Model = load("positive");
  QueuePtr Queue = makeQueue(Model, joining(8));
  std::vector<RequestPtr> Requests;
  std::vector<std::vector<float>> Inputs = {{1, -2, 3}, {}, {-1, -1}, {5, 6, 7, 8, 9}},
                                  Expected = {{1, 3}, {}, {}, {5, 6, 7, 8, 9}};
  std::vector<std::vector<int64_t>> Dims;
  for (const std::vector<float> &X : Inputs)
    Dims.push_back({int64_t(X.size())});
  for (size_t I = 0; I < Inputs.size(); ++I) {
    fathom_tensor Input = tensor(Inputs[I], Dims[I]);
    fathom_request *Request = nullptr;
    expectOk(fathom_queue_submit(Queue.get(), &Input, 1, nullptr, &Request));
    Requests.emplace_back(Request);
  }
  for (size_t I = 0; I < Inputs.size(); ++I) {
    expectOk(fathom_request_wait(Requests[I].get()));
    fathom_tensor Y;
    expectOk(fathom_request_output(Requests[I].get(), 0, &Y));
    auto *Data = static_cast<float *>(Y.data);
    EXPECT_EQ(std::vector<float>(Data, Data + Y.dims[0]), Expected[I]);
  }
}

TEST(Queue, RefusesMoreThanItMayHold) {
  fathom_queue_options Options = joining(1);
  Options.max_pending = 2;
  HeldQueue Held("rows", Options);
  Held.hold();
  Rows Second(1, 1, Held.Random), Third(1, 1, Held.Random), Fourth(1, 1, Held.Random);
  expectOk(Second.submit(Held.Queue));
  expectOk(Third.submit(Held.Queue));
  expectError(Fourth.submit(Held.Queue), FATHOM_ERROR_BUSY, "the queue is full: 2 requests wait");
  EXPECT_EQ(statsOf(Held.Queue).refused, 1);
  Held.Held.open();
  Second.expectRight();
  Third.expectRight();
  expectOk(Fourth.submit(Held.Queue));
  Fourth.expectRight();
}

TEST(Queue, AnswersWhatIsTooLateWithoutRunningIt) {
  HeldQueue Held("rows", joining(8));
  Held.hold();
  std::vector<Rows> Requests;
  int Calls = 0;
  for (int64_t Us : {-1, 1, 500}) {
    Requests.emplace_back(1, 3, Held.Random);
    fathom_request_options Options = withTimeout(Us);
    Options.done_user = &Calls;
    Options.done = [](void *User, fathom_request *Request) {
      fathom_tensor Output;
      expectError(fathom_request_output(Request, 0, &Output), FATHOM_ERROR_DEADLINE, "deadline");
      ++*static_cast<int *>(User);
    };
    expectOk(Requests.back().submit(Held.Queue, &Options));
  }
  Rows Patient(1, 3, Held.Random);
  fathom_request_options Options = withTimeout(INT64_MAX);
  expectOk(Patient.submit(Held.Queue, &Options));
  // While the only worker is busy.
  for (Rows &Request : Requests)
    Request.expectFailure(FATHOM_ERROR_DEADLINE, "the request's deadline passed after ");
  EXPECT_EQ(Calls, 3);
  Held.Held.open();
  Patient.expectRight();
  fathom_queue_stats Stats = statsOf(Held.Queue);
  EXPECT_EQ(Stats.expired, 3);
  EXPECT_EQ(Stats.runs, 2);
}

TEST(Queue, AnswersWhatIsTooLateWhileAnotherIsWaitedFor) {
  HeldQueue Held("rows", joining(8));
  Held.hold();
  Rows Late(1, 3, Held.Random), Patient(1, 3, Held.Random);
  std::atomic<int> Calls{0};
  fathom_request_options Short = withTimeout(1000), Long = withTimeout(600000000);
  Short.done_user = &Calls;
  Short.done = [](void *User, fathom_request *) { ++*static_cast<std::atomic<int> *>(User); };
  expectOk(Late.submit(Held.Queue, &Short));
  expectOk(Patient.submit(Held.Queue, &Long));
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  // It finds the other's deadline passed, and its own is far off.
  std::thread Waiting([&] { Patient.expectRight(); });
  for (int I = 0; I < 3000 && !Calls; ++I)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_EQ(Calls, 1);
  Held.Held.open();
  Waiting.join();
  Late.expectFailure(FATHOM_ERROR_DEADLINE, "the request's deadline passed after ");
}

TEST(Queue, CancelsWhatWaits) {
  HeldQueue Held("rows", joining(8));
  Held.hold();
  Rows Second(1, 3, Held.Random), Third(1, 3, Held.Random), Fourth(1, 3, Held.Random);
  for (Rows *Request : {&Second, &Third, &Fourth})
    expectOk(Request->submit(Held.Queue));
  fathom_tensor Output;
  expectError(fathom_request_output(Second.Request.get(), 0, &Output), FATHOM_ERROR_INVALID_ARGUMENT, "is not done");
  fathom_request_cancel(Third.Request.get());
  fathom_request_cancel(Third.Request.get());
  Third.expectFailure(FATHOM_ERROR_CANCELLED, "the request was cancelled");
  Fourth.Request.reset(); // cancels too
  fathom_request_cancel(Held.First.Request.get());
  Held.Held.open();
  Second.expectRight();
  Held.First.expectRight(); // ran already
  EXPECT_EQ(statsOf(Held.Queue).cancelled, 2);
}

TEST(Queue, CallsBackOnceWithTheResults) {
  std::mt19937 Random = seeded();
  ModelPtr Model = load("rows");
  QueuePtr Queue = makeQueue(Model, joining(4, 200));
  struct Seen {
    std::atomic<int> Calls{0};
    std::atomic<float> First{-1};
  };
  std::vector<Rows> Requests;
  std::vector<Seen> Calls(50);
  for (Seen &Call : Calls) {
    Requests.emplace_back(1, 3, Random);
    fathom_request_options Options = FATHOM_REQUEST_OPTIONS_INIT;
    Options.done_user = &Call;
    Options.done = [](void *User, fathom_request *Request) {
      fathom_tensor First;
      expectOk(fathom_request_output(Request, 1, &First));
      static_cast<Seen *>(User)->First = *static_cast<float *>(First.data);
      ++static_cast<Seen *>(User)->Calls;
    };
    expectOk(Requests.back().submit(Queue, &Options));
  }
  fathom_queue_close(Queue.get(), 1);
  for (size_t I = 0; I < Calls.size(); ++I) {
    EXPECT_EQ(Calls[I].Calls, 1);
    EXPECT_EQ(Calls[I].First, Requests[I].X[0]);
    Requests[I].expectRight();
  }
}

TEST(Queue, DrainsOrCancelsWhenItIsClosed) {
  std::mt19937 Random = seeded();
  ModelPtr Model = load("rows");
  for (int32_t Drain : {1, 0}) {
    Gate Held;
    Held.shut();
    fathom_context_options Context = Held.context();
    fathom_queue_options Options = joining(1);
    Options.contexts = 1, Options.context = &Context;
    QueuePtr Queue = makeQueue(Model, Options);
    std::vector<Rows> Requests;
    for (int I = 0; I < 5; ++I) {
      Requests.emplace_back(1, 3, Random);
      expectOk(Requests.back().submit(Queue));
    }
    Held.waitForRuns(1);
    // What waits is cancelled before what runs has ended.
    if (Drain)
      Held.open();
    std::thread Closing([&] { fathom_queue_close(Queue.get(), Drain); });
    if (!Drain) {
      for (size_t I = 1; I < Requests.size(); ++I)
        Requests[I].expectFailure(FATHOM_ERROR_CANCELLED, "was cancelled");
      Held.open();
    }
    Closing.join();
    for (size_t I = 0; I < (Drain ? Requests.size() : 1); ++I)
      Requests[I].expectRight();
    Rows Late(1, 3, Random);
    expectError(Late.submit(Queue), FATHOM_ERROR_CANCELLED, "the queue is closed");
  }
}

// The thread that calls a request's function cannot wait for itself.
TEST(Queue, IsClosedAndFreedByAFunctionOfARequest) {
  std::mt19937 Random = seeded();
  ModelPtr Model = load("rows");
  for (bool Frees : {false, true})
    for (int Round = 0; Round < 20; ++Round) {
      struct Ended {
        fathom_queue *Queue;
        bool Frees;
        std::atomic<int> Calls{0};
      };
      fathom_queue_options Options = joining(2, 3600000000);
      Options.contexts = 2;
      fathom_queue *Queue = nullptr;
      expectOk(fathom_queue_create(Model.get(), &Options, &Queue));
      Ended Last{Queue, Frees};
      fathom_request_options Given = FATHOM_REQUEST_OPTIONS_INIT;
      Given.done_user = &Last;
      Given.done = [](void *User, fathom_request *) {
        auto *L = static_cast<Ended *>(User);
        if (L->Frees)
          fathom_queue_free(L->Queue);
        else
          fathom_queue_close(L->Queue, 1);
        ++L->Calls;
      };
      Rows First(1, 3, Random), Second(1, 3, Random);
      {
        QueuePtr Lent(Queue);
        expectOk(First.submit(Lent, &Given));
        expectOk(Second.submit(Lent)); // which fills the run
        (void)Lent.release();
      }
      First.expectRight();
      Second.expectRight();
      while (!Last.Calls)
        std::this_thread::yield();
      if (!Frees)
        fathom_queue_free(Queue);
    }
}

TEST(Queue, IsClosedBySeveralThreads) {
  std::mt19937 Random = seeded();
  ModelPtr Model = load("rows");
  for (int Round = 0; Round < 20; ++Round) {
    fathom_queue_options Options = joining(1);
    Options.contexts = 3;
    QueuePtr Queue = makeQueue(Model, Options);
    Rows Request(1, 3, Random);
    expectOk(Request.submit(Queue));
    std::vector<std::thread> Closing;
    for (int I = 0; I < 4; ++I)
      Closing.emplace_back([&] {
        fathom_queue_close(Queue.get(), 1);
        EXPECT_EQ(statsOf(Queue).running, 0);
      });
    for (std::thread &T : Closing)
      T.join();
    Request.expectRight();
  }
}

TEST(Queue, LeavesResultsBehind) {
  std::mt19937 Random = seeded();
  ModelPtr Model = load("rows");
  QueuePtr Queue = makeQueue(Model, joining(4));
  Rows Request(3, 3, Random);
  expectOk(Request.submit(Queue));
  expectOk(fathom_request_wait(Request.Request.get()));
  Queue.reset();
  Model.reset();
  Request.expectRight();
}

TEST(Queue, RefusesWhatDoesNotFitTheModel) {
  std::mt19937 Random = seeded();
  ModelPtr Model = load("rows");
  QueuePtr Queue = makeQueue(Model, joining(4));
  Rows Large(65, 1, Random);
  expectError(Large.submit(Queue), FATHOM_ERROR_SHAPE, "input 'x' dimension 0 ('batch'): got 65, compiled for 0 to 64");
  Rows Short(2, 3, Random);
  Short.X.pop_back();
  expectError(Short.submit(Queue), FATHOM_ERROR_INVALID_ARGUMENT, "the buffer has 20 bytes, 24 are needed");
  Rows Request(1, 1, Random);
  Request.Dims.pop_back();
  expectError(Request.submit(Queue), FATHOM_ERROR_SHAPE, "got 1 dimensions, compiled for 2");
  fathom_request *Made = nullptr;
  expectError(fathom_queue_submit(Queue.get(), nullptr, 0, nullptr, &Made), FATHOM_ERROR_INVALID_ARGUMENT,
              "got 0 inputs, the model has 1");
  expectError(fathom_queue_submit(Queue.get(), nullptr, 1, nullptr, &Made), FATHOM_ERROR_INVALID_ARGUMENT,
              "inputs is null");
  EXPECT_EQ(statsOf(Queue).runs, 0);
}

TEST(Queue, RefusesOptionsThatMakeNoSense) {
  ModelPtr Model = load("rows");
  fathom_queue *Queue = nullptr;
  auto Refuses = [&](auto Change, const char *Text) {
    fathom_queue_options Options = FATHOM_QUEUE_OPTIONS_INIT;
    Change(Options);
    expectError(fathom_queue_create(Model.get(), &Options, &Queue), FATHOM_ERROR_INVALID_ARGUMENT, Text);
    EXPECT_EQ(Queue, nullptr);
  };
  Refuses([](auto &O) { O.max_batch = 0; }, "max_batch is 0: expected 1 to ");
  Refuses([](auto &O) { O.max_wait_us = -1; }, "max_wait_us is -1: expected 0 to ");
  Refuses([](auto &O) { O.max_pending = 0; }, "max_pending is 0: expected 1 to ");
  Refuses([](auto &O) { O.contexts = 1025; }, "contexts is 1025: expected 0 to 1024");
  Refuses([](auto &O) { O.struct_size = 8; }, "fathom_queue_options.struct_size is 8");
  fathom_context_options Context = FATHOM_CONTEXT_OPTIONS_INIT;
  Context.threads = -3;
  Refuses([&](auto &O) { O.context = &Context; }, "threads is -3");
  expectError(fathom_queue_create(nullptr, nullptr, &Queue), FATHOM_ERROR_INVALID_ARGUMENT, "model is null");
  expectError(fathom_queue_create(Model.get(), nullptr, nullptr), FATHOM_ERROR_INVALID_ARGUMENT, "queue is null");
  expectError(fathom_request_wait(nullptr), FATHOM_ERROR_INVALID_ARGUMENT, "request is null");
  fathom_queue_free(nullptr);
  fathom_queue_close(nullptr, 1);
  fathom_request_free(nullptr);
  fathom_request_cancel(nullptr);
}
