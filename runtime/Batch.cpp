// Joining and splitting: rows of the first dimension lie one behind the other, so that both are copies of whole blocks.
#include "Batch.h"

#include "Context.h"
#include "Shapes.h"
#include "Status.h"
#include "device/DeviceContext.h"

#include <algorithm>
#include <cstring>

using namespace fathom;

int64_t fathom::mostItems(const fathom_artifact &Artifact) {
  int64_t Batch = 0; // as inputs spell it: -(1 + symbol)
  for (uint32_t I = 0; I < Artifact.input_count; ++I) {
    const fathom_abi_tensor &Input = Artifact.inputs[I];
    bool IsFirst = I == 0;
    if (Input.rank == 0 || Input.dims[0] >= 0 || Input.dtype == FATHOM_ABI_STRING ||
        (!IsFirst && Input.dims[0] != Batch))
      return 1;
    // An item has no items.
    if (std::find(Input.dims + 1, Input.dims + Input.rank, Input.dims[0]) != Input.dims + Input.rank)
      return 1;
    Batch = Input.dims[0];
  }
  for (uint32_t I = 0; I < Artifact.output_count; ++I) {
    const fathom_abi_tensor &Output = Artifact.outputs[I];
    if (Output.rank == 0 || Output.dims[0] != -1 || Output.dtype == FATHOM_ABI_STRING ||
        std::find(Output.dims, Output.dims + Output.rank, -2) != Output.dims + Output.rank)
      return 1;
  }
  return Batch ? std::max<int64_t>(1, Artifact.symbols[-(Batch + 1)].max) : 1;
}

fathom_status *BatchRunner::init(fathom_model *SharedModel, const fathom_context_options *Options) {
  Model = SharedModel;
  const fathom_artifact &Artifact = *Model->Artifact;
  size_t Ranks = 0;
  for (uint32_t I = 0; I < Artifact.input_count; ++I)
    Ranks += size_t(Artifact.inputs[I].rank);
  if (!Inputs.allocate(Artifact.input_count) || !Outputs.allocate(Artifact.output_count) ||
      !InputDims.allocate(Ranks) || !OutputDims.allocate(Model->OutputRanks) ||
      !DimsAlone.allocate(Model->OutputRanks) || !InputDimsOf.allocate(Artifact.input_count) ||
      !OutputDimsOf.allocate(Artifact.output_count))
    return outOfMemory("the queue", sizeof(BatchRunner));
  int64_t *Dims = OutputDims.data();
  for (uint32_t I = 0; I < Artifact.output_count; Dims += Artifact.outputs[I++].rank)
    OutputDimsOf[I] = Dims;
  return fathom_context_create(Model, Options, &Context);
}

int64_t BatchRunner::run(const RequestList &Requests) {
  if (Requests.Count > 1) {
    fathom_status *Status = runJoined(Requests);
    if (!Status)
      return 1;
    // One that asks for what is not there must not fail the others, and smaller runs may find the memory.
    fathom_status_free(Status);
  }
  for (fathom_request *Request = Requests.First; Request; Request = Request->Next)
    Request->Failure = runAlone(*Request);
  return int64_t(Requests.Count);
}

// Sets OutputDims.
fathom_status *BatchRunner::planOutputs(const fathom_tensor *Given) {
  for (size_t I = 0; I < Inputs.size(); ++I)
    InputDimsOf[I] = Given[I].dims;
  return fathom_context_output_dims(Context, InputDimsOf.data(), OutputDimsOf.data());
}

fathom_status *BatchRunner::runAlone(fathom_request &Request) {
  if (fathom_status *Status = planOutputs(Request.Inputs.data()))
    return Status;
  if (fathom_status *Status = Request.placeOutputs(*Model, OutputDims.data()))
    return Status;
  // The run takes no dimensions for what it decides itself.
  for (size_t I = 0; I < Outputs.size(); ++I) {
    Outputs[I] = Request.Outputs[I];
    if (!Outputs[I].data)
      Outputs[I].dims = nullptr;
  }
  if (fathom_status *Status =
          fathom_context_run(Context, Request.Inputs.data(), Inputs.size(), Outputs.data(), Outputs.size()))
    return Status;
  return keepDataSized(Request);
}

// The context has them until its next run only.
fathom_status *BatchRunner::keepDataSized(fathom_request &Request) {
  for (size_t I = 0; I < Outputs.size(); ++I) {
    fathom_tensor &Output = Request.Outputs[I];
    if (Output.data)
      continue;
    fathom_tensor Made;
    if (fathom_status *Status = fathom_context_output(Context, I, &Made))
      return Status;
    Buffer *Kept = Request.DataSized[I] = create<Buffer>();
    if (!Kept)
      return outOfMemory("a request's results", Made.bytes);
    if (fathom_status *Status = Kept->reserve("a request's results", std::max(Made.bytes, Alignment)))
      return Status;
    if (Made.bytes)
      memcpy(Kept->data(), Made.data, Made.bytes);
    std::copy_n(Made.dims, Made.rank, const_cast<int64_t *>(Output.dims));
    Output.data = Kept->data();
    Output.bytes = Made.bytes;
  }
  return nullptr;
}

// Whether outputs have a row for each item, and rows of one size, whatever number of items a run has. One run does not
// tell: other dimensions may be as large by chance.
bool BatchRunner::haveRowsOfItems(int64_t Items, int64_t Alone) const {
  const fathom_artifact &Artifact = *Model->Artifact;
  const int64_t *Joined = OutputDims.data(), *One = DimsAlone.data();
  for (uint32_t I = 0; I < Artifact.output_count; ++I) {
    int32_t Rank = Artifact.outputs[I].rank;
    if (Joined[0] != Items || One[0] != Alone || !std::equal(Joined + 1, Joined + Rank, One + 1))
      return false;
    Joined += Rank, One += Rank;
  }
  return true;
}

fathom_status *BatchRunner::runJoined(const RequestList &Requests) {
  int64_t Items = 0;
  for (fathom_request *Request = Requests.First; Request; Request = Request->Next)
    Items += Request->items();
  if (fathom_status *Status = gather(Requests, Items))
    return Status;
  if (fathom_status *Status = planOutputs(Requests.First->Inputs.data()))
    return Status;
  std::copy_n(OutputDims.data(), OutputDims.size(), DimsAlone.data());
  if (fathom_status *Status = planOutputs(Inputs.data()))
    return Status;
  Unfit |= !haveRowsOfItems(Items, Requests.First->items());
  if (Unfit)
    return makeStatus(FATHOM_ERROR_SHAPE, "an output has no row for each item");
  if (fathom_status *Status = placeJoined())
    return Status;
  if (fathom_status *Status = fathom_context_run(Context, Inputs.data(), Inputs.size(), Outputs.data(), Outputs.size()))
    return Status;
  return split(Requests, Items);
}

fathom_status *BatchRunner::gather(const RequestList &Requests, int64_t Items) {
  int64_t *Dims = InputDims.data();
  size_t Bytes = 0;
  for (size_t I = 0; I < Inputs.size(); ++I) {
    Inputs[I] = Requests.First->Inputs[I];
    int64_t *Next = std::copy_n(Inputs[I].dims, Inputs[I].rank, Dims);
    Dims[0] = Items;
    Inputs[I].dims = Dims;
    Dims = Next;
    Inputs[I].bytes = 0;
    for (fathom_request *Request = Requests.First; Request; Request = Request->Next) {
      Inputs[I].bytes += Request->Inputs[I].bytes;
      // They are put together in the host's memory: what is on the device runs by itself.
      bool IsOnDevice = false;
      if (Context->OnDevice)
        if (fathom_status *Status = Context->OnDevice->isOwn(Request->Inputs[I].data, IsOnDevice))
          return Status;
      if (IsOnDevice)
        return makeStatus(FATHOM_ERROR_INVALID_ARGUMENT, "an input to be joined is in the device's memory");
    }
    Bytes += alignUp(Inputs[I].bytes, Alignment);
  }
  if (fathom_status *Status = InputMemory.reserve("joined inputs", std::max(Bytes, Alignment)))
    return Status;
  char *At = InputMemory.data();
  for (size_t I = 0; I < Inputs.size(); ++I) {
    Inputs[I].data = At;
    char *To = At;
    for (fathom_request *Request = Requests.First; Request; Request = Request->Next) {
      const fathom_tensor &From = Request->Inputs[I];
      if (From.bytes)
        memcpy(To, From.data, From.bytes);
      To += From.bytes;
    }
    At += alignUp(Inputs[I].bytes, Alignment);
  }
  return nullptr;
}

fathom_status *BatchRunner::placeJoined() {
  const fathom_artifact &Artifact = *Model->Artifact;
  size_t Bytes = 0;
  for (size_t I = 0; I < Outputs.size(); ++I) {
    Outputs[I] = {nullptr, Artifact.outputs[I].dtype, Artifact.outputs[I].rank, OutputDimsOf[I], 0};
    if (!tensorBytes(Outputs[I].dtype, Outputs[I].rank, Outputs[I].dims, Outputs[I].bytes) ||
        __builtin_add_overflow(Bytes, alignUp(Outputs[I].bytes, Alignment), &Bytes))
      return outOfMemory("joined outputs", SIZE_MAX);
  }
  if (fathom_status *Status = OutputMemory.reserve("joined outputs", std::max(Bytes, Alignment)))
    return Status;
  char *At = OutputMemory.data();
  for (size_t I = 0; I < Outputs.size(); ++I) {
    Outputs[I].data = At;
    At += alignUp(Outputs[I].bytes, Alignment);
  }
  return nullptr;
}

fathom_status *BatchRunner::split(const RequestList &Requests, int64_t Items) {
  size_t Before = 0;
  for (fathom_request *Request = Requests.First; Request; Request = Request->Next) {
    for (size_t I = 0; I < Outputs.size(); ++I)
      OutputDimsOf[I][0] = Request->items();
    if (fathom_status *Status = Request->placeOutputs(*Model, OutputDims.data()))
      return Status;
    for (size_t I = 0; I < Outputs.size(); ++I) {
      size_t Row = Outputs[I].bytes / size_t(Items);
      if (Request->Outputs[I].bytes)
        memcpy(Request->Outputs[I].data, static_cast<char *>(Outputs[I].data) + Before * Row,
               Request->Outputs[I].bytes);
    }
    Before += size_t(Request->items());
  }
  return nullptr;
}
