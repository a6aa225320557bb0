// Checks the table that an artifact exports. Artifacts come from our compiler, so these are its bugs or a damaged file;
// finding them here lets the rest of the runtime trust the table.
#include "ArtifactFile.h"
#include "DType.h"
#include "Memory.h"
#include "Status.h"

using namespace fathom;

namespace {

// Far above any model's, and small enough that sums of ranks cannot overflow.
constexpr uint32_t MaxCount = 1 << 24;
constexpr int32_t MaxRank = 64;

fathom_status *broken(const char *Path, const char *What) {
  return makeStatus(FATHOM_ERROR_FORMAT, "'%s' has a broken table: %s", Path, What);
}

// What wants memory that is not there, or other memory than the arena; `Name` says which it is, or is empty.
fathom_status *checkSpace(const char *Path, const char *Kind, const char *Name, int32_t Space, int32_t Arena) {
  if (Space == Arena && Space >= FATHOM_ABI_SPACE_HOST && Space <= FATHOM_ABI_SPACE_OPENCL)
    return nullptr;
  return makeStatus(FATHOM_ERROR_FORMAT,
                    "'%s' needs %s%s%s%s in memory space %d, and this runtime has one of the spaces %d to %d for all "
                    "of a model (its arena's is %d)",
                    Path, Kind, *Name ? " '" : "", Name, *Name ? "'" : "", Space, FATHOM_ABI_SPACE_HOST,
                    FATHOM_ABI_SPACE_OPENCL, Arena);
}

fathom_status *checkDevice(const char *Path, const fathom_artifact &Artifact) {
  if (Artifact.program_count > MaxCount || Artifact.entry_count > MaxCount ||
      (Artifact.program_count && !Artifact.programs) || (Artifact.entry_count && !Artifact.entries))
    return broken(Path, "its device's kernels are missing or too many");
  int32_t Kind = Artifact.arena_space == FATHOM_ABI_SPACE_OPENCL ? FATHOM_ABI_PROGRAM_OPENCL_C : FATHOM_ABI_PROGRAM_PTX;
  for (uint32_t I = 0; I < Artifact.program_count; ++I) {
    const fathom_abi_program &Program = Artifact.programs[I];
    bool IsKind = Program.kind == Kind || (Kind == FATHOM_ABI_PROGRAM_PTX && Program.kind == FATHOM_ABI_PROGRAM_CUBIN);
    if (!Program.data || Program.size < 0 || !IsKind)
      return broken(Path, "a device's program is missing or of another kind");
  }
  for (uint32_t I = 0; I < Artifact.entry_count; ++I) {
    const fathom_abi_entry &Entry = Artifact.entries[I];
    bool IsSound = Entry.name && Entry.program >= 0 && uint32_t(Entry.program) < Artifact.program_count &&
                   Entry.group_items > 0 && Entry.pointers >= 0 && Entry.pointers < int32_t(MaxCount) &&
                   Entry.symbols >= 0 && Entry.symbols < int32_t(MaxCount) && Entry.group_scratch >= 0;
    if (!IsSound)
      return broken(Path, "a device's kernel has no name, program or sound sizes");
  }
  return nullptr;
}

fathom_status *checkTensor(const char *Path, const char *Kind, const fathom_abi_tensor &Tensor, int64_t LeastDim,
                           int32_t Arena) {
  if (!Tensor.name || Tensor.rank < 0 || Tensor.rank > MaxRank || (Tensor.rank && !Tensor.dims))
    return makeStatus(FATHOM_ERROR_FORMAT, "'%s' has a broken table: an %s has no name or no sound rank", Path, Kind);
  if (!findDType(Tensor.dtype))
    return makeStatus(FATHOM_ERROR_FORMAT, "'%s' has data type %d for %s '%s', which this runtime cannot pass", Path,
                      Tensor.dtype, Kind, Tensor.name);
  for (int32_t D = 0; D < Tensor.rank; ++D)
    if (Tensor.dims[D] < LeastDim)
      return makeStatus(FATHOM_ERROR_FORMAT, "'%s' has a broken table: %s '%s' dimension %d is %lld", Path, Kind,
                        Tensor.name, D, static_cast<long long>(Tensor.dims[D]));
  return checkSpace(Path, Kind, Tensor.name, Tensor.space, Arena);
}

// Symbols get their values from inputs alone, so each must be a dimension of one.
fathom_status *checkSymbols(const char *Path, const fathom_artifact &Artifact) {
  Array<bool> Bound;
  if (!Bound.allocate(Artifact.symbol_count))
    return outOfMemory("the symbols", Artifact.symbol_count);
  for (uint32_t I = 0; I < Artifact.input_count; ++I)
    for (int32_t D = 0; D < Artifact.inputs[I].rank; ++D)
      if (int64_t Dim = Artifact.inputs[I].dims[D]; Dim < 0)
        Bound[size_t(-(Dim + 1))] = true;
  for (uint32_t I = 0; I < Artifact.symbol_count; ++I) {
    const fathom_abi_symbol &Symbol = Artifact.symbols[I];
    if (!Symbol.name || Symbol.min < 0 || Symbol.max < Symbol.min)
      return broken(Path, "a symbol has no name or no sound range");
    if (!Bound[I])
      return makeStatus(FATHOM_ERROR_FORMAT, "'%s' has a broken table: symbol '%s' is no input's dimension", Path,
                        Symbol.name);
  }
  return nullptr;
}

} // namespace

fathom_status *fathom::checkTable(const char *Path, const fathom_artifact &Artifact) {
  const uint32_t Counts[] = {Artifact.input_count, Artifact.output_count, Artifact.symbol_count, Artifact.kernel_count,
                             Artifact.feature_count};
  const void *const Lists[] = {Artifact.inputs, Artifact.outputs, Artifact.symbols, Artifact.kernels,
                               Artifact.features};
  for (size_t I = 0; I < sizeof(Counts) / sizeof(Counts[0]); ++I)
    if (Counts[I] > MaxCount || (Counts[I] && !Lists[I]))
      return broken(Path, "a list is missing or too long");
  if (!Artifact.plan || !Artifact.run || !Artifact.manifest)
    return broken(Path, "it has no plan, run or manifest");
  if (Artifact.weights_size < 0 || Artifact.scratch_size < 0)
    return broken(Path, "a size is negative");
  if (Artifact.weights_kept < 0 || Artifact.weights_kept > Artifact.weights_size ||
      (Artifact.weights_kept > 0 && !Artifact.weights))
    return broken(Path, "the weights it keeps are missing or too many");
  if (Artifact.weights_size > 0 && !Artifact.weights && !Artifact.weights_seeded)
    return broken(Path, "its weights are missing");

  if (Artifact.string_count < 0 || Artifact.string_count > MaxCount || (Artifact.string_count && !Artifact.strings))
    return broken(Path, "its strings are missing or too many");
  for (int64_t I = 0; I < Artifact.string_count; ++I)
    if (!Artifact.strings[I].text || Artifact.strings[I].size < 0)
      return broken(Path, "a string has no text");
  if (fathom_status *Status = checkSpace(Path, "its arena", "", Artifact.arena_space, Artifact.arena_space))
    return Status;
  for (uint32_t I = 0; I < Artifact.input_count; ++I)
    if (fathom_status *Status =
            checkTensor(Path, "input", Artifact.inputs[I], -int64_t(Artifact.symbol_count), Artifact.arena_space))
      return Status;
  for (uint32_t I = 0; I < Artifact.output_count; ++I)
    if (fathom_status *Status = checkTensor(Path, "output", Artifact.outputs[I], -2, Artifact.arena_space))
      return Status;
  for (uint32_t I = 0; Artifact.aliases && I < Artifact.output_count; ++I)
    if (Artifact.aliases[I] < -1 || Artifact.aliases[I] >= int64_t(Artifact.input_count))
      return broken(Path, "an output may be the memory of an input that is not there");
  for (uint32_t I = 0; I < Artifact.kernel_count; ++I)
    if (!Artifact.kernels[I].name || !Artifact.kernels[I].nodes)
      return broken(Path, "a kernel has no name");
  for (uint32_t I = 0; I < Artifact.feature_count; ++I)
    if (!Artifact.features[I])
      return broken(Path, "a CPU feature has no name");
  if (fathom_status *Status = checkSpace(Path, "its weights", "", Artifact.weights_space, Artifact.arena_space))
    return Status;
  if (fathom_status *Status = checkDevice(Path, Artifact))
    return Status;
  return checkSymbols(Path, Artifact);
}
