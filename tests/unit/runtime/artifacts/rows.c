// A fake artifact whose rows do not depend on each other: y[batch, width] is twice the row and its sum, first[batch]
// its first element. A first element below 0 is a fault. With REDUCED, y has one row: the sum of all.
#include "abi.h"

typedef struct Env {
  const float *X;
  float *Y, *First;
  int64_t Batch, Width;
} Env;

#ifdef REDUCED
static int32_t compute(const void *Argument, int64_t First, int64_t Last, int64_t Before, void *Scratch) {
  (void)First, (void)Last, (void)Before, (void)Scratch;
  const Env *E = Argument;
  for (int64_t C = 0; C < E->Width; ++C) {
    float Sum = 0;
    for (int64_t Row = 0; Row < E->Batch; ++Row)
      Sum += E->X[Row * E->Width + C];
    E->Y[C] = Sum;
  }
  for (int64_t Row = 0; Row < E->Batch; ++Row)
    E->First[Row] = E->Width ? E->X[Row * E->Width] : 0;
  return 0;
}
#define TASKS(E) 1
#else
// Two tasks for each row, so that a run of one row goes through the pool too.
static int32_t compute(const void *Argument, int64_t First, int64_t Last, int64_t Before, void *Scratch) {
  (void)Before, (void)Scratch;
  const Env *E = Argument;
  for (int64_t Task = First; Task < Last; ++Task) {
    const float *X = E->X + Task / 2 * E->Width;
    if (Task % 2) {
      E->First[Task / 2] = E->Width ? X[0] : 0;
      continue;
    }
    if (E->Width && X[0] < 0)
      return FATHOM_FAULT_INDEX;
    float Sum = 0;
    for (int64_t C = 0; C < E->Width; ++C)
      Sum += X[C];
    for (int64_t C = 0; C < E->Width; ++C)
      E->Y[Task / 2 * E->Width + C] = 2 * X[C] + Sum;
  }
  return 0;
}
#define TASKS(E) (2 * (E).Batch)
#endif

static int32_t plan(const int64_t *Symbols, int64_t *Sizes) {
  Sizes[0] = 0;
#ifdef REDUCED
  Sizes[1] = 1;
#else
  Sizes[1] = Symbols[0];
#endif
  Sizes[2] = Symbols[1];
  Sizes[3] = Symbols[0];
  return 0;
}

static int32_t run(const fathom_call *Call) {
  Env E = {Call->inputs[0], Call->outputs[0], Call->outputs[1], Call->symbols[0], Call->symbols[1]};
  return Call->services->launch(Call->host, 0, compute, &E, TASKS(E));
}

static const int64_t InputDims[2] = {-1, -2}, OutputDims[2] = {-1, -1};
static const fathom_abi_tensor Inputs[1] = {{"x", FATHOM_ABI_F32, 2, InputDims, FATHOM_ABI_SPACE_HOST}};
static const fathom_abi_tensor Outputs[2] = {{"y", FATHOM_ABI_F32, 2, OutputDims, FATHOM_ABI_SPACE_HOST},
                                             {"first", FATHOM_ABI_F32, 1, OutputDims, FATHOM_ABI_SPACE_HOST}};
static const fathom_abi_symbol Symbols[2] = {{"batch", 0, 64}, {"width", 0, 1000}};
static const fathom_abi_kernel Kernels[1] = {{"rows_0", "Rows_0"}};

__attribute__((visibility("default"))) const fathom_artifact Artifact __asm__(FATHOM_ARTIFACT_SYMBOL) = {
    .magic = FATHOM_ABI_MAGIC,
    .abi_version = FATHOM_ABI_VERSION,
    .input_count = 1,
    .output_count = 2,
    .symbol_count = 2,
    .kernel_count = 1,
    .inputs = Inputs,
    .outputs = Outputs,
    .symbols = Symbols,
    .kernels = Kernels,
    .manifest = "{\"name\": \"rows\"}",
    .scratch_size = 12,
    .plan = plan,
    .run = run,
};
