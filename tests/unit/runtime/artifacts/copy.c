// A fake artifact that copies x[3] to y[3]; macros break one thing each, to test what the runtime says to it.
#include "abi.h"

#ifndef MAGIC
#define MAGIC FATHOM_ABI_MAGIC
#endif
#ifndef VERSION
#define VERSION FATHOM_ABI_VERSION
#endif
#ifndef TABLE
#define TABLE FATHOM_ARTIFACT_SYMBOL
#endif
#ifndef MANIFEST
#define MANIFEST "copy"
#endif
#ifndef INPUT_DTYPE
#define INPUT_DTYPE FATHOM_ABI_F32
#endif
#ifndef INPUT_DIM
#define INPUT_DIM 3
#endif
#ifndef INPUT_SPACE
#define INPUT_SPACE FATHOM_ABI_SPACE_HOST
#endif
#ifndef ARENA_SPACE
#define ARENA_SPACE FATHOM_ABI_SPACE_HOST
#endif
#ifndef WEIGHTS_SPACE
#define WEIGHTS_SPACE FATHOM_ABI_SPACE_HOST
#endif
#ifndef SYMBOL_COUNT
#define SYMBOL_COUNT 0
#endif
#ifndef WEIGHTS_SIZE
#define WEIGHTS_SIZE 0
#endif
#ifndef SCRATCH_SIZE
#define SCRATCH_SIZE 0
#endif
#ifndef KERNELS
#define KERNELS Kernels
#endif
#ifndef PLAN_FAULT
#define PLAN_FAULT 0
#endif
#ifndef RUN_FAULT
#define RUN_FAULT 0
#endif
#ifndef ARENA
#define ARENA 0
#endif
#ifndef PLANNED_DIM
#define PLANNED_DIM 3
#endif
#ifndef TASKS
#define TASKS 3
#endif

static int32_t copy(const void *Argument, int64_t First, int64_t Last, int64_t Before, void *Scratch) {
  (void)Before, (void)Scratch;
  const fathom_call *Call = Argument;
  for (int64_t I = First; I < Last; ++I)
    ((float *)Call->outputs[0])[I] = ((const float *)Call->inputs[0])[I];
  return 0;
}

static int32_t plan(const int64_t *Symbols, int64_t *Sizes) {
  (void)Symbols;
  Sizes[0] = ARENA;
  Sizes[1] = PLANNED_DIM;
  return PLAN_FAULT;
}

static int32_t run(const fathom_call *Call) {
  int32_t Fault = Call->services->launch(Call->host, 0, copy, Call, TASKS);
  return Fault ? Fault : RUN_FAULT;
}

static const int64_t InputDims[1] = {INPUT_DIM}, OutputDims[1] = {3};
static const fathom_abi_tensor Inputs[1] = {{"x", INPUT_DTYPE, 1, InputDims, INPUT_SPACE}};
static const fathom_abi_tensor Outputs[1] = {{"y", FATHOM_ABI_F32, 1, OutputDims, FATHOM_ABI_SPACE_HOST}};
static const fathom_abi_symbol Symbols[1] = {{"n", 1, 8}};
__attribute__((unused)) static const fathom_abi_kernel Kernels[1] = {{"copy_0", "Identity_0"}};
#ifdef FEATURES
static const char *const Features[] = {FEATURES};
#endif

#ifdef ALIAS
static const int32_t Aliases[1] = {ALIAS};
#endif

__attribute__((visibility("default"))) const fathom_artifact Artifact __asm__(TABLE) = {
    .magic = MAGIC,
    .abi_version = VERSION,
    .input_count = 1,
    .output_count = 1,
    .symbol_count = SYMBOL_COUNT,
    .kernel_count = 1,
    .inputs = Inputs,
    .outputs = Outputs,
    .symbols = Symbols,
    .kernels = KERNELS,
#ifdef FEATURES
    .feature_count = sizeof(Features) / sizeof(Features[0]),
    .features = Features,
#endif
    .manifest = MANIFEST,
    .weights_size = WEIGHTS_SIZE,
    .scratch_size = SCRATCH_SIZE,
    .plan = plan,
    .run = run,
#ifdef ALIAS
    .aliases = Aliases,
#endif
    .arena_space = ARENA_SPACE,
    .weights_space = WEIGHTS_SPACE,
};
