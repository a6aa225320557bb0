// A fake artifact that knows two strings and turns its input around; an output beyond its input's end is a number that
// nobody has.
#include "abi.h"

static int32_t plan(const int64_t *Symbols, int64_t *Sizes) {
  Sizes[0] = 0;
  Sizes[1] = Symbols[0];
  return 0;
}

static int32_t run(const fathom_call *Call) {
  const int64_t *In = Call->inputs[0];
  int64_t *Out = Call->outputs[0], Count = Call->symbols[0];
  for (int64_t I = 0; I < Count; ++I)
    Out[I] = Count == 7 ? 99 : In[Count - 1 - I];
  return 0;
}

static const int64_t InputDims[1] = {-1}, OutputDims[1] = {-1};
static const fathom_abi_tensor Inputs[1] = {{"in", FATHOM_ABI_STRING, 1, InputDims, FATHOM_ABI_SPACE_HOST}};
static const fathom_abi_tensor Outputs[1] = {{"out", FATHOM_ABI_STRING, 1, OutputDims, FATHOM_ABI_SPACE_HOST}};
static const fathom_abi_symbol Symbols[1] = {{"n", 0, INT64_MAX}};
static const fathom_abi_string Strings[2] = {{"red", 3}, {"a\0b", 3}};

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
    .strings = Strings,
    .string_count = 2,
};
