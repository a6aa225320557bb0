// Requests: the checks that spare a run that others take part in, and room for results.
#include "Request.h"

#include "Queue.h"
#include "Shapes.h"
#include "Status.h"

#include <algorithm>

using namespace fathom;

fathom_status *fathom_request::init(const fathom_model &Model, const fathom_tensor *Given) {
  const fathom_artifact &Artifact = *Model.Artifact;
  size_t Ranks = 0;
  for (uint32_t I = 0; I < Artifact.input_count; ++I)
    Ranks += size_t(Artifact.inputs[I].rank);
  Array<int64_t> Symbols;
  if (!Inputs.allocate(Artifact.input_count) || !InputDims.allocate(Ranks) ||
      !Outputs.allocate(Artifact.output_count) || !OutputDims.allocate(Model.OutputRanks) ||
      !DataSized.allocate(Artifact.output_count) || !Symbols.allocate(Artifact.symbol_count))
    return outOfMemory("the request", sizeof(fathom_request));
  std::fill_n(Symbols.data(), Symbols.size(), Unbound);
  int64_t *Dims = InputDims.data();
  for (uint32_t I = 0; I < Artifact.input_count; ++I) {
    if (fathom_status *Status = checkKind(Role::Input, Artifact.inputs[I], Given[I]))
      return Status;
    if (fathom_status *Status = bindInput(Artifact, I, Given[I].dims, Symbols.data()))
      return Status;
    if (fathom_status *Status = checkBuffer(Role::Input, Artifact.inputs[I], Given[I], Given[I].dims))
      return Status;
    Inputs[I] = Given[I];
    Inputs[I].dims = Dims;
    Dims = std::copy_n(Given[I].dims, Given[I].rank, Dims);
    // Exactly what the tensor has, so that tensors of several requests lie one behind the other.
    if (!tensorBytes(Inputs[I].dtype, Inputs[I].rank, Inputs[I].dims, Inputs[I].bytes))
      return outOfMemory("the request", SIZE_MAX);
  }
  return nullptr;
}

fathom_request::~fathom_request() {
  for (size_t I = 0; I < DataSized.size(); ++I)
    destroy(DataSized[I]);
  fathom_status_free(Failure);
}

bool fathom_request::hasShapeOf(const fathom_request &Other) const {
  for (size_t I = 0; I < Inputs.size(); ++I)
    if (!std::equal(Inputs[I].dims + 1, Inputs[I].dims + Inputs[I].rank, Other.Inputs[I].dims + 1))
      return false;
  return true;
}

fathom_status *fathom_request::placeOutputs(const fathom_model &Model, const int64_t *Dims) {
  const fathom_artifact &Artifact = *Model.Artifact;
  std::copy_n(Dims, OutputDims.size(), OutputDims.data());
  auto IsUnknown = [](const fathom_tensor &Output) {
    return std::any_of(Output.dims, Output.dims + Output.rank, [](int64_t Dim) { return Dim < 0; });
  };
  const int64_t *Next = OutputDims.data();
  size_t Bytes = 0;
  for (uint32_t I = 0; I < Artifact.output_count; ++I) {
    Outputs[I] = {nullptr, Artifact.outputs[I].dtype, Artifact.outputs[I].rank, Next, 0};
    Next += Artifact.outputs[I].rank;
    if (IsUnknown(Outputs[I]))
      continue;
    if (!tensorBytes(Outputs[I].dtype, Outputs[I].rank, Outputs[I].dims, Outputs[I].bytes) ||
        __builtin_add_overflow(Bytes, alignUp(Outputs[I].bytes, Alignment), &Bytes))
      return outOfMemory("a request's results", SIZE_MAX);
  }
  if (fathom_status *Status = Results.reserve("a request's results", std::max(Bytes, Alignment)))
    return Status;
  char *At = Results.data();
  for (uint32_t I = 0; I < Artifact.output_count; ++I)
    if (!IsUnknown(Outputs[I])) {
      Outputs[I].data = At;
      At += alignUp(Outputs[I].bytes, Alignment);
    }
  return nullptr;
}

void fathom::releaseRequest(fathom_request *Request) {
  if (Request->References.fetch_sub(1) != 1)
    return;
  fathom_queue *Queue = Request->Queue;
  destroy(Request);
  Queue->release();
}

void RequestList::append(fathom_request *Request) {
  Request->Previous = Last;
  Request->Next = nullptr;
  (Last ? Last->Next : First) = Request;
  Last = Request;
  ++Count;
}

void RequestList::remove(fathom_request *Request) {
  (Request->Previous ? Request->Previous->Next : First) = Request->Next;
  (Request->Next ? Request->Next->Previous : Last) = Request->Previous;
  Request->Next = Request->Previous = nullptr;
  --Count;
}
