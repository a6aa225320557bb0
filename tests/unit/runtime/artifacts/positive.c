// A fake artifact whose output's size data decides: the elements of its input that are above 0.
#include "abi.h"

static int32_t plan(const int64_t *Symbols, int64_t *Sizes) {
  (void)Symbols;
  Sizes[0] = 0;
  Sizes[1] = -1;
  return 0;
}

static int32_t run(const fathom_call *Call) {
  const float *X = Call->inputs[0];
  int64_t Count = 0;
  for (int64_t I = 0; I < Call->symbols[0]; ++I)
    Count += X[I] > 0;
  float *Y = Call->services->output(Call->host, 0, &Count, Count * 4);
  if (!Y)
    return FATHOM_FAULT_MEMORY;
  for (int64_t I = 0; I < Call->symbols[0]; ++I)
    if (X[I] > 0)
      *Y++ = X[I];
  return 0;
}

static const int64_t InputDims[1] = {-1}, OutputDims[1] = {-2};
static const fathom_abi_tensor Inputs[1] = {{"x", FATHOM_ABI_F32, 1, InputDims, FATHOM_ABI_SPACE_HOST}};
static const fathom_abi_tensor Outputs[1] = {{"y", FATHOM_ABI_F32, 1, OutputDims, FATHOM_ABI_SPACE_HOST}};
static const fathom_abi_symbol Symbols[1] = {{"n", 0, INT64_MAX}};

__attribute__((visibility("default"))) const fathom_artifact Artifact __asm__(FATHOM_ARTIFACT_SYMBOL) = {
    .magic = FATHOM_ABI_MAGIC,
    .abi_version = FATHOM_ABI_VERSION,
    .input_count = 1,
    .output_count = 1,
    .symbol_count = 1,
    .inputs = Inputs,
    .outputs = Outputs,
    .symbols = Symbols,
    .manifest = "{}",
    .plan = plan,
    .run = run,
};
