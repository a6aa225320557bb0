// A fake artifact that launches one kernel of three tasks three times, as a loop would, and tells in which order they
// ran.
#include "abi.h"

struct Order {
  float *Tasks;
  int64_t Count;
};

static int32_t note(const void *Argument, int64_t First, int64_t Last, int64_t Before, void *Scratch) {
  (void)Before, (void)Scratch;
  struct Order *Order = (struct Order *)Argument;
  for (int64_t Task = First; Task < Last; ++Task)
    Order->Tasks[Order->Count++] = (float)Task;
  return 0;
}

static int32_t plan(const int64_t *Symbols, int64_t *Sizes) {
  (void)Symbols;
  Sizes[0] = 0;
  Sizes[1] = 9;
  return 0;
}

static int32_t run(const fathom_call *Call) {
  struct Order Order = {Call->outputs[0], 0};
  int32_t Fault = 0;
  for (int Launch = 0; Launch < 3 && !Fault; ++Launch)
    Fault = Call->services->launch(Call->host, 0, note, &Order, 3);
  return Fault;
}

static const int64_t Dims[1] = {9};
static const fathom_abi_tensor Outputs[1] = {{"order", FATHOM_ABI_F32, 1, Dims, FATHOM_ABI_SPACE_HOST}};
static const fathom_abi_kernel Kernels[1] = {{"note_0", "Loop_0"}};

__attribute__((visibility("default"))) const fathom_artifact Artifact __asm__(FATHOM_ARTIFACT_SYMBOL) = {
    .magic = FATHOM_ABI_MAGIC,
    .abi_version = FATHOM_ABI_VERSION,
    .output_count = 1,
    .kernel_count = 1,
    .outputs = Outputs,
    .kernels = Kernels,
    .manifest = "again",
    .plan = plan,
    .run = run,
};
