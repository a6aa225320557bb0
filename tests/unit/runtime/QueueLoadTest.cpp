// Queues under load: many threads that submit, wait, cancel and are late, while all that is answered is right.
#include "QueueSupport.h"

#include <thread>

using namespace fathom::test;

TEST(QueueLoad, AnswersAllThreadsRight) {
  std::mt19937 Random = seeded();
  ModelPtr Model = load("rows");
  fathom_pool *Pool = nullptr;
  expectOk(fathom_pool_create(3, &Pool));
  fathom_context_options Context = FATHOM_CONTEXT_OPTIONS_INIT;
  Context.threads = 2;
  Context.parallel_for = fathom_pool_parallel_for;
  Context.parallel_for_user = Pool;
  fathom_queue_options Options = FATHOM_QUEUE_OPTIONS_INIT;
  Options.max_batch = 6, Options.max_wait_us = 100, Options.max_pending = 12, Options.contexts = 2;
  Options.context = &Context;
  QueuePtr Queue = makeQueue(Model, Options);
  std::atomic<int64_t> Right{0}, Busy{0}, Late{0}, Cancelled{0}, Wrong{0};
  auto Client = [&](unsigned Seed) {
    std::mt19937 Mine(Seed);
    for (int I = 0; I < 150; ++I) {
      Rows Request(1 + int64_t(Mine() % 3), 1 + int64_t(Mine() % 2), Mine);
      bool IsBad = Mine() % 10 == 0;
      if (IsBad)
        Request.X[0] = -1;
      fathom_request_options Given = FATHOM_REQUEST_OPTIONS_INIT;
      Given.timeout_us = Mine() % 5 ? 0 : int64_t(Mine() % 300);
      if (fathom_status *Refused = Request.submit(Queue, &Given)) {
        expectError(Refused, FATHOM_ERROR_BUSY, "full");
        ++Busy;
        continue;
      }
      if (Mine() % 7 == 0)
        fathom_request_cancel(Request.Request.get());
      if (Mine() % 11 == 0)
        continue; // freed at whatever state it is in
      StatusPtr Status(fathom_request_wait(Request.Request.get()));
      switch (fathom_status_code(Status.get())) {
      case FATHOM_OK:
        EXPECT_FALSE(IsBad);
        Request.expectRight();
        ++Right;
        break;
      case FATHOM_ERROR_INDEX:
        EXPECT_TRUE(IsBad);
        ++Wrong;
        break;
      case FATHOM_ERROR_DEADLINE:
        EXPECT_NE(Given.timeout_us, 0);
        ++Late;
        break;
      default:
        EXPECT_EQ(fathom_status_code(Status.get()), FATHOM_ERROR_CANCELLED) << fathom_status_message(Status.get());
        ++Cancelled;
      }
    }
  };
  std::vector<std::thread> Clients;
  for (int T = 0; T < 8; ++T)
    Clients.emplace_back(Client, Random());
  for (std::thread &T : Clients)
    T.join();
  fathom_queue_close(Queue.get(), 1);
  fathom_queue_stats Stats = statsOf(Queue);
  EXPECT_EQ(Stats.pending + Stats.running, 0);
  EXPECT_EQ(Stats.refused, Busy);
  EXPECT_EQ(Stats.completed + Stats.failed + Stats.refused + Stats.expired + Stats.cancelled, 8 * 150);
  EXPECT_GE(Stats.completed, Right);
  EXPECT_GE(Stats.failed, Wrong);
  EXPECT_GT(Right, 0);
  EXPECT_GT(Wrong, 0);
  Queue.reset();
  fathom_pool_free(Pool);
}

TEST(QueueLoad, GoesWhileClientsWait) {
  std::mt19937 Random = seeded();
  ModelPtr Model = load("rows");
  for (int Round = 0; Round < 20; ++Round) {
    fathom_queue_options Options = FATHOM_QUEUE_OPTIONS_INIT;
    Options.contexts = 2, Options.max_batch = 4, Options.max_wait_us = 50;
    QueuePtr Queue = makeQueue(Model, Options);
    std::vector<Rows> Requests;
    for (int I = 0; I < 16; ++I) {
      Requests.emplace_back(1, 5, Random);
      expectOk(Requests.back().submit(Queue));
    }
    std::vector<std::thread> Waiting;
    for (Rows &Request : Requests)
      Waiting.emplace_back([&] {
        StatusPtr Status(fathom_request_wait(Request.Request.get()));
        if (Status)
          EXPECT_EQ(fathom_status_code(Status.get()), FATHOM_ERROR_CANCELLED);
        else
          Request.expectRight();
      });
    Queue.reset();
    for (std::thread &T : Waiting)
      T.join();
  }
}
