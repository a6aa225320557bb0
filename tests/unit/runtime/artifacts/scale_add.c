// A fake artifact with a dynamic batch: z = (x + y) * w and the sum of z, in three kernels by way of the arena.
#include "abi.h"

static const float Weights[3] = {1.0f, 2.0f, -0.5f};

typedef struct Env {
  const float *X, *Y, *W;
  float *Sums, *Z, *Total;
  int64_t Batch;
} Env;

static int32_t add(const void *Argument, int64_t First, int64_t Last, int64_t Before, void *Scratch) {
  (void)Before;
  const Env *E = Argument;
  // By way of the scratch, so that a scratch shared between workers would show.
  volatile float *Private = Scratch;
  for (int64_t Row = First; Row < Last; ++Row) {
    for (int C = 0; C < 3; ++C)
      Private[C] = E->X[Row * 3 + C] + E->Y[Row * 3 + C];
    for (int C = 0; C < 3; ++C)
      E->Sums[Row * 3 + C] = Private[C];
  }
  return 0;
}

static int32_t scale(const void *Argument, int64_t First, int64_t Last, int64_t Before, void *Scratch) {
  (void)Before, (void)Scratch;
  const Env *E = Argument;
  for (int64_t I = First * 3; I < Last * 3; ++I)
    E->Z[I] = E->Sums[I] * E->W[I % 3];
  return 0;
}

static int32_t total(const void *Argument, int64_t First, int64_t Last, int64_t Before, void *Scratch) {
  (void)First, (void)Last, (void)Before, (void)Scratch;
  const Env *E = Argument;
  float Sum = 0;
  for (int64_t I = 0; I < E->Batch * 3; ++I)
    Sum += E->Z[I];
  *E->Total = Sum;
  return 0;
}

static int32_t plan(const int64_t *Symbols, int64_t *Sizes) {
  Sizes[0] = Symbols[0] * 3 * 4;
  Sizes[1] = Symbols[0];
  Sizes[2] = 3;
  return 0;
}

static int32_t run(const fathom_call *Call) {
  Env E = {Call->inputs[0],  Call->inputs[1], (const float *)Call->weights, (float *)Call->arena, Call->outputs[0],
           Call->outputs[1], Call->symbols[0]};
  int32_t Fault = Call->services->launch(Call->host, 0, add, &E, E.Batch);
  if (!Fault)
    Fault = Call->services->launch(Call->host, 1, scale, &E, E.Batch);
  if (!Fault)
    Fault = Call->services->launch(Call->host, 2, total, &E, 1);
  return Fault;
}

static const int64_t InputDims[2] = {-1, 3}, OutputDims[2] = {-1, 3};
static const fathom_abi_tensor Inputs[2] = {{"x", FATHOM_ABI_F32, 2, InputDims, FATHOM_ABI_SPACE_HOST},
                                            {"y", FATHOM_ABI_F32, 2, InputDims, FATHOM_ABI_SPACE_HOST}};
static const fathom_abi_tensor Outputs[2] = {{"z", FATHOM_ABI_F32, 2, OutputDims, FATHOM_ABI_SPACE_HOST},
                                             {"total", FATHOM_ABI_F32, 0, 0, FATHOM_ABI_SPACE_HOST}};
static const fathom_abi_symbol Symbols[1] = {{"batch", 0, 4000000}};
static const fathom_abi_kernel Kernels[3] = {
    {"add_0", "Add_0"}, {"scale_1", "Mul_1,Mul_2"}, {"total_2", "ReduceSum_3"}};

__attribute__((visibility("default"))) const fathom_artifact Artifact __asm__(FATHOM_ARTIFACT_SYMBOL) = {
    .magic = FATHOM_ABI_MAGIC,
    .abi_version = FATHOM_ABI_VERSION,
    .input_count = 2,
    .output_count = 2,
    .symbol_count = 1,
    .kernel_count = 3,
    .inputs = Inputs,
    .outputs = Outputs,
    .symbols = Symbols,
    .kernels = Kernels,
    .manifest = "{\"name\": \"scale_add\"}",
    .weights = (const char *)Weights,
    .weights_size = sizeof(Weights),
    .scratch_size = 12,
    .plan = plan,
    .run = run,
};
