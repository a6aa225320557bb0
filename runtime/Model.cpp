// Loading a model and answering questions about it.
#include "Model.h"

#include "ArtifactFile.h"
#include "SeededWeights.h"
#include "Status.h"
#include "device/DeviceModel.h"

using namespace fathom;

fathom_model::~fathom_model() {
  leaveDevices(*this);
  if (SeededWeights)
    freeSeededWeights(SeededWeights, size_t(Artifact->weights_size));
  if (Handle)
    closeArtifact(Handle);
}

fathom_status *fathom_model::load(const char *Path) {
  bool IsSealed;
  if (fathom_status *Status = checkArtifactFile(Path, IsSealed))
    return Status;
  if (fathom_status *Status = openArtifact(Path, &Handle, &Artifact))
    return Status;
  if ((Artifact->flags & FATHOM_ABI_CHECKED) && !IsSealed)
    return notSealed(Path);
  if (fathom_status *Status = checkTable(Path, *Artifact))
    return Status;
  if (fathom_status *Status = takeVariant(Path, &Artifact, &Variant))
    return Status;
  if (fathom_status *Status = describeTensors())
    return Status;
  if (fathom_status *Status = numberStrings())
    return Status;
  Weights = Artifact->weights;
  if (!Artifact->weights_seeded)
    return nullptr;
  fathom_status *Status = makeSeededWeights(Artifact->weights_seed, size_t(Artifact->weights_size), Artifact->weights,
                                            size_t(Artifact->weights_kept), &SeededWeights);
  Weights = SeededWeights;
  return Status;
}

fathom_status *fathom_model::describeTensors() {
  size_t Ranks = 0;
  for (uint32_t I = 0; I < Artifact->input_count; ++I)
    Ranks += size_t(Artifact->inputs[I].rank);
  for (uint32_t I = 0; I < Artifact->output_count; ++I)
    OutputRanks += size_t(Artifact->outputs[I].rank);
  Ranks += OutputRanks;
  if (!Inputs.allocate(Artifact->input_count) || !Outputs.allocate(Artifact->output_count) || !Dims.allocate(Ranks) ||
      !Symbols.allocate(Ranks))
    return outOfMemory("the model's description", Ranks * 16);

  size_t At = 0;
  auto Describe = [&](const fathom_abi_tensor &Tensor, bool IsInput) {
    fathom_tensor_info Info = {Tensor.name, Tensor.dtype, Tensor.rank, Dims.data() + At, Symbols.data() + At};
    for (int32_t D = 0; D < Tensor.rank; ++D, ++At) {
      int64_t Dim = Tensor.dims[D];
      Dims[At] = Dim < 0 ? -1 : Dim;
      Symbols[At] = Dim < 0 && IsInput ? Artifact->symbols[-(Dim + 1)].name : nullptr;
    }
    return Info;
  };
  for (uint32_t I = 0; I < Artifact->input_count; ++I)
    Inputs[I] = Describe(Artifact->inputs[I], true);
  for (uint32_t I = 0; I < Artifact->output_count; ++I)
    Outputs[I] = Describe(Artifact->outputs[I], false);
  return nullptr;
}

fathom_status *fathom_model::numberStrings() {
  for (int64_t I = 0; I < Artifact->string_count; ++I)
    if (Strings.add({Artifact->strings[I].text, size_t(Artifact->strings[I].size)}) != I)
      return outOfMemory("the model's strings", size_t(Artifact->string_count) * sizeof(fathom_string));
  return nullptr;
}

fathom_status *fathom_model_load(const char *path, fathom_model **model) {
  if (!path || !model)
    return makeStatus(FATHOM_ERROR_INVALID_ARGUMENT, "fathom_model_load: %s is null", path ? "model" : "path");
  *model = nullptr;
  fathom_model *Loaded = create<fathom_model>();
  if (!Loaded)
    return outOfMemory("the model", sizeof(fathom_model));
  if (fathom_status *Status = Loaded->load(path)) {
    destroy(Loaded);
    return Status;
  }
  *model = Loaded;
  return nullptr;
}

void fathom_model_free(fathom_model *model) {
  if (model && model->References.fetch_sub(1) == 1)
    destroy(model);
}

size_t fathom_model_input_count(const fathom_model *model) { return model ? model->Artifact->input_count : 0; }
size_t fathom_model_output_count(const fathom_model *model) { return model ? model->Artifact->output_count : 0; }
size_t fathom_model_symbol_count(const fathom_model *model) { return model ? model->Artifact->symbol_count : 0; }
size_t fathom_model_kernel_count(const fathom_model *model) { return model ? model->Artifact->kernel_count : 0; }

int32_t fathom_model_output_alias(const fathom_model *model, size_t index) {
  bool IsKnown = model && model->Artifact->aliases && index < model->Artifact->output_count;
  return IsKnown ? model->Artifact->aliases[index] : -1;
}

const char *fathom_model_manifest(const fathom_model *model) { return model ? model->Artifact->manifest : ""; }

const char *fathom_model_variant(const fathom_model *model) { return model ? model->Variant : ""; }

size_t fathom_model_weights_bytes(const fathom_model *model) {
  return model ? size_t(model->Artifact->weights_size) : 0;
}

// What every question by index needs to be answerable.
static fathom_status *checkQuestion(const fathom_model *Model, const void *Info, const char *What, size_t Index,
                                    size_t Count) {
  if (!Model || !Info)
    return makeStatus(FATHOM_ERROR_INVALID_ARGUMENT, "fathom_model_%s: %s is null", What, Model ? "info" : "model");
  if (Index >= Count)
    return makeStatus(FATHOM_ERROR_INVALID_ARGUMENT, "fathom_model_%s: index %zu, and the model has %zu", What, Index,
                      Count);
  return nullptr;
}

fathom_status *fathom_model_input(const fathom_model *model, size_t index, fathom_tensor_info *info) {
  if (fathom_status *Status = checkQuestion(model, info, "input", index, fathom_model_input_count(model)))
    return Status;
  *info = model->Inputs[index];
  return nullptr;
}

fathom_status *fathom_model_output(const fathom_model *model, size_t index, fathom_tensor_info *info) {
  if (fathom_status *Status = checkQuestion(model, info, "output", index, fathom_model_output_count(model)))
    return Status;
  *info = model->Outputs[index];
  return nullptr;
}

fathom_status *fathom_model_symbol(const fathom_model *model, size_t index, fathom_symbol_info *info) {
  if (fathom_status *Status = checkQuestion(model, info, "symbol", index, fathom_model_symbol_count(model)))
    return Status;
  const fathom_abi_symbol &Symbol = model->Artifact->symbols[index];
  *info = {Symbol.name, Symbol.min, Symbol.max};
  return nullptr;
}

fathom_status *fathom_model_kernel(const fathom_model *model, size_t index, fathom_kernel_info *info) {
  if (fathom_status *Status = checkQuestion(model, info, "kernel", index, fathom_model_kernel_count(model)))
    return Status;
  const fathom_abi_kernel &Kernel = model->Artifact->kernels[index];
  *info = {Kernel.name, Kernel.nodes};
  return nullptr;
}
