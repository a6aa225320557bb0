// Tests of running: right results from every number of threads, from several contexts at once, with the caller's
// allocator and pool, and the profile.
#include "TestSupport.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <thread>

using namespace fathom::test;

namespace {

// An allocator that counts and can be told to misbehave.
struct Allocator {
  std::map<void *, size_t> Live;
  size_t Calls = 0, Offset = 0;
  bool Empty = false;

  static void *allocate(void *User, size_t Bytes, size_t Alignment) {
    auto *Self = static_cast<Allocator *>(User);
    ++Self->Calls;
    if (Self->Empty)
      return nullptr;
    char *Memory = static_cast<char *>(aligned_alloc(Alignment, (Bytes + 2 * Alignment) / Alignment * Alignment));
    Self->Live[Memory + Self->Offset] = Bytes;
    return Memory + Self->Offset;
  }
  static void deallocate(void *User, void *Memory, size_t Bytes) {
    auto *Self = static_cast<Allocator *>(User);
    EXPECT_EQ(Self->Live.at(Memory), Bytes);
    Self->Live.erase(Memory);
    free(static_cast<char *>(Memory) - Self->Offset);
  }
  fathom_context_options options(int32_t Threads) {
    fathom_context_options Options = FATHOM_CONTEXT_OPTIONS_INIT;
    Options.threads = Threads;
    Options.allocate = allocate;
    Options.deallocate = deallocate;
    Options.allocator_user = this;
    return Options;
  }
};

ContextPtr makeContextWith(const ModelPtr &Model, const fathom_context_options &Options) {
  fathom_context *Context = nullptr;
  expectOk(fathom_context_create(Model.get(), &Options, &Context));
  return ContextPtr(Context);
}

// The caller's pools: one thread after another in reverse, fresh threads, and a bad one that calls nobody.
void serialPool(void *User, void (*Body)(void *, int32_t), void *Arg, int32_t Workers) {
  ++*static_cast<int *>(User);
  for (int32_t W = Workers - 1; W >= 0; --W)
    Body(Arg, W);
}
void threadPool(void *User, void (*Body)(void *, int32_t), void *Arg, int32_t Workers) {
  ++*static_cast<int *>(User);
  std::vector<std::thread> Threads;
  for (int32_t W = 0; W < Workers; ++W)
    Threads.emplace_back(Body, Arg, W);
  for (std::thread &T : Threads)
    T.join();
}
void lazyPool(void *User, void (*Body)(void *, int32_t), void *Arg, int32_t Workers) {
  ++*static_cast<int *>(User);
  Body(Arg, -1);
  Body(Arg, Workers + 1000);
}

} // namespace

TEST(Run, GivesTheSameForEveryThreadCountAndRun) {
  ModelPtr Model = load("scale_add");
  for (int64_t Batch : {0, 1, 2, 3, 7, 64, 1000, 12345}) {
    ScaleAdd Call(Batch);
    for (int32_t Threads : {1, 2, 3, 8, 33}) {
      ContextPtr Context = makeContext(Model.get(), Threads);
      for (int Repeat = 0; Repeat < 3; ++Repeat) {
        std::fill(Call.Z.begin(), Call.Z.end(), -1.0f);
        expectOk(Call.run(Context));
        Call.expectRight();
      }
    }
  }
}

TEST(Run, TakesManyTasks) {
  ModelPtr Model = load("scale_add");
  ContextPtr Context = makeContext(Model.get(), 2);
  ScaleAdd Call(1000000);
  expectOk(Call.run(Context));
  Call.expectRight();
}

TEST(Run, TakesChangingSizes) {
  ModelPtr Model = load("scale_add");
  ContextPtr Context = makeContext(Model.get(), 2);
  for (int64_t Batch : {5, 5000, 1, 0, 300000, 17}) {
    ScaleAdd Call(Batch);
    expectOk(Call.run(Context));
    Call.expectRight();
  }
}

TEST(Run, TakesNullForEmptyTensors) {
  ModelPtr Model = load("scale_add");
  ContextPtr Context = makeContext(Model.get(), 2);
  const int64_t Dims[2] = {0, 3};
  fathom_tensor Empty = {nullptr, FATHOM_F32, 2, Dims, 0};
  std::vector<float> Total{7};
  expectOk(run(Context, {Empty, Empty}, {Empty, tensor(Total, {})}));
  EXPECT_EQ(Total[0], 0);
}

TEST(Run, ServesSeveralContextsAtOnce) {
  ModelPtr Model = load("scale_add");
  std::vector<std::thread> Callers;
  for (int32_t T = 0; T < 6; ++T)
    Callers.emplace_back([&, T] {
      ContextPtr Context = makeContext(Model.get(), 1 + T % 3);
      ScaleAdd Call(100 + 37 * T);
      for (int Repeat = 0; Repeat < 50; ++Repeat) {
        expectOk(Call.run(Context));
        Call.expectRight();
      }
    });
  for (std::thread &T : Callers)
    T.join();
}

TEST(Run, LoadsAndRunsFromSeveralThreads) {
  std::vector<std::thread> Callers;
  for (int T = 0; T < 4; ++T)
    Callers.emplace_back([] {
      for (int Repeat = 0; Repeat < 10; ++Repeat) {
        ModelPtr Model = load("scale_add");
        ContextPtr Context = makeContext(Model.get(), 2);
        ScaleAdd Call(10);
        expectOk(Call.run(Context));
        Call.expectRight();
      }
    });
  for (std::thread &T : Callers)
    T.join();
}

TEST(Run, OutlivesTheModelsHandle) {
  ModelPtr Model = load("scale_add");
  ContextPtr Context = makeContext(Model.get(), 2);
  Model.reset();
  ScaleAdd Call(100);
  expectOk(Call.run(Context));
  Call.expectRight();
}

TEST(Run, KeepsDenormalsWhateverTheCallersMode) {
  ModelPtr Model = load("scale_add");
  ContextPtr Context = makeContext(Model.get(), 2);
  ScaleAdd Call(100);
  std::fill(Call.X.begin(), Call.X.end(), 1e-40f);
  std::fill(Call.Y.begin(), Call.Y.end(), 0.0f);
#if defined(__aarch64__)
  uint64_t Before, Flush = 1 << 24;
  __asm__ volatile("mrs %0, fpcr" : "=r"(Before));
  __asm__ volatile("msr fpcr, %0" : : "r"(Flush));
  fathom_status *Status = Call.run(Context);
  uint64_t After;
  __asm__ volatile("mrs %0, fpcr" : "=r"(After));
  __asm__ volatile("msr fpcr, %0" : : "r"(Before));
#elif defined(__x86_64__)
  uint32_t Before = __builtin_ia32_stmxcsr(), Flush = 0x9fc0;
  __builtin_ia32_ldmxcsr(Flush);
  fathom_status *Status = Call.run(Context);
  uint32_t After = __builtin_ia32_stmxcsr() & ~0x3fu;
  Flush &= ~0x3fu;
  __builtin_ia32_ldmxcsr(Before);
#endif
  EXPECT_EQ(After, Flush);
  expectOk(Status);
  for (size_t I = 0; I < Call.Z.size(); I += 3)
    ASSERT_EQ(Call.Z[I], 1e-40f);
}

TEST(Run, UsesTheCallersAllocator) {
  ModelPtr Model = load("scale_add");
  Allocator Memory;
  {
    ContextPtr Context = makeContextWith(Model, Memory.options(2));
    ScaleAdd Call(1000);
    expectOk(Call.run(Context));
    Call.expectRight();
    size_t Calls = Memory.Calls;
    EXPECT_EQ(Calls, 2u); // scratch and arena
    expectOk(Call.run(Context));
    EXPECT_EQ(Memory.Calls, Calls);
    ScaleAdd Larger(2000);
    expectOk(Larger.run(Context));
    EXPECT_EQ(Memory.Calls, Calls + 1);
    EXPECT_EQ(Memory.Live.size(), 2u);

    Memory.Empty = true;
    ScaleAdd TooLarge(9000);
    expectError(TooLarge.run(Context), FATHOM_ERROR_MEMORY, "no memory for the arena (108000 bytes)");
    expectError(Call.run(Context), FATHOM_ERROR_MEMORY, "no memory for the arena (12000 bytes)");
    Memory.Empty = false;
    expectOk(Call.run(Context));
    Call.expectRight();
  }
  EXPECT_TRUE(Memory.Live.empty());
}

TEST(Run, RefusesMemoryThatIsNotAligned) {
  ModelPtr Model = load("scale_add");
  Allocator Memory;
  Memory.Offset = 8;
  fathom_context *Context = nullptr;
  fathom_context_options Options = Memory.options(2);
  expectError(fathom_context_create(Model.get(), &Options, &Context), FATHOM_ERROR_INVALID_ARGUMENT,
              "gave memory for the scratch buffers that is not aligned to 64");
  EXPECT_EQ(Context, nullptr);
  EXPECT_TRUE(Memory.Live.empty());
}

TEST(Run, UsesTheCallersPool) {
  ModelPtr Model = load("scale_add");
  for (fathom_parallel_for_fn Pool : {serialPool, threadPool, lazyPool}) {
    int Launches = 0;
    fathom_context_options Options = FATHOM_CONTEXT_OPTIONS_INIT;
    Options.threads = 3;
    Options.parallel_for = Pool;
    Options.parallel_for_user = &Launches;
    ContextPtr Context = makeContextWith(Model, Options);
    EXPECT_EQ(fathom_context_threads(Context.get()), 3);
    ScaleAdd Call(500);
    expectOk(Call.run(Context));
    Call.expectRight();
    EXPECT_EQ(Launches, 2); // the third kernel has one task
  }
}

TEST(Run, RefusesASecondCallerAtTheSameTime) {
  ModelPtr Model = load("scale_add");
  struct State {
    fathom_context *Context = nullptr;
    std::string Message;
  } Shared;
  fathom_context_options Options = FATHOM_CONTEXT_OPTIONS_INIT;
  Options.threads = 2;
  Options.parallel_for_user = &Shared;
  // Calls the context while it runs.
  Options.parallel_for = [](void *User, void (*Body)(void *, int32_t), void *Arg, int32_t Workers) {
    auto *S = static_cast<State *>(User);
    StatusPtr Status(fathom_context_run(S->Context, nullptr, 0, nullptr, 0));
    S->Message = fathom_status_message(Status.get());
    for (int32_t W = 0; W < Workers; ++W)
      Body(Arg, W);
  };
  ContextPtr Context = makeContextWith(Model, Options);
  Shared.Context = Context.get();
  ScaleAdd Call(5);
  expectOk(Call.run(Context));
  Call.expectRight();
  EXPECT_NE(Shared.Message.find("in use by another thread"), std::string::npos);
}

TEST(Run, ProfilesEachLaunch) {
  ModelPtr Model = load("scale_add");
  ContextPtr Context = makeContext(Model.get(), 2);
  ScaleAdd Call(64);
  fathom_profile_entry Entry;
  expectOk(Call.run(Context));
  EXPECT_EQ(fathom_context_profile_count(Context.get()), 0u);
  fathom_context_set_profiling(Context.get(), 1);
  for (int Repeat = 0; Repeat < 2; ++Repeat) {
    expectOk(Call.run(Context));
    ASSERT_EQ(fathom_context_profile_count(Context.get()), 3u);
    int64_t Before = 0;
    for (int32_t I = 0; I < 3; ++I) {
      expectOk(fathom_context_profile(Context.get(), size_t(I), &Entry));
      EXPECT_EQ(Entry.kernel, I);
      EXPECT_EQ(Entry.tasks, I == 2 ? 1 : 64);
      EXPECT_GE(Entry.start_ns, Before);
      EXPECT_GE(Entry.end_ns, Entry.start_ns);
      Before = Entry.end_ns;
    }
  }
  expectError(fathom_context_profile(Context.get(), 3, &Entry), FATHOM_ERROR_INVALID_ARGUMENT, "the last run has 3");
  expectError(fathom_context_profile(Context.get(), 0, nullptr), FATHOM_ERROR_INVALID_ARGUMENT, "entry is null");
  fathom_context_set_profiling(Context.get(), 0);
  expectOk(Call.run(Context));
  EXPECT_EQ(fathom_context_profile_count(Context.get()), 0u);
}

TEST(Run, ProfilesWhatEachThreadDid) {
  ModelPtr Model = load("scale_add");
  ContextPtr Context = makeContext(Model.get(), 3);
  ScaleAdd Call(64);
  fathom_context_set_profiling(Context.get(), 1);
  expectOk(Call.run(Context));
  EXPECT_EQ(fathom_context_profile_part_count(Context.get()), 0u);
  fathom_context_set_profiling(Context.get(), 2);
  for (int Repeat = 0; Repeat < 50; ++Repeat) {
    expectOk(Call.run(Context));
    ASSERT_EQ(fathom_context_profile_count(Context.get()), 3u);
    int64_t Tasks[3] = {}, Before = 0;
    fathom_profile_part Part;
    for (size_t I = 0; I < fathom_context_profile_part_count(Context.get()); ++I) {
      expectOk(fathom_context_profile_part(Context.get(), I, &Part));
      fathom_profile_entry Entry;
      expectOk(fathom_context_profile(Context.get(), size_t(Part.launch), &Entry));
      EXPECT_GE(Part.launch, Before);
      EXPECT_TRUE(Part.thread >= 0 && Part.thread < 3 && Part.tasks > 0);
      EXPECT_TRUE(Entry.start_ns <= Part.start_ns && Part.start_ns <= Part.end_ns && Part.end_ns <= Entry.end_ns);
      Tasks[Part.launch] += Part.tasks;
      Before = Part.launch;
    }
    EXPECT_EQ(Tasks[0], 64);
    EXPECT_EQ(Tasks[1], 64);
    EXPECT_EQ(Tasks[2], 1);
  }
  fathom_profile_part Part;
  expectError(fathom_context_profile_part(Context.get(), 99, &Part), FATHOM_ERROR_INVALID_ARGUMENT, "the last run has");
  expectError(fathom_context_profile_part(Context.get(), 0, nullptr), FATHOM_ERROR_INVALID_ARGUMENT, "part is null");
  EXPECT_EQ(fathom_context_profile_part_count(nullptr), 0u);
}

TEST(Run, TakesAnOutputInTheMemoryOfAnInputOnlyWhereTheArtifactAllowsIt) {
  std::vector<int64_t> Dims{3};
  std::vector<float> Data{1, 2, 3, 4};
  fathom_tensor Whole = {Data.data(), FATHOM_F32, 1, Dims.data(), 3 * sizeof(float)};
  fathom_tensor Shifted = {Data.data() + 1, FATHOM_F32, 1, Dims.data(), 3 * sizeof(float)};

  ModelPtr Copying = load("copy"), InPlace = load("in_place");
  EXPECT_EQ(fathom_model_output_alias(Copying.get(), 0), -1);
  EXPECT_EQ(fathom_model_output_alias(InPlace.get(), 0), 0);
  EXPECT_EQ(fathom_model_output_alias(InPlace.get(), 1), -1);

  ContextPtr Context = makeContext(Copying.get());
  expectError(run(Context, {Whole}, {Whole}), FATHOM_ERROR_INVALID_ARGUMENT, "'y' lies in the memory of input 'x'");
  Context = makeContext(InPlace.get());
  expectOk(run(Context, {Whole}, {Whole}));
  EXPECT_EQ(Data, (std::vector<float>{1, 2, 3, 4}));
  // The same memory, and not just some of it.
  expectError(run(Context, {Whole}, {Shifted}), FATHOM_ERROR_INVALID_ARGUMENT, "'y' lies in the memory of input 'x'");
}

// What a loop launches again begins where it ended; every run begins with the first task.
TEST(Run, PassesTasksToAndFro) {
  ModelPtr Model = load("again");
  ContextPtr Context = makeContext(Model.get());
  std::vector<int64_t> Dims{9};
  for (int Round = 0; Round < 2; ++Round) {
    std::vector<float> Order(9, -1);
    expectOk(run(Context, {}, {tensor(Order, Dims)}));
    EXPECT_EQ(Order, (std::vector<float>{0, 1, 2, 2, 1, 0, 0, 1, 2}));
  }
}
