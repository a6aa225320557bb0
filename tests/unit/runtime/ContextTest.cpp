// Tests of what a context refuses: options, dimensions, buffers, and the faults of artifacts.
#include "TestSupport.h"

#include <cstdlib>

using namespace fathom::test;

// The sanitizers' allocators end the program where malloc returns null, unless told otherwise.
extern "C" const char *__asan_default_options() { return "allocator_may_return_null=1"; }
extern "C" const char *__tsan_default_options() { return "allocator_may_return_null=1"; }

namespace {

const fathom_code Wrong = FATHOM_ERROR_INVALID_ARGUMENT;

struct Gather {
  ModelPtr Model = load("gather");
  ContextPtr Context = makeContext(Model.get(), 2);
  std::vector<int64_t> Dims{2, 5}, MaskDims{2, 5};
  std::vector<int64_t> Ids{0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
  std::vector<uint8_t> Mask = std::vector<uint8_t>(10, 1);
  std::vector<float> Out = std::vector<float>(10);
  fathom_tensor Inputs[2] = {tensor(Ids, Dims), tensor(Mask, MaskDims)};
  fathom_tensor Output = tensor(Out, Dims);

  fathom_status *run() { return fathom_context_run(Context.get(), Inputs, 2, &Output, 1); }
};

fathom_status *createWith(fathom_model *Model, const fathom_context_options &Options) {
  fathom_context *Context = nullptr;
  fathom_status *Status = fathom_context_create(Model, &Options, &Context);
  EXPECT_EQ(Status == nullptr, Context != nullptr);
  fathom_context_free(Context);
  return Status;
}

} // namespace

TEST(Context, RefusesWrongOptions) {
  ModelPtr Model = load("copy");
  fathom_context *Context = nullptr;
  expectError(fathom_context_create(nullptr, nullptr, &Context), Wrong, "model is null");
  expectError(fathom_context_create(Model.get(), nullptr, nullptr), Wrong, "context is null");
  const fathom_context_options Good = FATHOM_CONTEXT_OPTIONS_INIT;
  fathom_context_options Options = Good;
  Options.struct_size = 4;
  expectError(createWith(Model.get(), Options), Wrong, "struct_size is 4");
  // Of a program that was built before the last fields came.
  Options.struct_size = offsetof(fathom_context_options, interrupted);
  expectOk(createWith(Model.get(), Options));
  Options = Good;
  Options.threads = -1;
  expectError(createWith(Model.get(), Options), Wrong, "threads is -1");
  Options.threads = 1000000;
  expectError(createWith(Model.get(), Options), Wrong, "threads is 1000000");
  Options = Good;
  Options.allocate = [](void *, size_t, size_t) -> void * { return nullptr; };
  expectError(createWith(Model.get(), Options), Wrong, "allocate and deallocate go together");
}

TEST(Context, TakesThreadsFromOptionsThenEnvironment) {
  ModelPtr Model = load("copy");
  setenv("FATHOM_NUM_THREADS", "3", 1);
  EXPECT_EQ(fathom_context_threads(makeContext(Model.get(), 0).get()), 3);
  EXPECT_EQ(fathom_context_threads(makeContext(Model.get(), 2).get()), 2);
  for (const char *Bad : {"0", "-2", "two", "3x", "99999"}) {
    setenv("FATHOM_NUM_THREADS", Bad, 1);
    expectError(createWith(Model.get(), FATHOM_CONTEXT_OPTIONS_INIT), Wrong,
                std::string("FATHOM_NUM_THREADS is '") + Bad + "'");
  }
  setenv("FATHOM_NUM_THREADS", "", 1);
  EXPECT_GE(fathom_context_threads(makeContext(Model.get(), 0).get()), 1);
  unsetenv("FATHOM_NUM_THREADS");
  EXPECT_GE(fathom_context_threads(makeContext(Model.get(), 0).get()), 1);
}

TEST(Context, TakesNullForNothing) {
  fathom_context_free(nullptr);
  fathom_context_set_profiling(nullptr, 1);
  EXPECT_EQ(fathom_context_threads(nullptr), 0);
  EXPECT_EQ(fathom_context_profile_count(nullptr), 0u);
  size_t Bytes;
  expectError(fathom_context_run(nullptr, nullptr, 0, nullptr, 0), Wrong, "context is null");
  expectError(fathom_context_output_dims(nullptr, nullptr, nullptr), Wrong, "context is null");
  expectError(fathom_context_arena_bytes(nullptr, nullptr, &Bytes), Wrong, "context is null");
}

TEST(Context, RefusesWrongCounts) {
  Gather G;
  fathom_context *C = G.Context.get();
  expectError(fathom_context_run(C, G.Inputs, 1, &G.Output, 1), Wrong, "got 1 inputs, the model has 2");
  expectError(fathom_context_run(C, G.Inputs, 2, &G.Output, 0), Wrong, "got 0 outputs, the model has 1");
  expectError(fathom_context_run(C, nullptr, 2, &G.Output, 1), Wrong, "inputs is null");
  expectError(fathom_context_run(C, G.Inputs, 2, nullptr, 1), Wrong, "outputs is null");
}

TEST(Context, RefusesWrongTypesAndRanks) {
  Gather G;
  G.Inputs[0].dtype = FATHOM_I32;
  expectError(G.run(), Wrong, "input 'ids': got int32, compiled for int64");
  G.Inputs[0].dtype = 99;
  expectError(G.run(), Wrong, "input 'ids': got data type 99, compiled for int64");
  G.Inputs[0].dtype = FATHOM_I64;
  G.Inputs[1].rank = 3;
  expectError(G.run(), FATHOM_ERROR_SHAPE, "input 'mask': got 3 dimensions, compiled for 2");
  G.Inputs[1].rank = 2;
  G.Inputs[1].dims = nullptr;
  expectError(G.run(), Wrong, "input 'mask': dims is null");
  G.Inputs[1].dims = G.MaskDims.data();
  G.Output.dtype = FATHOM_F64;
  expectError(G.run(), Wrong, "output 'out': got float64, compiled for float32");
  G.Output.dtype = FATHOM_F32;
  G.Output.rank = 0;
  expectError(G.run(), FATHOM_ERROR_SHAPE, "output 'out': got 0 dimensions, compiled for 2");
  G.Output.rank = 2;
  expectOk(G.run());
}

TEST(Context, RefusesWrongDimensions) {
  ScaleAdd Call(2);
  ModelPtr Model = load("scale_add");
  ContextPtr Context = makeContext(Model.get());
  Call.Dims = {2, 5};
  expectError(Call.run(Context), FATHOM_ERROR_SHAPE, "input 'x' dimension 1: got 5, compiled for 3");
  Call.Dims = {4000001, 3};
  expectError(Call.run(Context), FATHOM_ERROR_SHAPE,
              "input 'x' dimension 0 ('batch'): got 4000001, compiled for 0 to 4000000");
  Call.Dims = {-1, 3};
  expectError(Call.run(Context), FATHOM_ERROR_SHAPE, "input 'x' dimension 0 ('batch'): got -1, compiled for 0 to");
  Gather G;
  G.MaskDims = {2, 7};
  expectError(G.run(), FATHOM_ERROR_SHAPE, "input 'mask' dimension 1 ('seq'): got 7, but 'seq' is 5 from input 'ids'");
  G.Dims = {0, 5};
  expectError(G.run(), FATHOM_ERROR_SHAPE, "input 'ids' dimension 0 ('batch'): got 0, compiled for 1 or more");
  G.Dims = {INT64_MIN, 5};
  expectError(G.run(), FATHOM_ERROR_SHAPE, "input 'ids' dimension 0");
}

TEST(Context, RefusesSizesThatOverflow) {
  Gather G;
  G.Dims = G.MaskDims = {int64_t(1) << 40, int64_t(1) << 40};
  expectError(G.run(), FATHOM_ERROR_SHAPE, "input 'ids': its size in bytes overflows");
  G.Dims = G.MaskDims = {INT64_MAX / 8 + 1, 1};
  expectError(G.run(), FATHOM_ERROR_SHAPE, "input 'ids': its size in bytes overflows");
  G.Dims = G.MaskDims = {INT64_MAX / 8, 1};
  expectError(G.run(), Wrong, "input 'ids': the buffer has 80 bytes, 9223372036854775800 are needed");
}

TEST(Context, RefusesWrongBuffers) {
  Gather G;
  G.Inputs[0].bytes = 79;
  expectError(G.run(), Wrong, "input 'ids': the buffer has 79 bytes, 80 are needed");
  G.Inputs[0].bytes = 80;
  G.Inputs[1].data = nullptr;
  expectError(G.run(), Wrong, "input 'mask': data is null");
  G.Inputs[1].data = G.Mask.data();
  G.Output.bytes = 39;
  expectError(G.run(), Wrong, "output 'out': the buffer has 39 bytes, 40 are needed");
  G.Output.bytes = 1000;
  G.Output.data = nullptr;
  expectError(G.run(), Wrong, "output 'out': data is null");
  G.Output.data = reinterpret_cast<char *>(G.Out.data()) + 2;
  expectError(G.run(), Wrong, "output 'out': data is not aligned to 4 bytes");
  G.Output = tensor(G.Out, G.Dims);
  std::vector<int64_t> Other{2, 6};
  G.Output.dims = Other.data();
  expectError(G.run(), FATHOM_ERROR_SHAPE, "output 'out' dimension 1: got 6, the model gives 5");
  G.Output.dims = nullptr;
  expectOk(G.run());
  EXPECT_EQ(G.Out[9], 81);
}

TEST(Context, TellsTheKernelOfAFault) {
  Gather G;
  G.Dims = G.MaskDims = {1000, 1};
  G.Ids.assign(1000, 3);
  G.Mask.assign(1000, 1);
  G.Out.assign(1000, 0);
  G.Inputs[0] = tensor(G.Ids, G.Dims);
  G.Inputs[1] = tensor(G.Mask, G.Dims);
  G.Output = tensor(G.Out, G.Dims);
  expectOk(G.run());
  for (size_t I = 700; I < 1000; I += 3)
    G.Ids[I] = -1;
  for (int Repeat = 0; Repeat < 50; ++Repeat)
    expectError(G.run(), FATHOM_ERROR_INDEX, "in kernel 'gather_0' of nodes 'Gather_7,Where_8')", "Gather_7,Where_8");
  G.Ids.assign(1000, 2);
  expectOk(G.run());
}

TEST(Context, TellsTheFaultsOfArtifacts) {
  std::vector<float> X{1, 2, 3}, Y(3);
  const std::vector<int64_t> Dims{3};
  auto Expect = [&](const char *Name, fathom_code Code, const char *Text) {
    ModelPtr Model = load(Name);
    expectError(run(makeContext(Model.get(), 2), {tensor(X, Dims)}, {tensor(Y, Dims)}), Code, Text);
  };
  Expect("plan_fault", FATHOM_ERROR_SHAPE, "a computed size is negative, overflows or disagrees");
  Expect("memory_fault", FATHOM_ERROR_MEMORY, "no memory for a tensor");
  Expect("unknown_fault", FATHOM_ERROR_INTERNAL, "does not know (fault 99)");
  Expect("negative_arena", FATHOM_ERROR_INTERNAL, "planned an arena of -1 bytes");
  Expect("huge_arena", FATHOM_ERROR_MEMORY, "no memory for the arena (9223372036854775552 bytes)");
  Expect("wrong_plan", FATHOM_ERROR_INTERNAL, "output 'y' dimension 0: planned as 4, compiled as 3");
  Expect("negative_tasks", FATHOM_ERROR_SHAPE, "a computed size is negative");
}

TEST(Context, TellsOutputDimsAndArena) {
  ModelPtr Model = load("scale_add");
  ContextPtr Context = makeContext(Model.get());
  const int64_t Dims[2] = {17, 3}, Wrongs[2] = {17, 4};
  const int64_t *Inputs[2] = {Dims, Dims}, *Bad[2] = {Dims, Wrongs}, *Missing[2] = {Dims, nullptr};
  int64_t Z[2] = {0, 0}, *Outputs[2] = {Z, nullptr}, *NoOutputs[2] = {nullptr, nullptr};
  expectOk(fathom_context_output_dims(Context.get(), Inputs, Outputs));
  EXPECT_EQ(Z[0], 17);
  EXPECT_EQ(Z[1], 3);
  size_t Bytes = 0;
  expectOk(fathom_context_arena_bytes(Context.get(), Inputs, &Bytes));
  EXPECT_EQ(Bytes, 17u * 12);
  expectError(fathom_context_output_dims(Context.get(), Bad, Outputs), FATHOM_ERROR_SHAPE,
              "input 'y' dimension 1: got 4, compiled for 3");
  expectError(fathom_context_output_dims(Context.get(), Missing, Outputs), Wrong, "dimensions of input 'y' are null");
  expectError(fathom_context_output_dims(Context.get(), nullptr, Outputs), Wrong, "input_dims is null");
  expectError(fathom_context_output_dims(Context.get(), Inputs, nullptr), Wrong, "output_dims is null");
  expectError(fathom_context_output_dims(Context.get(), Inputs, NoOutputs), Wrong, "an entry of output_dims is null");
  expectError(fathom_context_arena_bytes(Context.get(), Inputs, nullptr), Wrong, "bytes is null");
}
