// Tests of the pool that contexts share: every worker's number comes once, results are right, and no more threads work
// than the pool has.
#include "QueueSupport.h"

#include <thread>

using namespace fathom::test;

namespace {

struct FreePool {
  void operator()(fathom_pool *P) const { fathom_pool_free(P); }
};
using PoolPtr = std::unique_ptr<fathom_pool, FreePool>;

PoolPtr makePool(int32_t Threads) {
  fathom_pool *Pool = nullptr;
  expectOk(fathom_pool_create(Threads, &Pool));
  return PoolPtr(Pool);
}

} // namespace

TEST(Pool, CallsEveryWorkerOnce) {
  for (int32_t Threads : {1, 2, 5}) {
    PoolPtr Pool = makePool(Threads);
    EXPECT_EQ(fathom_pool_threads(Pool.get()), Threads);
    for (int32_t Workers : {0, 1, 2, 3, 7, 64}) {
      std::vector<std::atomic<int>> Calls(static_cast<size_t>(Workers));
      fathom_pool_parallel_for(
          Pool.get(),
          [](void *Arg, int32_t Worker) { ++(*static_cast<std::vector<std::atomic<int>> *>(Arg))[size_t(Worker)]; },
          &Calls, Workers);
      for (const std::atomic<int> &Count : Calls)
        EXPECT_EQ(Count, 1);
    }
  }
}

TEST(Pool, HelpsWhereThreadsAreFree) {
  PoolPtr Pool = makePool(3);
  // All three are there only if they work at the same time.
  struct Meeting {
    std::mutex Lock;
    std::condition_variable Changed;
    int Here = 0;
  } Met;
  fathom_pool_parallel_for(
      Pool.get(),
      [](void *Arg, int32_t) {
        auto *M = static_cast<Meeting *>(Arg);
        std::unique_lock<std::mutex> Held(M->Lock);
        ++M->Here;
        M->Changed.notify_all();
        M->Changed.wait(Held, [&] { return M->Here == 3; });
      },
      &Met, 3);
  EXPECT_EQ(Met.Here, 3);
}

TEST(Pool, WorksWithNoMoreThreadsThanItHas) {
  PoolPtr Pool = makePool(2);
  struct Count {
    std::atomic<int> Now{0}, Most{0};
  } Counted;
  std::vector<std::thread> Callers;
  for (int T = 0; T < 2; ++T)
    Callers.emplace_back([&] {
      for (int Repeat = 0; Repeat < 200; ++Repeat)
        fathom_pool_parallel_for(
            Pool.get(),
            [](void *Arg, int32_t) {
              auto *C = static_cast<Count *>(Arg);
              int Now = ++C->Now, Most = C->Most;
              while (Now > Most && !C->Most.compare_exchange_weak(Most, Now))
                ;
              --C->Now;
            },
            &Counted, 4);
    });
  for (std::thread &T : Callers)
    T.join();
  // A helper that has just begun when the second caller comes is one more.
  EXPECT_LE(Counted.Most, 3);
  EXPECT_GE(Counted.Most, 1);
}

TEST(Pool, ServesContextsOfSeveralModels) {
  PoolPtr Pool = makePool(3);
  ModelPtr Models[] = {load("scale_add"), load("rows")};
  std::vector<std::thread> Callers;
  for (int32_t T = 0; T < 4; ++T)
    Callers.emplace_back([&, T] {
      fathom_context_options Options = FATHOM_CONTEXT_OPTIONS_INIT;
      Options.threads = 1 + T;
      Options.parallel_for = fathom_pool_parallel_for;
      Options.parallel_for_user = Pool.get();
      fathom_context *Made = nullptr;
      expectOk(fathom_context_create(Models[T % 2].get(), &Options, &Made));
      ContextPtr Context(Made);
      if (T % 2 == 0) {
        ScaleAdd Call(100 + 37 * T);
        for (int Repeat = 0; Repeat < 50; ++Repeat) {
          expectOk(Call.run(Context));
          Call.expectRight();
        }
        return;
      }
      std::vector<int64_t> Dims{50, 1}, FirstDims{50};
      std::vector<float> X(50, float(T)), Y(50), First(50);
      for (int Repeat = 0; Repeat < 50; ++Repeat) {
        expectOk(run(Context, {tensor(X, Dims)}, {tensor(Y, Dims), tensor(First, FirstDims)}));
        EXPECT_EQ(Y, std::vector<float>(50, float(3 * T)));
      }
    });
  for (std::thread &T : Callers)
    T.join();
}

TEST(Pool, RefusesImpossibleNumbers) {
  fathom_pool *Pool = nullptr;
  for (int32_t Threads : {-1, 1025})
    expectError(fathom_pool_create(Threads, &Pool), FATHOM_ERROR_INVALID_ARGUMENT, "expected 0 for the default");
  expectError(fathom_pool_create(1, nullptr), FATHOM_ERROR_INVALID_ARGUMENT, "pool is null");
  EXPECT_EQ(Pool, nullptr);
  fathom_pool_free(nullptr);
}
