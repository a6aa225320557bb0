// NVIDIA's GPUs by their driver. Everything happens in the device's primary context, which other libraries of the
// process use as well, so that addresses can be handed on.
#include "CudaDriver.h"
#include "Device.h"
#include "Parallel.h"

#include "../Status.h"

#include <climits>
#include <cstdio>

using namespace fathom;

namespace {

CudaDriver Driver;

class CudaDevice;

// The device's context is the thread's while this is there.
class Current {
public:
  explicit Current(void *Context) { Driver.pushContext(Context); }
  ~Current() {
    void *Ignored;
    Driver.popContext(&Ignored);
  }
  Current(const Current &) = delete;
  Current &operator=(const Current &) = delete;
};

class CudaRecording final : public Recording {
public:
  void *Context = nullptr, *Executable = nullptr;
  void dispose() override {
    {
      Current Here(Context);
      Driver.destroyExecutable(Executable);
    }
    destroy(this);
  }
};

struct CudaKernel {
  void *Function;
  unsigned Items;
  uint32_t Arguments;
};

class CudaPrograms final : public Programs {
public:
  explicit CudaPrograms() = default;
  fathom_status *load(const fathom_artifact &Artifact);
  fathom_status *openQueue(void *Given, Queue *&Opened) override;
  void dispose() override {
    {
      Current Here(Context);
      for (size_t I = 0; I < Modules.size(); ++I)
        if (Modules[I])
          Driver.unloadModule(Modules[I]);
    }
    destroy(this);
  }

  void *Context = nullptr;
  const char *DeviceName = "";
  int Version = 0;
  Array<void *> Modules;
  Array<CudaKernel> Kernels;

private:
  fathom_status *loadProgram(size_t I);
  fathom_status *refused(const char *What, int Result, const char *Log) const;

  const fathom_artifact *Artifact = nullptr;
};

class CudaQueue final : public Queue {
public:
  fathom_status *open(CudaPrograms &Loaded, void *Given) {
    Of = &Loaded;
    Current Here(Of->Context);
    constexpr unsigned NonBlocking = 1; // beside the default stream
    if (int Result = Driver.createStream(&Own, NonBlocking))
      return Driver.failed("opening a stream", Result);
    Stream = Usual = Given ? Given : Own;
    void *Theirs = nullptr;
    if (int Result = Given ? Driver.streamContext(Given, &Theirs) : 0)
      return Driver.failed("using the caller's stream", Result);
    if (Given && Theirs != Of->Context)
      return makeStatus(FATHOM_ERROR_INVALID_ARGUMENT,
                        "options.device_stream is a stream of another device or context than that of '%s'",
                        Of->DeviceName);
    uint32_t Most = 0;
    for (size_t I = 0; I < Of->Kernels.size(); ++I)
      Most = Of->Kernels[I].Arguments > Most ? Of->Kernels[I].Arguments : Most;
    return Parameters.allocate(Most) ? nullptr : outOfMemory("the arguments of kernels", Most * sizeof(void *));
  }

  fathom_status *write(Address To, const void *From, size_t Bytes) override {
    Current Here(Of->Context);
    return check("copying to the device", Bytes ? Driver.write(To, From, Bytes, Stream) : 0);
  }
  fathom_status *read(void *To, Address From, size_t Bytes) override {
    Current Here(Of->Context);
    return check("copying from the device", Bytes ? Driver.read(To, From, Bytes, Stream) : 0);
  }
  fathom_status *copy(Address To, Address From, size_t Bytes) override {
    Current Here(Of->Context);
    return check("copying on the device", Bytes ? Driver.copy(To, From, Bytes, Stream) : 0);
  }
  fathom_status *clear(Address To, size_t Bytes) override {
    Current Here(Of->Context);
    return check("clearing memory", Bytes ? Driver.fill(To, 0, Bytes, Stream) : 0);
  }

  fathom_status *launch(uint32_t Entry, const int64_t *Arguments, int64_t Groups) override {
    const CudaKernel &Kernel = Of->Kernels[Entry];
    if (Groups > INT32_MAX)
      return makeStatus(FATHOM_ERROR_SHAPE, "a kernel has %lld work groups, and a GPU takes %d at most",
                        static_cast<long long>(Groups), INT32_MAX);
    for (uint32_t I = 0; I < Kernel.Arguments; ++I)
      Parameters[I] = const_cast<int64_t *>(Arguments + I);
    Current Here(Of->Context);
    if (Timing)
      if (fathom_status *Status = stamp())
        return Status;
    int Result = Driver.launch(Kernel.Function, unsigned(Groups), 1, 1, Kernel.Items, 1, 1, 0, Stream,
                               Parameters.data(), nullptr);
    if (Result)
      return Driver.failed("launching a kernel", Result);
    return Timing ? stamp() : nullptr;
  }

  fathom_status *wait() override {
    Current Here(Of->Context);
    return check("running on the device", Driver.waitFor(Stream));
  }

  // The first stamp is the start of all, two of each launch follow.
  fathom_status *setTiming(bool On) override {
    Timing = On;
    Stamps = 0;
    Current Here(Of->Context);
    return On ? stamp() : nullptr;
  }
  fathom_status *times(Array<LaunchTime> &Times) override {
    Current Here(Of->Context);
    Times.clear();
    for (size_t I = 1; I + 1 < Stamps; I += 2) {
      float Start = 0, End = 0; // milliseconds
      int Result = Driver.elapsed(&Start, Events[0], Events[I]);
      if (!Result)
        Result = Driver.elapsed(&End, Events[0], Events[I + 1]);
      if (Result)
        return Driver.failed("timing kernels", Result);
      if (!Times.push({int64_t(double(Start) * 1e6), int64_t(double(End) * 1e6)}))
        return outOfMemory("the times of kernels", Stamps);
    }
    return nullptr;
  }

  fathom_status *startRecording(bool &Started) override {
    Current Here(Of->Context);
    constexpr int Relaxed = 2; // what other threads do meanwhile is their own
    if (int Result = Driver.beginCapture(Own, Relaxed))
      return Driver.failed("recording a run", Result);
    Stream = Own, Started = true;
    return nullptr;
  }
  fathom_status *endRecording(Recording *&Made) override {
    Current Here(Of->Context);
    void *Graph = nullptr, *Executable = nullptr;
    Stream = Usual;
    int Result = Driver.endCapture(Own, &Graph);
    if (!Result) {
      Result = Driver.instantiate(&Executable, Graph, 0);
      Driver.destroyGraph(Graph);
    }
    if (Result)
      return Driver.failed("recording a run", Result);
    auto *Recorded = create<CudaRecording>();
    if (!Recorded) {
      Driver.destroyExecutable(Executable);
      return outOfMemory("the recording of a run", sizeof(CudaRecording));
    }
    Recorded->Context = Of->Context, Recorded->Executable = Executable;
    Made = Recorded;
    return nullptr;
  }
  fathom_status *replay(Recording &Recorded) override {
    Current Here(Of->Context);
    return check("repeating a run", Driver.launchGraph(static_cast<CudaRecording &>(Recorded).Executable, Stream));
  }

  void dispose() override {
    {
      Current Here(Of->Context);
      // The caller's may be gone by now; each run has waited for what it asked for there.
      if (Own) {
        Driver.waitFor(Own);
        Driver.destroyStream(Own);
      }
      for (size_t I = 0; I < Events.size(); ++I)
        Driver.destroyEvent(Events[I]);
    }
    destroy(this);
  }

private:
  fathom_status *check(const char *What, int Result) const { return Result ? Driver.failed(What, Result) : nullptr; }

  fathom_status *stamp() {
    if (Stamps == Events.size()) {
      void *Event = nullptr;
      if (int Result = Driver.createEvent(&Event, 0))
        return Driver.failed("timing kernels", Result);
      if (!Events.push(Event)) {
        Driver.destroyEvent(Event);
        return outOfMemory("the times of kernels", Stamps);
      }
    }
    return check("timing kernels", Driver.recordEvent(Events[Stamps++], Stream));
  }

  CudaPrograms *Of = nullptr;
  // What is recorded goes to the queue's own stream, as not every stream of a caller's can be recorded.
  void *Stream = nullptr, *Usual = nullptr, *Own = nullptr;
  Array<void *> Parameters, Events;
  size_t Stamps = 0;
  bool Timing = false;
};

class CudaDevice final : public Device {
public:
  fathom_status *open(int Number) {
    int Count = 0;
    if (int Result = Driver.deviceCount(&Count))
      return Driver.failed("counting the GPUs", Result);
    if (Number >= Count)
      return makeStatus(FATHOM_ERROR_DEVICE, "there is no GPU %d: the driver has %d, numbered from 0", Number, Count);
    int Major = 0, Minor = 0, Result = Driver.deviceGet(&Handle, Number);
    if (!Result)
      Result = Driver.deviceName(Name, sizeof(Name), Handle);
    if (!Result)
      Result = Driver.deviceAttribute(&Major, CudaMajor, Handle);
    if (!Result)
      Result = Driver.deviceAttribute(&Minor, CudaMinor, Handle);
    if (!Result)
      Result = Driver.driverVersion(&Version);
    if (!Result)
      Result = Driver.retainContext(&Context, Handle);
    Architecture = 10 * Major + Minor;
    return Result ? Driver.failed("opening the GPU", Result) : nullptr;
  }

  const char *name() const override { return Name; }
  void describe(char *Text, size_t Room) const override {
    Current Here(Context);
    size_t Free = 0, Total = 0;
    Driver.memoryInfo(&Free, &Total);
    snprintf(Text, Room, "sm_%d, %zu MiB, driver for CUDA %d.%d", Architecture, Total >> 20, Version / 1000,
             Version % 1000 / 10);
  }

  fathom_status *allocate(const char *What, size_t Bytes, Address &Made) override {
    Current Here(Context);
    int Result = Driver.allocate(&Made, Bytes);
    if (Result != CudaOutOfMemory)
      return Result ? Driver.failed("allocating memory", Result) : nullptr;
    size_t Free = 0, Total = 0;
    Driver.memoryInfo(&Free, &Total);
    return makeStatus(FATHOM_ERROR_MEMORY, "no memory for %s (%zu bytes) on '%s', which has %zu of %zu bytes left",
                      What, Bytes, Name, Free, Total);
  }
  void release(Address Memory) override {
    Current Here(Context);
    Driver.release(Memory);
  }

  void *allocateHost(size_t Bytes) override {
    Current Here(Context);
    void *Memory = nullptr;
    return Driver.allocateHost(&Memory, Bytes, 0) ? nullptr : Memory;
  }
  void releaseHost(void *Memory) override {
    Current Here(Context);
    if (Memory)
      Driver.releaseHost(Memory);
  }

  fathom_status *isOwn(const void *Buffer, bool &Own) const override {
    Current Here(Context);
    unsigned Type = 0;
    int Ordinal = 0, Asked[] = {CudaMemoryType, CudaOrdinal};
    void *Told[] = {&Type, &Ordinal};
    // Of ordinary memory of the host, which the driver does not know, this tells nothing and is no error.
    int Result = Driver.pointerAttributes(2, Asked, Told, reinterpret_cast<CudaPointer>(Buffer));
    Own = Buffer && !Result && Type == CudaDeviceMemory;
    if (!Own || Ordinal == Handle)
      return nullptr;
    return makeStatus(FATHOM_ERROR_INVALID_ARGUMENT,
                      "a tensor is in the memory of GPU %d and the context runs on GPU %d ('%s')", Ordinal, Handle,
                      Name);
  }

  fathom_status *load(const fathom_artifact &Artifact, Programs *&Loaded) override {
    if (Artifact.device_architecture > Architecture)
      return makeStatus(FATHOM_ERROR_DEVICE,
                        "the model is for GPUs of architecture sm_%d or later, and '%s' is sm_%d: compile it with "
                        "--target cuda:sm_%d",
                        Artifact.device_architecture, Name, Architecture, Architecture);
    auto *Made = create<CudaPrograms>();
    if (!Made)
      return outOfMemory("the programs", sizeof(CudaPrograms));
    Made->Context = Context, Made->DeviceName = Name, Made->Version = Version;
    if (fathom_status *Status = Made->load(Artifact)) {
      Made->dispose();
      return Status;
    }
    Loaded = Made;
    return nullptr;
  }

private:
  int Handle = 0, Architecture = 0, Version = 0;
  void *Context = nullptr;
  char Name[256] = "";
};

fathom_status *CudaPrograms::load(const fathom_artifact &Loaded) {
  Artifact = &Loaded;
  if (!Modules.allocate(Loaded.program_count) || !Kernels.allocate(Loaded.entry_count))
    return outOfMemory("the programs", Loaded.entry_count * sizeof(CudaKernel));
  // The driver translates each in the thread that asks.
  auto Load = [](void *Self, size_t I) { return static_cast<CudaPrograms *>(Self)->loadProgram(I); };
  if (fathom_status *Status = inParallel(Loaded.program_count, Load, this))
    return Status;
  Current Here(Context);
  for (uint32_t I = 0; I < Loaded.entry_count; ++I) {
    const fathom_abi_entry &Entry = Loaded.entries[I];
    void *Function = nullptr;
    if (int Result = Driver.function(&Function, Modules[size_t(Entry.program)], Entry.name))
      return refused(Entry.name, Result, "");
    Kernels[I] = {Function, unsigned(Entry.group_items), uint32_t(Entry.pointers + 2 + Entry.symbols)};
  }
  return nullptr;
}

fathom_status *CudaPrograms::loadProgram(size_t I) {
  Current Here(Context);
  char Log[2048] = "";
  int Options[] = {CudaJitErrorLog, CudaJitErrorLogBytes};
  void *Values[] = {Log, reinterpret_cast<void *>(uintptr_t(sizeof(Log) - 1))};
  void *Module = nullptr;
  if (int Result = Driver.loadModule(&Module, Artifact->programs[I].data, 2, Options, Values)) {
    const char *Name = "of the model";
    for (uint32_t E = 0; E < Artifact->entry_count; ++E)
      if (size_t(Artifact->entries[E].program) == I)
        Name = Artifact->entries[E].name;
    return refused(Name, Result, Log);
  }
  Modules[I] = Module;
  return nullptr;
}

fathom_status *CudaPrograms::refused(const char *What, int Result, const char *Log) const {
  if (Result == CudaUnsupportedPtxVersion || Result == CudaInvalidPtx)
    return makeStatus(
        FATHOM_ERROR_DEVICE,
        "the NVIDIA driver (for CUDA %d.%d) does not take kernel '%s' for '%s': install a newer driver%s%s",
        Version / 1000, Version % 1000 / 10, What, DeviceName, *Log ? "; it says: " : "", Log);
  if (Result == CudaNoBinaryForGpu)
    return makeStatus(FATHOM_ERROR_DEVICE,
                      "the model's kernels are for another architecture than that of '%s': compile the model for it",
                      DeviceName);
  char Doing[512];
  snprintf(Doing, sizeof(Doing), "loading kernel '%s' for '%s'", What, DeviceName);
  return Driver.failed(Doing, Result);
}

fathom_status *CudaPrograms::openQueue(void *Given, Queue *&Opened) {
  auto *Made = create<CudaQueue>();
  if (!Made)
    return outOfMemory("the device's queue", sizeof(CudaQueue));
  if (fathom_status *Status = Made->open(*this, Given)) {
    Made->dispose();
    return Status;
  }
  Opened = Made;
  return nullptr;
}

} // namespace

fathom_status *fathom::openCudaDevice(int32_t Number, Device *&Opened) {
  if (fathom_status *Status = Driver.load())
    return Status;
  auto *Made = create<CudaDevice>();
  if (!Made)
    return outOfMemory("the device", sizeof(CudaDevice));
  if (fathom_status *Status = Made->open(Number)) {
    destroy(Made);
    return Status;
  }
  Opened = Made;
  return nullptr;
}
