// A fake artifact that looks ids up in a table and faults on an id outside of it; two symbols and two inputs share
// them.
#include "abi.h"

static const float Table[10] = {0, 1, 4, 9, 16, 25, 36, 49, 64, 81};

typedef struct Env {
  const int64_t *Ids;
  const uint8_t *Mask;
  const float *Table;
  float *Out;
  int64_t Seq;
} Env;

static int32_t gather(const void *Argument, int64_t First, int64_t Last, int64_t Before, void *Scratch) {
  (void)Before, (void)Scratch;
  const Env *E = Argument;
  for (int64_t I = First * E->Seq; I < Last * E->Seq; ++I) {
    if (E->Ids[I] < 0 || E->Ids[I] >= 10)
      return FATHOM_FAULT_INDEX;
    E->Out[I] = E->Mask[I] ? E->Table[E->Ids[I]] : 0;
  }
  return 0;
}

static int32_t plan(const int64_t *Symbols, int64_t *Sizes) {
  Sizes[0] = 0;
  Sizes[1] = Symbols[0];
  Sizes[2] = Symbols[1];
  return 0;
}

static int32_t run(const fathom_call *Call) {
  Env E = {Call->inputs[0], Call->inputs[1], (const float *)Call->weights, Call->outputs[0], Call->symbols[1]};
  return Call->services->launch(Call->host, 0, gather, &E, Call->symbols[0]);
}

static const int64_t InputDims[2] = {-1, -2}, OutputDims[2] = {-1, -1};
static const fathom_abi_tensor Inputs[2] = {{"ids", FATHOM_ABI_I64, 2, InputDims, FATHOM_ABI_SPACE_HOST},
                                            {"mask", FATHOM_ABI_BOOL, 2, InputDims, FATHOM_ABI_SPACE_HOST}};
static const fathom_abi_tensor Outputs[1] = {{"out", FATHOM_ABI_F32, 2, OutputDims, FATHOM_ABI_SPACE_HOST}};
static const fathom_abi_symbol Symbols[2] = {{"batch", 1, INT64_MAX}, {"seq", 1, INT64_MAX}};
static const fathom_abi_kernel Kernels[1] = {{"gather_0", "Gather_7,Where_8"}};

__attribute__((visibility("default"))) const fathom_artifact Artifact __asm__(FATHOM_ARTIFACT_SYMBOL) = {
    .magic = FATHOM_ABI_MAGIC,
    .abi_version = FATHOM_ABI_VERSION,
    .input_count = 2,
    .output_count = 1,
    .symbol_count = 2,
    .kernel_count = 1,
    .inputs = Inputs,
    .outputs = Outputs,
    .symbols = Symbols,
    .kernels = Kernels,
    .manifest = "{}",
    .weights = (const char *)Table,
    .weights_size = sizeof(Table),
    .plan = plan,
    .run = run,
};
