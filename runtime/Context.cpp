// Contexts: from the caller's tensors to a call of the artifact's code, with every check in between.
#include "Context.h"

#include "Clock.h"
#include "CpuCount.h"
#include "FloatMode.h"
#include "Shapes.h"
#include "Status.h"
#include "device/DeviceContext.h"

#include <algorithm>
#include <cstring>

using namespace fathom;

namespace {

// The service through which the artifact's code runs a kernel.
int32_t launch(void *Host, int32_t Kernel, fathom_task_fn Fn, const void *Env, int64_t Tasks) {
  auto &Context = *static_cast<fathom_context *>(Host);
  if (Tasks < 0)
    return FATHOM_FAULT_SHAPE;
  if (Context.Interrupted && Context.isInterrupted())
    return FATHOM_FAULT_INTERRUPTED;
  int64_t Start = Context.Profiling ? nowNs() : 0;
  Fault Result = Context.Pool.launch(Fn, Env, Tasks, Context.takeTurn(Kernel));
  // An entry for which there is no memory is left out; a profile is not worth failing a run.
  if (Context.Profiling && !Context.addToProfile(Kernel, Start, Tasks))
    Context.Profiling = false;
  if (Result.Code) {
    Context.LaunchFault = Result;
    Context.FaultKernel = Kernel;
  }
  return Result.Code;
}

void *allocate(void *Host, int64_t Bytes) { return static_cast<fathom_context *>(Host)->Tensors.allocate(Bytes); }
void release(void *Host, void *Memory) { static_cast<fathom_context *>(Host)->Tensors.release(Memory); }
void *output(void *Host, int32_t Index, const int64_t *Dims, int64_t Bytes) {
  return static_cast<fathom_context *>(Host)->placeOutput(Index, Dims, Bytes);
}
int32_t refuse(void *Host, int32_t Code, const char *Nodes) {
  static_cast<fathom_context *>(Host)->FaultNodes = Nodes;
  return Code;
}

int32_t deviceLaunch(void *Host, int32_t Kernel, int32_t Entry, const void *Env, int64_t Groups) {
  auto &Context = *static_cast<fathom_context *>(Host);
  return Context.OnDevice->launch(Context, Kernel, Entry, static_cast<const int64_t *>(Env), Groups);
}
void *deviceAllocate(void *Host, int64_t Bytes) {
  return static_cast<fathom_context *>(Host)->OnDevice->allocate(Bytes);
}
void deviceRelease(void *Host, void *Memory) { static_cast<fathom_context *>(Host)->OnDevice->release(Memory); }
int32_t deviceRead(void *Host, void *To, const void *From, int64_t Bytes) {
  auto &Context = *static_cast<fathom_context *>(Host);
  return Context.OnDevice->read(Context, To, From, Bytes);
}
int32_t deviceWrite(void *Host, void *To, const void *From, int64_t Bytes) {
  return static_cast<fathom_context *>(Host)->OnDevice->write(To, From, Bytes);
}
int32_t deviceCopy(void *Host, void *To, const void *From, int64_t Bytes) {
  return static_cast<fathom_context *>(Host)->OnDevice->copy(To, From, Bytes);
}

const fathom_services Services = {
    FATHOM_ABI_VERSION, 0,          launch,      allocate,  release, output, refuse, deviceLaunch, deviceAllocate,
    deviceRelease,      deviceRead, deviceWrite, deviceCopy};

bool isDataSized(const fathom_abi_tensor &Tensor) {
  return std::any_of(Tensor.dims, Tensor.dims + Tensor.rank, [](int64_t Dim) { return Dim == -2; });
}

} // namespace

fathom_status *fathom_context::init(fathom_model *SharedModel, const fathom_context_options &Options) {
  Model = SharedModel;
  Model->References.fetch_add(1);
  const fathom_artifact &Artifact = *Model->Artifact;
  if (!Symbols.allocate(Artifact.symbol_count) || !Sizes.allocate(1 + Model->OutputRanks) ||
      !InputDims.allocate(Artifact.input_count) || !InputData.allocate(Artifact.input_count) ||
      !OutputData.allocate(Artifact.output_count) || !OwnOutputs.allocate(Artifact.output_count) ||
      !Backwards.allocate(Artifact.kernel_count) || !Numbers.allocate(Artifact.input_count + Artifact.output_count) ||
      !SpelledOutputs.allocate(Artifact.output_count))
    return outOfMemory("the context", sizeof(fathom_context));
  for (uint32_t I = 0; I < Artifact.input_count + Artifact.output_count; ++I) {
    bool IsInput = I < Artifact.input_count;
    const fathom_abi_tensor &Tensor = IsInput ? Artifact.inputs[I] : Artifact.outputs[I - Artifact.input_count];
    if (Tensor.dtype != FATHOM_ABI_STRING)
      continue;
    Numbers[I] = create<Buffer>();
    if (!Numbers[I])
      return outOfMemory("the context", sizeof(fathom_context));
    Numbers[I]->useAllocator(Options);
  }
  for (uint32_t I = 0; I < Artifact.output_count; ++I) {
    if (!isDataSized(Artifact.outputs[I]))
      continue;
    OwnOutputs[I] = create<Buffer>();
    if (!OwnOutputs[I])
      return outOfMemory("the context", sizeof(fathom_context));
    OwnOutputs[I]->useAllocator(Options);
  }

  Interrupted = Options.interrupted;
  InterruptedUser = Options.interrupted_user;
  Tensors.useAllocator(Options);
  int32_t Threads = 1;
  if (isForDevice(Artifact)) {
    OnDevice = create<DeviceContext>();
    if (!OnDevice)
      return outOfMemory("the context", sizeof(DeviceContext));
    if (fathom_status *Status = OnDevice->init(*Model, Options))
      return Status;
    return Pool.start(1, nullptr, 0);
  }
  if (fathom_status *Status = chooseThreads(Options.threads, Threads))
    return Status;
  Arena.useAllocator(Options);
  Scratch.useAllocator(Options);
  // Whole cache lines in pairs, since CPUs fetch the neighbour too.
  size_t Stride = alignUp(size_t(Artifact.scratch_size), 2 * Alignment), ScratchBytes;
  if (__builtin_mul_overflow(Stride, size_t(Threads), &ScratchBytes))
    return outOfMemory("the scratch buffers", SIZE_MAX);
  if (fathom_status *Status = Scratch.reserve("the scratch buffers", ScratchBytes))
    return Status;
  if (!Options.parallel_for)
    return Pool.start(Threads, Scratch.data(), Stride);
  return Pool.use(Options.parallel_for, Options.parallel_for_user, Threads, Scratch.data(), Stride);
}

fathom_context::~fathom_context() {
  destroy(OnDevice);
  for (size_t I = 0; I < OwnOutputs.size(); ++I)
    destroy(OwnOutputs[I]);
  for (size_t I = 0; I < Numbers.size(); ++I)
    destroy(Numbers[I]);
  fathom_status_free(OutputFault);
}

int64_t *fathom_context::outputDims(int32_t Index) {
  int64_t *Dims = outputDims();
  for (int32_t I = 0; I < Index; ++I)
    Dims += Model->Artifact->outputs[I].rank;
  return Dims;
}

// The caller's buffer if there is one, or else the context's own.
void *fathom_context::placeOutput(int32_t Index, const int64_t *Dims, int64_t Bytes) {
  const fathom_abi_tensor &Info = Model->Artifact->outputs[Index];
  std::copy_n(Dims, Info.rank, outputDims(Index));
  if (!OutputFault && Outputs[Index].dims)
    OutputFault = checkOutputDims(Info, Dims, Outputs[Index].dims);
  if (OutputFault)
    return nullptr;
  bool IsString = Info.dtype == FATHOM_ABI_STRING;
  if (Outputs[Index].data) {
    OutputFault = checkBuffer(Role::Output, Info, Outputs[Index], Dims);
    OutputData[Index] = Outputs[Index].data;
  } else {
    size_t Room = IsString ? size_t(Bytes) * (sizeof(fathom_string) / sizeof(int64_t)) : size_t(Bytes);
    OutputFault = OwnOutputs[Index]->reserve("an output", Room ? Room : 1);
    OutputData[Index] = OwnOutputs[Index]->data();
  }
  if (!OutputFault && IsString)
    OutputFault = placeNumbers(uint32_t(Index));
  if (OutputFault)
    return nullptr;
  return OnDevice ? OnDevice->placeOutput(Index, Bytes) : OutputData[Index];
}

fathom_status *fathom_context::bind(const int64_t *const *Dims) {
  const fathom_artifact &Artifact = *Model->Artifact;
  std::fill_n(Symbols.data(), Symbols.size(), Unbound);
  for (uint32_t I = 0; I < Artifact.input_count; ++I)
    if (fathom_status *Status = bindInput(Artifact, I, Dims[I], Symbols.data()))
      return Status;
  return nullptr;
}

fathom_status *fathom_context::plan() {
  const fathom_artifact &Artifact = *Model->Artifact;
  LaunchFault = {};
  FaultNodes = nullptr;
  Sizes[0] = 0;
  if (int32_t Code = Artifact.plan(Symbols.data(), Sizes.data())) {
    if (Code == FATHOM_FAULT_SHAPE)
      FaultNodes = reinterpret_cast<const char *>(Sizes[0]);
    return describeFault(Code);
  }
  if (Sizes[0] < 0)
    return makeStatus(FATHOM_ERROR_INTERNAL, "the artifact planned an arena of %lld bytes",
                      static_cast<long long>(Sizes[0]));
  const int64_t *Dims = outputDims();
  for (uint32_t I = 0; I < Artifact.output_count; Dims += Artifact.outputs[I++].rank)
    if (fathom_status *Status = checkOutputDims(Artifact.outputs[I], Dims, nullptr))
      return Status;
  return nullptr;
}

// Checks the inputs, binds the symbols by them and notes where their data is.
fathom_status *fathom_context::checkInputs(const fathom_tensor *Inputs) {
  const fathom_artifact &Artifact = *Model->Artifact;
  for (uint32_t I = 0; I < Artifact.input_count; ++I) {
    if (fathom_status *Status = checkKind(Role::Input, Artifact.inputs[I], Inputs[I]))
      return Status;
    InputDims[I] = Inputs[I].dims;
  }
  if (fathom_status *Status = bind(InputDims.data()))
    return Status;
  for (uint32_t I = 0; I < Artifact.input_count; ++I) {
    if (fathom_status *Status = checkBuffer(Role::Input, Artifact.inputs[I], Inputs[I], Inputs[I].dims))
      return Status;
    InputData[I] = Inputs[I].data;
    if (Numbers[I])
      if (fathom_status *Status = numberInput(I, Inputs[I]))
        return Status;
  }
  return nullptr;
}

fathom_status *fathom_context::checkOutputs() {
  const fathom_artifact &Artifact = *Model->Artifact;
  const int64_t *Dims = outputDims();
  for (uint32_t I = 0; I < Artifact.output_count; Dims += Artifact.outputs[I++].rank) {
    if (fathom_status *Status = checkKind(Role::Output, Artifact.outputs[I], Outputs[I]))
      return Status;
    // Checked when the run knows its dimensions.
    if (OwnOutputs[I])
      continue;
    if (fathom_status *Status = checkOutputDims(Artifact.outputs[I], Dims, Outputs[I].dims))
      return Status;
    if (fathom_status *Status = checkBuffer(Role::Output, Artifact.outputs[I], Outputs[I], Dims))
      return Status;
    OutputData[I] = Outputs[I].data;
    if (Artifact.outputs[I].dtype == FATHOM_ABI_STRING)
      if (fathom_status *Status = placeNumbers(I))
        return Status;
  }
  return nullptr;
}

// An output in the memory of an input would change what is still to be read, except where the artifact was made for it.
fathom_status *fathom_context::checkOverlaps(const fathom_tensor *Inputs) const {
  const fathom_artifact &Artifact = *Model->Artifact;
  for (uint32_t O = 0; O < Artifact.output_count; ++O) {
    const char *Data = static_cast<const char *>(Outputs[O].data);
    for (uint32_t I = 0; Data && I < Artifact.input_count; ++I) {
      const char *Other = static_cast<const char *>(Inputs[I].data);
      if (Data >= Other + Inputs[I].bytes || Other >= Data + Outputs[O].bytes)
        continue;
      if (Data == Other && fathom_model_output_alias(Model, O) == int32_t(I))
        continue;
      return makeStatus(FATHOM_ERROR_INVALID_ARGUMENT,
                        "output '%s' lies in the memory of input '%s', which the model reads after it is written",
                        Artifact.outputs[O].name, Artifact.inputs[I].name);
    }
  }
  return nullptr;
}

// Short enough for somebody who waits, long enough to cost nothing.
static constexpr int64_t QuestionNs = 50000000;

bool fathom_context::isInterrupted() {
  int64_t Now = nowNs();
  if (Now < NextQuestion)
    return false;
  NextQuestion = Now + QuestionNs;
  return Interrupted(InterruptedUser) != 0;
}

bool fathom_context::addToProfile(int32_t Kernel, int64_t Start, int64_t Tasks) {
  if (!Profile.push({Kernel, Start - RunStart, nowNs() - RunStart, Tasks}))
    return false;
  for (int32_t Thread = 0; Thread < Pool.timedThreads(); ++Thread)
    if (const ThreadPool::Part &Part = Pool.part(Thread); Part.Tasks)
      if (!Parts.push({int64_t(Profile.size()) - 1, Part.Start - RunStart, Part.End - RunStart, Part.Tasks, Thread}))
        return false;
  return true;
}

const fathom_services *fathom_context::services() { return &Services; }

fathom_status *fathom_context::runHere(int32_t &Code) {
  if (fathom_status *Status = Arena.reserve("the arena", arenaBytes()))
    return Status;
  fathom_call Call = {&Services,        this, Model->Weights, Arena.data(), Symbols.data(), InputData.data(),
                      OutputData.data()};
  StandardFloatMode Mode;
  RunStart = Profiling ? nowNs() : 0;
  Code = Model->Artifact->run(&Call);
  return nullptr;
}

fathom_status *fathom_context::run(const fathom_tensor *Inputs, const fathom_tensor *Given) {
  Profile.clear();
  Parts.clear();
  std::fill_n(Backwards.data(), Backwards.size(), false);
  RunStrings.clear();
  Outputs = Given;
  if (fathom_status *Status = checkInputs(Inputs))
    return Status;
  if (fathom_status *Status = plan())
    return Status;
  if (fathom_status *Status = checkOutputs())
    return Status;
  if (fathom_status *Status = checkOverlaps(Inputs))
    return Status;
  NextQuestion = Interrupted ? nowNs() + QuestionNs : 0;
  int32_t Code = 0;
  fathom_status *Failed = OnDevice ? OnDevice->run(*this, Code) : runHere(Code);
  Tensors.releaseAll();
  if (Failed) {
    fathom_status_free(std::exchange(OutputFault, nullptr));
    return Failed;
  }
  if (fathom_status *Status = OutputFault) {
    OutputFault = nullptr;
    return Status;
  }
  if (Code)
    return describeFault(Code);
  for (uint32_t I = 0; I < Model->Artifact->output_count; ++I)
    if (Model->Artifact->outputs[I].dtype == FATHOM_ABI_STRING)
      if (fathom_status *Status = spellOutput(I))
        return Status;
  return nullptr;
}

fathom_status *fathom_context::describeFault(int32_t Code) const {
  fathom_code Kind = FATHOM_ERROR_INTERNAL;
  const char *What = "the artifact reported a fault that this runtime does not know";
  switch (Code) {
  case FATHOM_FAULT_INDEX:
    Kind = FATHOM_ERROR_INDEX;
    What = "an index is outside the dimension it selects from";
    break;
  case FATHOM_FAULT_SHAPE:
    Kind = FATHOM_ERROR_SHAPE;
    What = "a computed size is negative, overflows or disagrees with another";
    break;
  case FATHOM_FAULT_INTERRUPTED:
    return makeStatus(FATHOM_ERROR_INTERRUPTED, "the run was interrupted");
  case FATHOM_FAULT_MEMORY:
    Kind = FATHOM_ERROR_MEMORY;
    What = "no memory for a tensor whose size depends on data";
    break;
  }
  const fathom_artifact &Artifact = *Model->Artifact;
  if (FaultNodes) {
    const char *Why = strchr(FaultNodes, '\n');
    size_t Length = Why ? size_t(Why - FaultNodes) : strlen(FaultNodes);
    char Values[256] = "";
    if (Why)
      spellSymbols(Artifact, Symbols.data(), Why + 1, Values, sizeof(Values));
    return withNode(
        makeStatus(Kind, "%s%s (fault %d at node '%.*s')", Why ? Why + 1 : What, Values, Code, int(Length), FaultNodes),
        FaultNodes, Length);
  }
  if (LaunchFault.Code != Code || FaultKernel < 0 || uint32_t(FaultKernel) >= Artifact.kernel_count)
    return makeStatus(Kind, "%s (fault %d)", What, Code);
  const fathom_abi_kernel &Kernel = Artifact.kernels[FaultKernel];
  return withNode(makeStatus(Kind, "%s (fault %d in kernel '%s' of nodes '%s')", What, Code, Kernel.name, Kernel.nodes),
                  Kernel.nodes, strlen(Kernel.nodes));
}
