// Strings at the border of a run: compiled code sees their numbers only.
#include "Context.h"
#include "Shapes.h"
#include "Status.h"

using namespace fathom;

static size_t elementCount(const fathom_abi_tensor &Info, const int64_t *Dims) {
  size_t Bytes = 0;
  // Whether it overflows was checked with the buffer.
  (void)tensorBytes(FATHOM_STRING, Info.rank, Dims, Bytes);
  return Bytes / sizeof(fathom_string);
}

fathom_status *fathom_context::numberInput(uint32_t Index, const fathom_tensor &Input) {
  const fathom_abi_tensor &Info = Model->Artifact->inputs[Index];
  size_t Count = elementCount(Info, Input.dims);
  if (fathom_status *Status = Numbers[Index]->reserve("the numbers of strings", Count ? Count * sizeof(int64_t) : 1))
    return Status;
  auto *To = reinterpret_cast<int64_t *>(Numbers[Index]->data());
  auto *Texts = static_cast<const fathom_string *>(Input.data);
  for (size_t I = 0; I < Count; ++I) {
    if (!Texts[I].data && Texts[I].size)
      return makeStatus(FATHOM_ERROR_INVALID_ARGUMENT, "input '%s': string %zu has no text", Info.name, I);
    int64_t Number = Model->Strings.find(Texts[I]);
    if (Number < 0) {
      Number = RunStrings.find(Texts[I]);
      if (Number < 0)
        Number = RunStrings.add(Texts[I]);
      if (Number < 0)
        return outOfMemory("the strings of a run", RunStrings.size() * sizeof(fathom_string));
      Number += int64_t(Model->Strings.size());
    }
    To[I] = Number;
  }
  InputData[Index] = To;
  return nullptr;
}

fathom_status *fathom_context::placeNumbers(uint32_t Index) {
  size_t Count = elementCount(Model->Artifact->outputs[Index], outputDims(int32_t(Index)));
  Buffer &Room = *Numbers[Model->Artifact->input_count + Index];
  if (fathom_status *Status = Room.reserve("the numbers of strings", Count ? Count * sizeof(int64_t) : 1))
    return Status;
  SpelledOutputs[Index] = OutputData[Index];
  OutputData[Index] = Room.data();
  return nullptr;
}

fathom_status *fathom_context::spellOutput(uint32_t Index) {
  const fathom_abi_tensor &Info = Model->Artifact->outputs[Index];
  size_t Count = elementCount(Info, outputDims(int32_t(Index))), Known = Model->Strings.size();
  auto *From = static_cast<const int64_t *>(OutputData[Index]);
  OutputData[Index] = SpelledOutputs[Index];
  auto *To = static_cast<fathom_string *>(OutputData[Index]);
  for (size_t I = 0; I < Count; ++I) {
    size_t Number = size_t(From[I]);
    if (Number >= Known + RunStrings.size())
      return makeStatus(FATHOM_ERROR_INTERNAL, "output '%s' has string number %lld, and there are %zu", Info.name,
                        static_cast<long long>(From[I]), Known + RunStrings.size());
    To[I] = Number < Known ? Model->Strings[Number] : RunStrings[Number - Known];
  }
  return nullptr;
}
