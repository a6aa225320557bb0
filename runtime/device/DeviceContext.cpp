// A run on a device: tensors to it and back, the services that the artifact's code is given, faults and times.
#include "DeviceContext.h"

#include "../Context.h"
#include "../Shapes.h"
#include "../Status.h"

#include <algorithm>
#include <cstring>

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

} // namespace

bool DeviceContext::makePorts(Array<Port> &Ports, uint32_t Count) {
  if (!Ports.allocate(Count))
    return false;
  for (uint32_t I = 0; I < Count; ++I)
    if (!(Ports[I].Buffer = create<DeviceBuffer>()))
      return false;
  return true;
}

fathom_status *DeviceContext::init(fathom_model &SharedModel, const fathom_context_options &Options) {
  Model = &SharedModel;
  if (fathom_status *Status = bringToDevice(SharedModel, Options.device, Shared))
    return Status;
  const fathom_artifact &Artifact = *Model->Artifact;
  size_t Most = 0;
  for (uint32_t I = 0; I < Artifact.entry_count; ++I)
    Most = std::max(Most, size_t(Artifact.entries[I].pointers) + 2 + size_t(Artifact.entries[I].symbols));
  if (!makePorts(Inputs, Artifact.input_count) || !makePorts(Outputs, Artifact.output_count) ||
      !InputAddresses.allocate(Artifact.input_count) || !OutputAddresses.allocate(Artifact.output_count) ||
      !Arguments.allocate(Most))
    return outOfMemory("the context", sizeof(DeviceContext));
  fathom_context_options OnDevice = FATHOM_CONTEXT_OPTIONS_INIT;
  OnDevice.allocate = allocateTensor, OnDevice.deallocate = releaseTensor, OnDevice.allocator_user = Shared->On;
  Tensors.useAllocator(OnDevice);
  if (fathom_status *Status = Shared->Kernels->openQueue(Options.device_stream, Work))
    return Status;
  if (fathom_status *Status = Faults.reserve(*Shared->On, "the codes of faults", faultBytes()))
    return Status;
  return nullptr;
}

DeviceContext::~DeviceContext() {
  forgetRecordings();
  if (Work)
    Work->dispose();
  for (size_t I = 0; I < Inputs.size(); ++I)
    destroy(Inputs[I].Buffer);
  for (size_t I = 0; I < Outputs.size(); ++I)
    destroy(Outputs[I].Buffer);
  fathom_status_free(Failure);
}

size_t DeviceContext::faultBytes() const { return Model->Artifact->kernel_count * sizeof(int32_t); }

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
  fathom_status *Status = Work->read(To, addressOf(From), size_t(Bytes));
  if (!Status)
    Status = Work->read(faultCodes(), Faults.address(), faultBytes());
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
  DeviceBuffer &Buffer = *Outputs[size_t(Index)].Buffer;
  if (fail(reserve(Buffer, "an output", size_t(Bytes))))
    return nullptr;
  return OutputAddresses[size_t(Index)] = pointerTo(Buffer.address());
}

int32_t DeviceContext::takeFault(fathom_context &Context) {
  for (uint32_t I = 0; I < Model->Artifact->kernel_count; ++I)
    if (int32_t Code = faultCodes()[I]) {
      Context.LaunchFault.Code = Code;
      Context.FaultKernel = int32_t(I);
      return Code;
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

// Buffers for all tensors, and where each is staged.
fathom_status *DeviceContext::placeTensors(fathom_context &Context) {
  const fathom_artifact &Artifact = *Model->Artifact;
  size_t End = alignUp(faultBytes(), Alignment);
  auto Place = [&](Port &At, const char *What, const fathom_abi_tensor &Info, const int64_t *Dims,
                   const void *Given) -> fathom_status * {
    At.IsOnDevice = false, At.IsKnown = !isSizedByData(Dims, Info.rank);
    if (!At.IsKnown)
      return nullptr;
    if (fathom_status *Status = Shared->On->isOwn(Given, At.IsOnDevice))
      return Status;
    At.Bytes = codeBytes(Info, Dims), At.Staged = End;
    End += At.IsOnDevice ? 0 : alignUp(At.Bytes, Alignment);
    return reserve(*At.Buffer, What, At.Bytes);
  };
  for (uint32_t I = 0; I < Artifact.input_count; ++I) {
    if (fathom_status *Status =
            Place(Inputs[I], "an input", Artifact.inputs[I], Context.InputDims[I], Context.InputData[I]))
      return Status;
    InputAddresses[I] = pointerTo(Inputs[I].Buffer->address());
  }
  for (uint32_t I = 0; I < Artifact.output_count; ++I) {
    if (fathom_status *Status =
            Place(Outputs[I], "an output", Artifact.outputs[I], Context.outputDims(int32_t(I)), Context.OutputData[I]))
      return Status;
    OutputAddresses[I] = pointerTo(Outputs[I].Buffer->address());
  }
  if (!Staging.data() || End > Staging.capacity())
    forgetRecordings();
  return Staging.reserve(*Shared->On, End);
}

fathom_status *DeviceContext::bringInputs(fathom_context &Context) {
  for (uint32_t I = 0; I < Inputs.size(); ++I) {
    const Port &At = Inputs[I];
    if (!At.IsOnDevice && At.Bytes)
      memcpy(Staging.data() + At.Staged, Context.InputData[I], At.Bytes);
    else if (fathom_status *Status = Work->copy(At.Buffer->address(), addressOf(Context.InputData[I]), At.Bytes))
      return Status;
  }
  return nullptr;
}

fathom_status *DeviceContext::fetchOutputs(fathom_context &Context) {
  for (uint32_t I = 0; I < Outputs.size(); ++I) {
    const Port &At = Outputs[I];
    size_t Bytes = At.IsKnown ? At.Bytes : codeBytes(Model->Artifact->outputs[I], Context.outputDims(int32_t(I)));
    bool IsOnDevice = At.IsOnDevice;
    fathom_status *Status = At.IsKnown ? nullptr : Shared->On->isOwn(Context.OutputData[I], IsOnDevice);
    if (!Status && IsOnDevice)
      Status = Work->copy(addressOf(Context.OutputData[I]), At.Buffer->address(), Bytes);
    else if (!Status && !At.IsKnown)
      Status = Work->read(Context.OutputData[I], At.Buffer->address(), Bytes);
    if (Status)
      return Status;
  }
  return nullptr;
}

// What a recording has: tensors from where they are staged, the artifact's code, and tensors and faults back.
fathom_status *DeviceContext::doAll(fathom_context &Context, int32_t &Fault) {
  for (uint32_t I = 0; I < Inputs.size(); ++I)
    if (const Port &At = Inputs[I]; !At.IsOnDevice)
      if (fathom_status *Status = Work->write(At.Buffer->address(), Staging.data() + At.Staged, At.Bytes))
        return Status;
  Fault = runCode(Context);
  if (Fault)
    return nullptr;
  for (uint32_t I = 0; I < Outputs.size(); ++I)
    if (const Port &At = Outputs[I]; At.IsKnown && !At.IsOnDevice)
      if (fathom_status *Status = Work->read(Staging.data() + At.Staged, At.Buffer->address(), At.Bytes))
        return Status;
  return Work->read(faultCodes(), Faults.address(), faultBytes());
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

// Of what a recording depends on: the symbols, then where each tensor is.
int64_t DeviceContext::keyAt(const fathom_context &Context, size_t I) const {
  if (I < Context.Symbols.size())
    return Context.Symbols[I];
  I -= Context.Symbols.size();
  return I < Inputs.size() ? Inputs[I].IsOnDevice : Outputs[I - Inputs.size()].IsOnDevice;
}

size_t DeviceContext::findRecording(const fathom_context &Context) const {
  size_t Length = Context.Symbols.size() + Inputs.size() + Outputs.size();
  for (size_t R = 0; R < Recordings.size(); ++R) {
    size_t I = 0;
    while (I < Length && Keys[Recordings[R].Key + I] == keyAt(Context, I))
      ++I;
    if (I == Length)
      return R;
  }
  return Recordings.size();
}

bool DeviceContext::noteSizes(const fathom_context &Context) {
  if (Recordings.size() == MaxRecordings)
    forgetRecordings();
  size_t Length = Context.Symbols.size() + Inputs.size() + Outputs.size(), Begin = Keys.size();
  for (size_t I = 0; I < Length; ++I)
    if (!Keys.push(keyAt(Context, I)))
      return false;
  return Recordings.push({nullptr, Begin});
}

void DeviceContext::forgetRecordings() {
  for (size_t I = 0; I < Recordings.size(); ++I)
    if (Recordings[I].Run)
      Recordings[I].Run->dispose();
  Recordings.clear();
  Keys.clear();
}

// The second run of a size is recorded: by then all buffers are as large as it needs.
fathom_status *DeviceContext::record(fathom_context &Context, size_t Known, int32_t &Fault) {
  bool Started = false;
  if (fathom_status *Status = Work->startRecording(Started))
    return Status;
  fathom_status *Status = doAll(Context, Fault);
  if (!Started)
    return Status;
  Recording *Made = nullptr;
  fathom_status *Ended = Work->endRecording(Made);
  // A buffer that grew after all has ended all recordings, this one too.
  bool IsUseful = !Status && !Ended && !Fault && Known < Recordings.size();
  if (IsUseful) {
    Recordings[Known].Run = Made;
    return Work->replay(*Made);
  }
  if (Made)
    Made->dispose();
  if (!Status)
    return Ended ? Ended : Fault ? nullptr : doAll(Context, Fault);
  fathom_status_free(Ended);
  return Status;
}

fathom_status *DeviceContext::execute(fathom_context &Context, int32_t &Fault) {
  if (!(Model->Artifact->flags & FATHOM_ABI_REPLAYABLE) || Context.Profiling)
    return doAll(Context, Fault);
  size_t Known = findRecording(Context);
  if (Known < Recordings.size())
    return Recordings[Known].Run ? Work->replay(*Recordings[Known].Run) : record(Context, Known, Fault);
  if (fathom_status *Status = doAll(Context, Fault))
    return Status;
  // Sizes that there is no memory to note come anew the next time.
  (void)(Fault || noteSizes(Context));
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
  if (fathom_status *Status = placeTensors(Context))
    return Status;
  if (MayHaveFaults)
    if (fathom_status *Status = Work->clear(Faults.address(), faultBytes()))
      return Status;
  MayHaveFaults = true;
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
    // What a service failed with, such as a launch of a run that was to be recorded, is not the next run's failure.
    fathom_status_free(std::exchange(Failure, nullptr));
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
  MayHaveFaults = Fault;
  for (uint32_t I = 0; !Fault && I < Outputs.size(); ++I)
    if (const Port &At = Outputs[I]; At.IsKnown && !At.IsOnDevice && At.Bytes)
      memcpy(Context.OutputData[I], Staging.data() + At.Staged, At.Bytes);
  return Context.Profiling ? noteTimes(Context) : nullptr;
}
