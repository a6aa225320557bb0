// A fake artifact without weights, which the runtime makes from a seed; it copies them to its output.
#include "abi.h"

// Neither a whole number of draws nor of blocks, and more than two blocks.
enum { Count = 700001 };

static int32_t plan(const int64_t *Symbols, int64_t *Sizes) {
  (void)Symbols;
  Sizes[0] = 0;
  Sizes[1] = Count;
  return 0;
}

static int32_t run(const fathom_call *Call) {
  volatile float *Out = Call->outputs[0];
  for (int I = 0; I < Count; ++I)
    Out[I] = ((const float *)Call->weights)[I];
  return 0;
}

static const int64_t Dims[1] = {Count};
static const fathom_abi_tensor Outputs[1] = {{"w", FATHOM_ABI_F32, 1, Dims, FATHOM_ABI_SPACE_HOST}};

__attribute__((visibility("default"))) const fathom_artifact Artifact __asm__(FATHOM_ARTIFACT_SYMBOL) = {
    .magic = FATHOM_ABI_MAGIC,
    .abi_version = FATHOM_ABI_VERSION,
    .output_count = 1,
    .outputs = Outputs,
    .manifest = "{}",
    .weights_size = Count * 4,
    .weights_seed = 1234,
    .weights_seeded = 1,
    .plan = plan,
    .run = run,
};
