// A run on a device: tensors to it and back, the services that the artifact's code is given, faults and times.
#include "DeviceContext.h"

#include "../Context.h"
#include "../Shapes.h"
#include "../Status.h"

#include <algorithm>

using namespace fathom;

namespace {

// Recordings of so many sizes are kept: enough for buckets of lengths, and few enough to be searched.
constexpr size_t MaxRecordings = 16;

Address addressOf(const void *Pointer) { return reinterpret_cast<Address>(Pointer); }
void *pointerTo(Address At) { return reinterpret_cast<void *>(At); }

// Bytes of a tensor as the code has it, in which a string is a number.
size_t codeBytes(const fathom_abi_tensor &Info, const int64_t *Dims) {
  size_t Bytes = 0;
  // Whether it overflows was checked with the caller's buffer.
  (void)tensorBytes(Info.dtype == FATHOM_ABI_STRING ? FATHOM_ABI_I64 : Info.dtype, Info.rank, Dims, Bytes);
  return Bytes;
}

bool isSizedByData(const int64_t *Dims, int32_t Rank) {
  return std::any_of(Dims, Dims + Rank, [](int64_t Dim) { return Dim < 0; });
}

void *allocateTensor(void *User, size_t Bytes, size_t) {
  Address Made = 0;
  fathom_status *Status = static_cast<Device *>(User)->allocate("a tensor", Bytes, Made);
  fathom_status_free(Status); // the run says which node it was
  return Status ? nullptr : pointerTo(Made);
}
void releaseTensor(void *User, void *Memory, size_t) { static_cast<Device *>(User)->release(addressOf(Memory)); }

bool makeBuffers(Array<DeviceBuffer *> &Buffers, uint32_t Count) {
  if (!Buffers.allocate(Count))
    return false;
  for (uint32_t I = 0; I < Count; ++I)
    if (!(Buffers[I] = create<DeviceBuffer>()))
      return false;
  return true;
}

} // namespace

fathom_status *DeviceContext::init(fathom_model &SharedModel, int32_t Number) {
  Model = &SharedModel;
  if (fathom_status *Status = bringToDevice(SharedModel, Number, Shared))
    return Status;
  const fathom_artifact &Artifact = *Model->Artifact;
  size_t Most = 0;
  for (uint32_t I = 0; I < Artifact.entry_count; ++I)
    Most = std::max(Most, size_t(Artifact.entries[I].pointers) + 2 + size_t(Artifact.entries[I].symbols));
  if (!makeBuffers(InputBuffers, Artifact.input_count) || !makeBuffers(OutputBuffers, Artifact.output_count) ||
      !InputAddresses.allocate(Artifact.input_count) || !OutputAddresses.allocate(Artifact.output_count) ||
      !Arguments.allocate(Most) || !FaultCodes.allocate(Artifact.kernel_count))
    return outOfMemory("the context", sizeof(DeviceContext));
  fathom_context_options Options = FATHOM_CONTEXT_OPTIONS_INIT;
  Options.allocate = allocateTensor, Options.deallocate = releaseTensor, Options.allocator_user = Shared->On;
  Tensors.useAllocator(Options);
  if (fathom_status *Status = Shared->Kernels->openQueue(Work))
    return Status;
  size_t FaultBytes = FaultCodes.size() * sizeof(int32_t);
  if (fathom_status *Status = Faults.reserve(*Shared->On, "the codes of faults", FaultBytes))
    return Status;
  return Work->clear(Faults.address(), FaultBytes);
}

DeviceContext::~DeviceContext() {
  forgetRecordings();
  if (Work)
    Work->dispose();
  for (size_t I = 0; I < InputBuffers.size(); ++I)
    destroy(InputBuffers[I]);
  for (size_t I = 0; I < OutputBuffers.size(); ++I)
    destroy(OutputBuffers[I]);
  fathom_status_free(Failure);
}

// Services.

int32_t DeviceContext::fail(fathom_status *Status) {
  if (!Status)
    return FATHOM_FAULT_NONE;
  fathom_status_free(Failure);
  Failure = Status;
  return FATHOM_FAULT_DEVICE;
}

int32_t DeviceContext::launch(fathom_context &Context, int32_t Kernel, int32_t Number, const int64_t *Env,
                              int64_t Groups) {
  if (Groups < 0)
    return FATHOM_FAULT_SHAPE;
  if (Context.Interrupted && Context.isInterrupted())
    return FATHOM_FAULT_INTERRUPTED;
  if (!Groups)
    return FATHOM_FAULT_NONE;
  const fathom_abi_entry &Entry = Model->Artifact->entries[Number];
  size_t ScratchBytes = 0;
  if (__builtin_mul_overflow(size_t(Groups), size_t(Entry.group_scratch), &ScratchBytes))
    return fail(outOfMemory("scratch", SIZE_MAX));
  if (fathom_status *Status = reserve(Scratch, "scratch", ScratchBytes))
    return fail(Status);
  int64_t *At = std::copy_n(Env, Entry.pointers, Arguments.data());
  *At++ = int64_t(Faults.address() + Address(Kernel) * sizeof(int32_t));
  *At++ = int64_t(Scratch.address());
  std::copy_n(Env + Entry.pointers, Entry.symbols, At);
  // An entry for which there is no memory is left out; a profile is not worth failing a run.
  if (Context.Profiling && !Context.Profile.push({Kernel, 0, 0, Groups}))
    Context.Profiling = false;
  return fail(Work->launch(uint32_t(Number), Arguments.data(), Groups));
}

int32_t DeviceContext::read(fathom_context &Context, void *To, const void *From, int64_t Bytes) {
  size_t FaultBytes = FaultCodes.size() * sizeof(int32_t);
  fathom_status *Status = Work->read(To, addressOf(From), size_t(Bytes));
  if (!Status)
    Status = Work->read(FaultCodes.data(), Faults.address(), FaultBytes);
  if (!Status)
    Status = Work->wait();
  return Status ? fail(Status) : takeFault(Context);
}

int32_t DeviceContext::write(void *To, const void *From, int64_t Bytes) {
  return fail(Work->write(addressOf(To), From, size_t(Bytes)));
}

int32_t DeviceContext::copy(void *To, const void *From, int64_t Bytes) {
  return fail(Work->copy(addressOf(To), addressOf(From), size_t(Bytes)));
}

void *DeviceContext::placeOutput(int32_t Index, int64_t Bytes) {
  if (fail(reserve(*OutputBuffers[size_t(Index)], "an output", size_t(Bytes))))
    return nullptr;
  return OutputAddresses[size_t(Index)] = pointerTo(OutputBuffers[size_t(Index)]->address());
}

int32_t DeviceContext::takeFault(fathom_context &Context) {
  for (size_t I = 0; I < FaultCodes.size(); ++I)
    if (int32_t Code = FaultCodes[I]) {
      Context.LaunchFault.Code = Code;
      Context.FaultKernel = int32_t(I);
      fathom_status *Status = Work->clear(Faults.address(), FaultCodes.size() * sizeof(int32_t));
      return Status ? fail(Status) : Code;
    }
  return FATHOM_FAULT_NONE;
}

// Runs.

// A buffer that grows has another address than recordings know, and what it was may still be in use.
fathom_status *DeviceContext::reserve(DeviceBuffer &Buffer, const char *What, size_t Bytes) {
  if (Buffer.address() && Bytes <= Buffer.capacity())
    return nullptr;
  forgetRecordings();
  if (Buffer.address())
    if (fathom_status *Status = Work->wait())
      return Status;
  return Buffer.reserve(*Shared->On, What, Bytes);
}

fathom_status *DeviceContext::bringInputs(fathom_context &Context) {
  const fathom_artifact &Artifact = *Model->Artifact;
  for (uint32_t I = 0; I < Artifact.input_count; ++I) {
    size_t Bytes = codeBytes(Artifact.inputs[I], Context.InputDims[I]);
    if (fathom_status *Status = reserve(*InputBuffers[I], "an input", Bytes))
      return Status;
    InputAddresses[I] = pointerTo(InputBuffers[I]->address());
    if (fathom_status *Status = Work->write(InputBuffers[I]->address(), Context.InputData[I], Bytes))
      return Status;
  }
  for (uint32_t I = 0; I < Artifact.output_count; ++I) {
    const int64_t *Dims = Context.outputDims(int32_t(I));
    if (isSizedByData(Dims, Artifact.outputs[I].rank))
      continue;
    if (fathom_status *Status = reserve(*OutputBuffers[I], "an output", codeBytes(Artifact.outputs[I], Dims)))
      return Status;
    OutputAddresses[I] = pointerTo(OutputBuffers[I]->address());
  }
  return nullptr;
}

fathom_status *DeviceContext::fetchOutputs(fathom_context &Context) {
  const fathom_artifact &Artifact = *Model->Artifact;
  for (uint32_t I = 0; I < Artifact.output_count; ++I) {
    size_t Bytes = codeBytes(Artifact.outputs[I], Context.outputDims(int32_t(I)));
    if (fathom_status *Status = Work->read(Context.OutputData[I], OutputBuffers[I]->address(), Bytes))
      return Status;
  }
  return Work->read(FaultCodes.data(), Faults.address(), FaultCodes.size() * sizeof(int32_t));
}

int32_t DeviceContext::runCode(fathom_context &Context) {
  fathom_call Call = {Context.services(),
                      &Context,
                      static_cast<const char *>(pointerTo(Shared->Weights.address())),
                      static_cast<char *>(pointerTo(Arena.address())),
                      Context.Symbols.data(),
                      InputAddresses.data(),
                      OutputAddresses.data()};
  return Model->Artifact->run(&Call);
}

Recording *DeviceContext::findRecording(const fathom_context &Context, bool &IsKnown) const {
  for (size_t I = 0; I < Recordings.size(); ++I) {
    const int64_t *Symbols = RecordedSymbols.data() + Recordings[I].Symbols;
    if (std::equal(Symbols, Symbols + Context.Symbols.size(), Context.Symbols.data())) {
      IsKnown = true;
      return Recordings[I].Run;
    }
  }
  IsKnown = false;
  return nullptr;
}

void DeviceContext::forgetRecordings() {
  for (size_t I = 0; I < Recordings.size(); ++I)
    if (Recordings[I].Run)
      Recordings[I].Run->dispose();
  Recordings.clear();
  RecordedSymbols.clear();
}

// The second run of a size is recorded: by then all buffers are as large as it needs.
fathom_status *DeviceContext::record(fathom_context &Context, int32_t &Fault) {
  Recording *Made = nullptr;
  bool Started = false;
  if (fathom_status *Status = Work->startRecording(Started))
    return Status;
  Fault = runCode(Context);
  if (!Started)
    return nullptr;
  if (fathom_status *Status = Work->endRecording(Made))
    return Status;
  bool IsKnown;
  (void)findRecording(Context, IsKnown);
  for (size_t I = 0; IsKnown && !Fault && I < Recordings.size(); ++I) {
    const int64_t *Symbols = RecordedSymbols.data() + Recordings[I].Symbols;
    if (!std::equal(Symbols, Symbols + Context.Symbols.size(), Context.Symbols.data()))
      continue;
    Recordings[I].Run = Made;
    return Work->replay(*Made);
  }
  // Nothing was done; the run begins anew.
  Made->dispose();
  if (!Fault)
    Fault = runCode(Context);
  return nullptr;
}

fathom_status *DeviceContext::execute(fathom_context &Context, int32_t &Fault) {
  bool IsKnown = false;
  Recording *Recorded = nullptr;
  if ((Model->Artifact->flags & FATHOM_ABI_REPLAYABLE) && !Context.Profiling) {
    Recorded = findRecording(Context, IsKnown);
    if (Recorded)
      return Work->replay(*Recorded);
    if (IsKnown)
      return record(Context, Fault);
  }
  Fault = runCode(Context);
  if (!(Model->Artifact->flags & FATHOM_ABI_REPLAYABLE) || Context.Profiling || Fault)
    return nullptr;
  if (Recordings.size() == MaxRecordings)
    forgetRecordings();
  size_t Begin = RecordedSymbols.size();
  for (size_t I = 0; I < Context.Symbols.size(); ++I)
    if (!RecordedSymbols.push(Context.Symbols[I]))
      return nullptr; // it is not known then
  (void)Recordings.push({nullptr, Begin});
  return nullptr;
}

fathom_status *DeviceContext::noteTimes(fathom_context &Context) {
  Array<LaunchTime> Times;
  if (fathom_status *Status = Work->times(Times))
    return Status;
  for (size_t I = 0; I < std::min(Times.size(), Context.Profile.size()); ++I) {
    fathom_profile_entry &Entry = Context.Profile[I];
    Entry.start_ns = Times[I].Start, Entry.end_ns = Times[I].End;
    if (Context.ProfilingParts)
      (void)Context.Parts.push({int64_t(I), Entry.start_ns, Entry.end_ns, Entry.tasks, 0});
  }
  return Work->setTiming(false);
}

fathom_status *DeviceContext::run(fathom_context &Context, int32_t &Fault) {
  if (fathom_status *Status = reserve(Arena, "the arena", Context.arenaBytes()))
    return Status;
  if (fathom_status *Status = bringInputs(Context))
    return Status;
  if (Context.Profiling)
    if (fathom_status *Status = Work->setTiming(true))
      return Status;
  fathom_status *Status = execute(Context, Fault);
  if (!Status && !Fault)
    Status = fetchOutputs(Context);
  // Whatever happened, nothing is under way when the caller goes on.
  fathom_status *Waited = Work->wait();
  Tensors.releaseAll();
  if (Status) {
    fathom_status_free(Waited);
    return Status;
  }
  if (Failure) {
    fathom_status_free(Waited);
    return std::exchange(Failure, nullptr);
  }
  if (Waited)
    return Waited;
  if (!Fault)
    Fault = takeFault(Context);
  return Context.Profiling ? noteTimes(Context) : nullptr;
}
