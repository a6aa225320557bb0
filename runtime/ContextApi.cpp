// The API's functions on contexts: the checks that need no artifact, then the context's own code.
#include "Context.h"
#include "Shapes.h"
#include "Status.h"

#include <cstddef>
#include <cstring>

using namespace fathom;

namespace {

// Holds the context for one call; a second caller at the same time is told instead of corrupting the first one's run.
class Use {
public:
  explicit Use(fathom_context &Context) : Busy(Context.Busy), Mine(!Busy.exchange(true)) {}
  ~Use() {
    if (Mine)
      Busy.store(false);
  }
  Use(const Use &) = delete;
  Use &operator=(const Use &) = delete;

  fathom_status *refused() const {
    return Mine ? nullptr
                : makeStatus(FATHOM_ERROR_INVALID_ARGUMENT,
                             "the context is in use by another thread: give each thread its own");
  }

private:
  std::atomic<bool> &Busy;
  bool Mine;
};

void dispose(fathom_context *Context) {
  fathom_model *Model = Context->Model;
  destroy(Context);
  // After the workers have ended, which may still be on their way out of the artifact's code.
  fathom_model_free(Model);
}

fathom_status *planFor(fathom_context &Context, const char *Function, const int64_t *const *InputDims) {
  const fathom_artifact &Artifact = *Context.Model->Artifact;
  if (!InputDims && Artifact.input_count)
    return isNull(Function, "input_dims");
  for (uint32_t I = 0; I < Artifact.input_count; ++I)
    if (!InputDims[I] && Artifact.inputs[I].rank)
      return makeStatus(FATHOM_ERROR_INVALID_ARGUMENT, "%s: the dimensions of input '%s' are null", Function,
                        Artifact.inputs[I].name);
  if (fathom_status *Status = Context.bind(InputDims))
    return Status;
  return Context.plan();
}

fathom_status *checkCount(const char *What, size_t Given, size_t Expected, const void *Tensors) {
  if (Given != Expected)
    return makeStatus(FATHOM_ERROR_INVALID_ARGUMENT, "got %zu %ss, the model has %zu", Given, What, Expected);
  if (Expected && !Tensors)
    return makeStatus(FATHOM_ERROR_INVALID_ARGUMENT, "fathom_context_run: %ss is null", What);
  return nullptr;
}

} // namespace

fathom_status *fathom_context_create(fathom_model *model, const fathom_context_options *options,
                                     fathom_context **context) {
  if (!model || !context)
    return isNull("fathom_context_create", model ? "context" : "model");
  *context = nullptr;
  fathom_context_options Options = FATHOM_CONTEXT_OPTIONS_INIT;
  if (options) {
    // Programs that were built before the last fields came have none of them.
    bool IsOlder = options->struct_size == offsetof(fathom_context_options, interrupted) ||
                   options->struct_size == offsetof(fathom_context_options, device) ||
                   options->struct_size == offsetof(fathom_context_options, device_stream);
    if (!IsOlder && options->struct_size != sizeof(Options))
      return makeStatus(FATHOM_ERROR_INVALID_ARGUMENT,
                        "options.struct_size is %zu and not %zu: start from FATHOM_CONTEXT_OPTIONS_INIT",
                        options->struct_size, sizeof(Options));
    memcpy(&Options, options, options->struct_size);
  }
  if (!Options.allocate != !Options.deallocate)
    return makeStatus(FATHOM_ERROR_INVALID_ARGUMENT, "options: allocate and deallocate go together");

  auto *Created = create<fathom_context>();
  if (!Created)
    return outOfMemory("the context", sizeof(fathom_context));
  if (fathom_status *Status = Created->init(model, Options)) {
    dispose(Created);
    return Status;
  }
  *context = Created;
  return nullptr;
}

void fathom_context_free(fathom_context *context) {
  if (context)
    dispose(context);
}

int32_t fathom_context_threads(const fathom_context *context) { return context ? context->Pool.threads() : 0; }

fathom_status *fathom_context_output_dims(fathom_context *context, const int64_t *const *input_dims,
                                          int64_t *const *output_dims) {
  if (!context)
    return isNull("fathom_context_output_dims", "context");
  Use InUse(*context);
  if (fathom_status *Status = InUse.refused())
    return Status;
  const fathom_artifact &Artifact = *context->Model->Artifact;
  if (!output_dims && Artifact.output_count)
    return isNull("fathom_context_output_dims", "output_dims");
  if (fathom_status *Status = planFor(*context, "fathom_context_output_dims", input_dims))
    return Status;
  const int64_t *Dims = context->outputDims();
  for (uint32_t I = 0; I < Artifact.output_count; ++I) {
    if (!output_dims[I] && Artifact.outputs[I].rank)
      return isNull("fathom_context_output_dims", "an entry of output_dims");
    for (int32_t D = 0; D < Artifact.outputs[I].rank; ++D)
      output_dims[I][D] = *Dims++;
  }
  return nullptr;
}

fathom_status *fathom_context_arena_bytes(fathom_context *context, const int64_t *const *input_dims, size_t *bytes) {
  if (!context || !bytes)
    return isNull("fathom_context_arena_bytes", context ? "bytes" : "context");
  Use InUse(*context);
  if (fathom_status *Status = InUse.refused())
    return Status;
  if (fathom_status *Status = planFor(*context, "fathom_context_arena_bytes", input_dims))
    return Status;
  *bytes = context->arenaBytes();
  return nullptr;
}

fathom_status *fathom_context_run(fathom_context *context, const fathom_tensor *inputs, size_t input_count,
                                  const fathom_tensor *outputs, size_t output_count) {
  if (!context)
    return isNull("fathom_context_run", "context");
  Use InUse(*context);
  if (fathom_status *Status = InUse.refused())
    return Status;
  const fathom_artifact &Artifact = *context->Model->Artifact;
  if (fathom_status *Status = checkCount("input", input_count, Artifact.input_count, inputs))
    return Status;
  if (fathom_status *Status = checkCount("output", output_count, Artifact.output_count, outputs))
    return Status;
  return context->run(inputs, outputs);
}

fathom_status *fathom_context_output(fathom_context *context, size_t index, fathom_tensor *output) {
  if (!context || !output)
    return isNull("fathom_context_output", context ? "output" : "context");
  Use InUse(*context);
  if (fathom_status *Status = InUse.refused())
    return Status;
  const fathom_artifact &Artifact = *context->Model->Artifact;
  if (index >= Artifact.output_count)
    return makeStatus(FATHOM_ERROR_INVALID_ARGUMENT, "fathom_context_output: index %zu, and the model has %u outputs",
                      index, Artifact.output_count);
  const fathom_abi_tensor &Info = Artifact.outputs[index];
  const int64_t *Dims = context->outputDims(int32_t(index));
  size_t Bytes = 0;
  if (!tensorBytes(Info.dtype, Info.rank, Dims, Bytes))
    Bytes = 0;
  *output = {context->OutputData[index], Info.dtype, Info.rank, Dims, Bytes};
  return nullptr;
}

void fathom_context_set_profiling(fathom_context *context, int32_t level) {
  if (!context)
    return;
  context->Profiling = level != 0;
  context->ProfilingParts = level > 1;
  context->Pool.timeParts(level > 1);
}

size_t fathom_context_profile_count(const fathom_context *context) { return context ? context->Profile.size() : 0; }

fathom_status *fathom_context_profile(const fathom_context *context, size_t index, fathom_profile_entry *entry) {
  if (!context || !entry)
    return isNull("fathom_context_profile", context ? "entry" : "context");
  if (index >= context->Profile.size())
    return makeStatus(FATHOM_ERROR_INVALID_ARGUMENT, "fathom_context_profile: index %zu, and the last run has %zu",
                      index, context->Profile.size());
  *entry = context->Profile[index];
  return nullptr;
}

size_t fathom_context_profile_part_count(const fathom_context *context) { return context ? context->Parts.size() : 0; }

fathom_status *fathom_context_profile_part(const fathom_context *context, size_t index, fathom_profile_part *part) {
  if (!context || !part)
    return isNull("fathom_context_profile_part", context ? "part" : "context");
  if (index >= context->Parts.size())
    return makeStatus(FATHOM_ERROR_INVALID_ARGUMENT, "fathom_context_profile_part: index %zu, and the last run has %zu",
                      index, context->Parts.size());
  *part = context->Parts[index];
  return nullptr;
}
