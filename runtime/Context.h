// A context: the arena, scratch and workers of runs of one model, one run at a time.
#ifndef FATHOM_RUNTIME_CONTEXT_H
#define FATHOM_RUNTIME_CONTEXT_H

#include "Allocator.h"
#include "Heap.h"
#include "Memory.h"
#include "Model.h"
#include "ThreadPool.h"
#include "abi.h"

#include <utility>

namespace fathom {
class DeviceContext;
}

struct fathom_context {
  [[nodiscard]] fathom_status *init(fathom_model *SharedModel, const fathom_context_options &Options);

  // Sets Symbols from the dimensions of every input, then Sizes from Symbols.
  [[nodiscard]] fathom_status *bind(const int64_t *const *Dims);
  [[nodiscard]] fathom_status *plan();

  [[nodiscard]] fathom_status *run(const fathom_tensor *Inputs, const fathom_tensor *Given);
  // Runs the artifact's code on the CPU's threads.
  [[nodiscard]] fathom_status *runHere(int32_t &Code);
  [[nodiscard]] fathom_status *checkInputs(const fathom_tensor *Inputs);
  [[nodiscard]] fathom_status *checkOutputs();
  [[nodiscard]] fathom_status *checkOverlaps(const fathom_tensor *Inputs) const;
  [[nodiscard]] fathom_status *describeFault(int32_t Code) const;
  // Strings: numbers in the place of an input's texts, room for an output's numbers, and texts in their place.
  [[nodiscard]] fathom_status *numberInput(uint32_t Index, const fathom_tensor &Input);
  [[nodiscard]] fathom_status *placeNumbers(uint32_t Index);
  [[nodiscard]] fathom_status *spellOutput(uint32_t Index);

  // What plan() tells: the arena's bytes, then the dimensions of all outputs, one after another.
  size_t arenaBytes() const { return size_t(Sizes[0]); }
  int64_t *outputDims() { return Sizes.data() + 1; }
  int64_t *outputDims(int32_t Index);
  [[nodiscard]] void *placeOutput(int32_t Index, const int64_t *Dims, int64_t Bytes);
  ~fathom_context();
  // For the artifact's code.
  static const fathom_services *services();

  fathom_model *Model = nullptr;
  std::atomic<bool> Busy{false};

  // Filled anew at each run; kept here so that a run allocates nothing.
  fathom::Array<int64_t> Symbols, Sizes;
  fathom::Array<const int64_t *> InputDims;
  fathom::Array<const void *> InputData;
  fathom::Array<void *> OutputData;
  const fathom_tensor *Outputs = nullptr; // the caller's, during a run
  // What the last run gave for outputs whose dimensions data decides (the others' are planned).
  fathom::Array<fathom::Buffer *> OwnOutputs;

  // Of string inputs and then outputs: their numbers. What inputs have and the model does not know has numbers behind
  // those that it does.
  fathom::Array<fathom::Buffer *> Numbers;
  fathom::Array<void *> SpelledOutputs; // where an output's texts go
  fathom::StringNumbers RunStrings;

  // By kernel: whether its next launch in this run begins with the last tasks. One that a loop launches again begins
  // with the data that it has seen last, and finds it in the caches: weights of a recurrent layer, for example.
  fathom::Array<bool> Backwards;
  bool takeTurn(int32_t Kernel) {
    return uint32_t(Kernel) < Backwards.size() && std::exchange(Backwards[size_t(Kernel)], !Backwards[size_t(Kernel)]);
  }

  // The user's function that may end a run, and when it is asked next.
  int32_t (*Interrupted)(void *User) = nullptr;
  void *InterruptedUser = nullptr;
  int64_t NextQuestion = 0;
  [[nodiscard]] bool isInterrupted();

  bool Profiling = false, ProfilingParts = false;
  int64_t RunStart = 0;
  fathom::Array<fathom_profile_entry> Profile;
  fathom::Array<fathom_profile_part> Parts;
  [[nodiscard]] bool addToProfile(int32_t Kernel, int64_t Start, int64_t Tasks);

  // The fault of a launch in this run and where it happened, for the message.
  fathom::Fault LaunchFault;
  int32_t FaultKernel = -1;
  const char *FaultNodes = nullptr;     // where the host code refused, and not a kernel
  fathom_status *OutputFault = nullptr; // why an output has no room

  fathom::DeviceContext *OnDevice = nullptr; // null where kernels run on the CPU

  fathom::Buffer Arena, Scratch;
  fathom::Heap Tensors;
  fathom::ThreadPool Pool; // last, so that the workers end before the memory they use
};

#endif
