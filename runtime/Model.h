// A loaded artifact and what the API tells about it.
#ifndef FATHOM_RUNTIME_MODEL_H
#define FATHOM_RUNTIME_MODEL_H

#include "Memory.h"
#include "Strings.h"
#include "abi.h"
#include "fathom_rt.h"

#include <atomic>

namespace fathom {
struct DeviceModel;
}

struct fathom_model {
  fathom_model() = default;
  fathom_model(const fathom_model &) = delete;
  fathom_model &operator=(const fathom_model &) = delete;
  ~fathom_model();

  [[nodiscard]] fathom_status *load(const char *Path);

  // The program's own reference and one for each context.
  std::atomic<uint32_t> References{1};
  void *Handle = nullptr;
  const fathom_artifact *Artifact = nullptr;
  const char *Variant = ""; // the CPU whose code was taken, of an artifact for several
  const char *Weights = nullptr;
  char *SeededWeights = nullptr;

  // What fathom_model_input and _output hand out; the dims and symbols they point to lie in the two arrays below.
  fathom::Array<fathom_tensor_info> Inputs, Outputs;
  fathom::Array<int64_t> Dims;
  fathom::Array<const char *> Symbols;
  size_t OutputRanks = 0;                   // of all outputs together
  fathom::StringNumbers Strings;            // that the model knows
  fathom::DeviceModel *OnDevices = nullptr; // of an artifact for devices, those that it was brought to

private:
  [[nodiscard]] fathom_status *describeTensors();
  [[nodiscard]] fathom_status *numberStrings();
};

#endif
