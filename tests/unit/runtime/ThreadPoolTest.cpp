// Tests of the thread pool alone, with tasks that the sanitizers can see into.
#include "ThreadPool.h"
#include "Memory.h"
#include "TestSupport.h"

#include <chrono>
#include <numeric>
#include <thread>

using namespace fathom;
using namespace fathom::test;

namespace {

struct Pool {
  explicit Pool(int32_t Threads, size_t Stride = 128) : Scratch(size_t(Threads) * Stride) {
    expectOk(Threads_.start(Threads, Scratch.data(), Stride));
  }
  template <typename Body> Fault launch(int64_t Tasks, Body &B, bool Backwards = false) {
    auto Call = [](const void *Env, int64_t First, int64_t Last, int64_t, void *TaskScratch) -> int32_t {
      int32_t Code = 0;
      for (int64_t Task = First; Task < Last && !Code; ++Task)
        Code = (*static_cast<Body *>(const_cast<void *>(Env)))(Task, static_cast<char *>(TaskScratch));
      return Code;
    };
    return Threads_.launch(Call, &B, Tasks, Backwards);
  }
  std::vector<char> Scratch;
  ThreadPool Threads_;
};

} // namespace

TEST(ThreadPool, RunsEachTaskOnce) {
  for (int32_t Threads : {1, 2, 5, 16}) {
    Pool P(Threads);
    for (int64_t Tasks : {0, 1, 2, 3, 15, 16, 17, 1000, 100003})
      for (bool Backwards : {false, true}) {
        // Plain ints: a task run twice or unordered with the check below is a data race.
        std::vector<int> Runs(size_t(Tasks), 0);
        auto Body = [&](int64_t Task, char *) { return Runs[size_t(Task)]++, 0; };
        Fault Result = P.launch(Tasks, Body, Backwards);
        EXPECT_EQ(Result.Code, 0);
        EXPECT_EQ(std::count(Runs.begin(), Runs.end(), 1), Tasks);
      }
  }
}

TEST(ThreadPool, OrdersLaunches) {
  Pool P(3);
  std::vector<int> Values(300, 0);
  for (int Round = 0; Round < 3000; ++Round) {
    // Each task reads what another wrote in the launch before.
    std::vector<int> Next(300);
    auto Body = [&](int64_t Task, char *) { return Next[size_t(Task)] = Values[size_t(299 - Task)] + 1, 0; };
    P.launch(300, Body);
    Values.swap(Next);
  }
  EXPECT_EQ(std::accumulate(Values.begin(), Values.end(), 0), 300 * 3000);
}

// Single tasks where they are few, else eight runs of neighbours, the last of which comes first.
TEST(ThreadPool, RunsBackwards) {
  Pool P(1);
  std::vector<int64_t> Order;
  auto Body = [&](int64_t Task, char *) { return Order.push_back(Task), 0; };
  P.launch(4, Body, true);
  P.launch(2, Body);
  EXPECT_EQ(Order, (std::vector<int64_t>{3, 2, 1, 0, 0, 1}));
  Order.clear();
  P.launch(17, Body, true);
  EXPECT_EQ(Order, (std::vector<int64_t>{15, 16, 13, 14, 11, 12, 9, 10, 7, 8, 5, 6, 3, 4, 1, 2, 0}));
}

TEST(ThreadPool, TakesNeighboursTogether) {
  ThreadPool Alone, Two;
  expectOk(Alone.start(1, nullptr, 0));
  expectOk(Two.start(2, nullptr, 0));
  auto Count = [](const void *Env, int64_t First, int64_t Last, int64_t, void *) -> int32_t {
    EXPECT_LT(First, Last);
    return ++*static_cast<std::atomic<int> *>(const_cast<void *>(Env)), 0;
  };
  std::atomic<int> Calls{0};
  Alone.launch(Count, &Calls, 1000);
  EXPECT_EQ(Calls.load(), 1);
  Calls = 0;
  Two.launch(Count, &Calls, 1024);
  EXPECT_EQ(Calls.load(), 2 * 10); // 512 of a share: 256, 128, 64, ..., 1, 1
}

// A run is told the last task that its launch ran in the same scratch, unless that one was at fault; a thread that
// comes to a launch again is not.
TEST(ThreadPool, TellsWhatRanBefore) {
  auto Run = [](const void *Env, int64_t First, int64_t Last, int64_t Before, void *TaskScratch) -> int32_t {
    auto &Noted = *static_cast<int64_t *>(TaskScratch);
    auto [Faulty, Alone] = *static_cast<const std::pair<int64_t, bool> *>(Env);
    EXPECT_TRUE(Before == Noted || (!Alone && Before == -1));
    bool IsFaulty = First <= Faulty && Faulty < Last;
    Noted = IsFaulty ? -1 : Last - 1;
    return IsFaulty;
  };
  for (int32_t Threads : {1, 2, 5}) {
    Pool P(Threads);
    for (int64_t Tasks : {1, 2, 17, 1000})
      for (bool Backwards : {false, true})
        for (const int64_t Faulty : {int64_t(-1), Tasks / 2}) {
          for (int32_t I = 0; I < Threads; ++I)
            *reinterpret_cast<int64_t *>(&P.Scratch[size_t(I) * 128]) = -1;
          std::pair Env{Faulty, Threads == 1};
          EXPECT_EQ(P.Threads_.launch(Run, &Env, Tasks, Backwards).Code, Faulty >= 0);
        }
  }
}

// A thread that still looks for tasks of one launch may get those of the next: nothing that ran before counts for them.
TEST(ThreadPool, ForgetsWhatRanInAnotherLaunch) {
  struct Note {
    int64_t Launch, Last;
  };
  auto Run = [](const void *Env, int64_t, int64_t Last, int64_t Before, void *TaskScratch) -> int32_t {
    auto &Noted = *static_cast<Note *>(TaskScratch);
    int64_t Launch = *static_cast<const int64_t *>(Env);
    // One that comes again to the same launch is not told.
    EXPECT_TRUE(Before == -1 || (Noted.Launch == Launch && Before == Noted.Last));
    Noted = {Launch, Last - 1};
    return 0;
  };
  for (int32_t Threads : {2, 3, 7}) {
    Pool P(Threads);
    for (int64_t Launch = 1; Launch <= 100000; ++Launch)
      P.Threads_.launch(Run, &Launch, 2 + Launch % 9);
  }
}

TEST(ThreadPool, WakesAfterSleeping) {
  Pool P(4);
  for (int Round = 0; Round < 20; ++Round) {
    std::this_thread::sleep_for(std::chrono::milliseconds(Round % 3));
    std::atomic<int> Sum{0};
    auto Body = [&](int64_t Task, char *) { return Sum += int(Task), 0; };
    P.launch(100, Body);
    EXPECT_EQ(Sum.load(), 4950);
  }
}

// The caller falls asleep while the last task runs elsewhere or here; either way the launch ends.
TEST(ThreadPool, WaitsForLongTasks) {
  for (int32_t Threads : {2, 40}) {
    Pool P(Threads);
    for (int Round = 0; Round < 10; ++Round) {
      int Done[2] = {0, 0};
      auto Body = [&](int64_t Task, char *) {
        std::this_thread::sleep_for(std::chrono::microseconds(Task ? 1500 : 100));
        return Done[Task] = 1, 0;
      };
      P.launch(2, Body);
      EXPECT_EQ(Done[0] + Done[1], 2);
    }
  }
}

TEST(ThreadPool, GivesEachWorkerItsScratch) {
  Pool P(4, 64);
  auto Body = [&](int64_t Task, char *Scratch) {
    // Without private scratch this is a data race, and the value changes under us.
    *reinterpret_cast<int64_t *>(Scratch) = Task;
    for (int I = 0; I < 50; ++I)
      if (*reinterpret_cast<volatile int64_t *>(Scratch) != Task)
        return 1;
    return 0;
  };
  EXPECT_EQ(P.launch(20000, Body).Code, 0);
}

TEST(ThreadPool, ReportsTheLowestFault) {
  for (int32_t Threads : {1, 2, 8}) {
    Pool P(Threads);
    for (int64_t First : {0, 1, 499, 777, 9999})
      for (int Repeat = 0; Repeat < 20; ++Repeat) {
        auto Body = [&](int64_t Task, char *) { return Task >= First ? int32_t(Task) + 5 : 0; };
        Fault Result = P.launch(10000, Body, Repeat % 2);
        EXPECT_EQ(Result.Code, First + 5);
      }
    auto Fine = [](int64_t, char *) { return 0; };
    EXPECT_EQ(P.launch(10000, Fine).Code, 0);
  }
}

// Task 0 waits until task 1 has most likely faulted; the answer is the same when it has not.
TEST(ThreadPool, ReportsTheLowestFaultWhenItComesLast) {
  Pool P(2);
  std::atomic<bool> Faulted{false};
  auto Body = [&](int64_t Task, char *) {
    if (Task == 1)
      return Faulted = true, 8;
    for (int Wait = 0; Wait < 1000 && !Faulted; ++Wait)
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    return 7;
  };
  Fault Result = P.launch(2, Body);
  EXPECT_EQ(Result.Code, 7);
}

// The first run faults at once; the others take so long, all together, that it has told so before the last begins.
TEST(ThreadPool, StopsAfterAFault) {
  ThreadPool Two;
  expectOk(Two.start(2, nullptr, 0));
  std::atomic<int> Runs{0};
  auto Run = [](const void *Env, int64_t First, int64_t, int64_t, void *) -> int32_t {
    ++*static_cast<std::atomic<int> *>(const_cast<void *>(Env));
    if (First == 0)
      return 1;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    return 0;
  };
  EXPECT_EQ(Two.launch(Run, &Runs, int64_t(1) << 60).Code, 1);
  EXPECT_LT(Runs.load(), 2 * 60); // 2^59 tasks of a share: 2^58, 2^57, ..., 1, 1
}

TEST(ThreadPool, EndsWithoutHavingWorked) {
  for (int Repeat = 0; Repeat < 50; ++Repeat)
    Pool P(1 + Repeat % 5);
}
