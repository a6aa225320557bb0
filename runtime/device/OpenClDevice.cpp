// Devices with OpenCL 1.2. Its host has no addresses, so they are made up: each buffer gets a range of them, and a
// kernel gets the buffer that an address lies in and the offset there.
#include "Device.h"
#include "OpenClLibrary.h"
#include "Parallel.h"

#include "../Status.h"

#include <algorithm>
#include <climits>
#include <cstdio>
#include <cstring>
#include <pthread.h>

using namespace fathom;

namespace {

OpenClLibrary Library;

struct Place {
  ClHandle Buffer = nullptr;
  size_t Offset = 0;
};

// Ranges of addresses in ascending order. Several threads ask at once.
class Addresses {
public:
  Address add(ClHandle Buffer, size_t Bytes) {
    Locked Lock(Mutex);
    Address Begin = Next;
    if (!Ranges.push({Begin, Bytes, Buffer}))
      return 0;
    // So far apart that what lies just behind one is in none.
    Next = alignUp(Begin + Bytes + Gap, Gap);
    return Begin;
  }
  ClHandle remove(Address Begin) {
    Locked Lock(Mutex);
    size_t I = find(Begin);
    if (I == Ranges.size())
      return nullptr;
    ClHandle Buffer = Ranges[I].Buffer;
    for (; I + 1 < Ranges.size(); ++I)
      Ranges[I] = Ranges[I + 1];
    Ranges.pop();
    return Buffer;
  }
  // No buffer for an address that is in none; the end of a buffer is in it, as that is where empty tensors may be.
  Place placeOf(Address At) {
    Locked Lock(Mutex);
    size_t I = find(At);
    if (I == Ranges.size() || At - Ranges[I].Begin > Ranges[I].Bytes)
      return {};
    return {Ranges[I].Buffer, size_t(At - Ranges[I].Begin)};
  }

private:
  struct Range {
    Address Begin;
    size_t Bytes;
    ClHandle Buffer;
  };
  class Locked {
  public:
    explicit Locked(pthread_mutex_t &Mutex) : Mutex(Mutex) { pthread_mutex_lock(&Mutex); }
    ~Locked() { pthread_mutex_unlock(&Mutex); }
    Locked(const Locked &) = delete;
    Locked &operator=(const Locked &) = delete;

  private:
    pthread_mutex_t &Mutex;
  };
  // The last range that begins at or before an address; as many as there are where none does.
  size_t find(Address At) const {
    const Range *Begin = Ranges.data(), *End = Begin + Ranges.size();
    const Range *Behind = std::upper_bound(Begin, End, At, [](Address Left, const Range &R) { return Left < R.Begin; });
    return Behind == Begin ? Ranges.size() : size_t(Behind - Begin) - 1;
  }

  static constexpr Address Gap = 1 << 16;
  pthread_mutex_t Mutex = PTHREAD_MUTEX_INITIALIZER;
  Array<Range> Ranges;
  Address Next = Gap;
};

class OpenClDevice final : public Device {
public:
  fathom_status *open(int32_t Number);
  const char *name() const override { return Name; }
  void describe(char *Text, size_t Room) const override {
    char Driver[128] = "";
    Library.deviceInfo(Handle, ClDeviceVersion, sizeof(Driver) - 1, Driver, nullptr);
    snprintf(Text, Room, "%s, %llu MiB", Driver, static_cast<unsigned long long>(Memory >> 20));
  }
  fathom_status *allocate(const char *What, size_t Bytes, Address &Made) override;
  void release(Address Memory) override {
    if (ClHandle Buffer = Places.remove(Memory))
      Library.releaseBuffer(Buffer);
  }
  // OpenCL says of no memory whose it is; on some devices an aligned page is all that matters.
  void *allocateHost(size_t Bytes) override { return aligned_alloc(Page, alignUp(Bytes, Page)); }
  void releaseHost(void *Memory) override { free(Memory); }
  // A buffer of OpenCL has no address that a caller could give.
  fathom_status *isOwn(const void *, bool &Own) const override {
    Own = false;
    return nullptr;
  }
  fathom_status *load(const fathom_artifact &Artifact, Programs *&Loaded) override;

  ClHandle Handle = nullptr, Context = nullptr;
  bool HasExactQuotients = false;
  size_t GroupItems = 0;
  Addresses Places;

private:
  uint64_t number(uint32_t What) const {
    uint64_t Value = 0;
    return Library.deviceInfo(Handle, What, sizeof(Value), &Value, nullptr) ? 0 : Value;
  }

  static constexpr size_t Page = 4096;
  uint64_t Memory = 0, LargestBuffer = 0;
  char Name[256] = "";
};

class OpenClPrograms final : public Programs {
public:
  fathom_status *load(OpenClDevice &Device, const fathom_artifact &Loaded);
  fathom_status *build(size_t I);
  fathom_status *openQueue(void *Given, Queue *&Opened) override;
  void dispose() override {
    for (size_t I = 0; I < Built.size(); ++I)
      if (Built[I])
        Library.releaseProgram(Built[I]);
    destroy(this);
  }

  OpenClDevice *On = nullptr;
  const fathom_artifact *Artifact = nullptr;
  Array<ClHandle> Built;
};

class OpenClQueue final : public Queue {
public:
  fathom_status *open(OpenClPrograms &Loaded);

  fathom_status *write(Address To, const void *From, size_t Bytes) override {
    Place At = On->Places.placeOf(To);
    constexpr ClBool Blocking = 1;
    return check("copying to the device",
                 Bytes ? Library.write(Handle, At.Buffer, Blocking, At.Offset, Bytes, From, 0, nullptr, nullptr) : 0);
  }
  fathom_status *read(void *To, Address From, size_t Bytes) override {
    Place At = On->Places.placeOf(From);
    return check("copying from the device",
                 Bytes ? Library.read(Handle, At.Buffer, 0, At.Offset, Bytes, To, 0, nullptr, nullptr) : 0);
  }
  fathom_status *copy(Address To, Address From, size_t Bytes) override {
    Place At = On->Places.placeOf(To), Of = On->Places.placeOf(From);
    return check("copying on the device",
                 Bytes ? Library.copy(Handle, Of.Buffer, At.Buffer, Of.Offset, At.Offset, Bytes, 0, nullptr, nullptr)
                       : 0);
  }
  fathom_status *clear(Address To, size_t Bytes) override {
    Place At = On->Places.placeOf(To);
    char Zero = 0;
    return check("clearing memory",
                 Bytes ? Library.fill(Handle, At.Buffer, &Zero, 1, At.Offset, Bytes, 0, nullptr, nullptr) : 0);
  }
  fathom_status *launch(uint32_t Entry, const int64_t *Arguments, int64_t Groups) override;
  fathom_status *wait() override { return check("running on the device", Library.finish(Handle)); }

  fathom_status *setTiming(bool On) override {
    Timing = On;
    forgetEvents();
    return nullptr;
  }
  fathom_status *times(Array<LaunchTime> &Times) override;

  // OpenCL has nothing like it.
  fathom_status *startRecording(bool &Started) override {
    Started = false;
    return nullptr;
  }
  fathom_status *endRecording(Recording *&) override { return nullptr; }
  fathom_status *replay(Recording &) override { return nullptr; }

  void dispose() override {
    if (Handle) {
      Library.finish(Handle);
      Library.releaseQueue(Handle);
    }
    for (size_t I = 0; I < Kernels.size(); ++I)
      if (Kernels[I])
        Library.releaseKernel(Kernels[I]);
    forgetEvents();
    destroy(this);
  }

private:
  fathom_status *check(const char *What, int Result) const { return Result ? Library.failed(What, Result) : nullptr; }
  void forgetEvents() {
    for (size_t I = 0; I < Events.size(); ++I)
      Library.releaseEvent(Events[I]);
    Events.clear();
  }

  OpenClDevice *On = nullptr;
  const fathom_artifact *Artifact = nullptr;
  ClHandle Handle = nullptr;
  Array<ClHandle> Kernels; // of this queue alone: a kernel's arguments are its state
  Array<ClHandle> Events;
  bool Timing = false;
};

// The device of this number, counted through all platforms.
fathom_status *OpenClDevice::open(int32_t Number) {
  constexpr uint32_t Most = 64;
  ClHandle Platforms[Most];
  uint32_t PlatformCount = 0, Before = 0;
  int Result = Library.platforms(Most, Platforms, &PlatformCount);
  if (Result && Result != ClNoPlatform)
    return Library.failed("looking for OpenCL platforms", Result);
  for (uint32_t I = 0; !Result && I < std::min(PlatformCount, Most) && !Handle; ++I) {
    ClHandle Devices[Most];
    uint32_t Count = 0;
    if (int Found = Library.devices(Platforms[I], ClAllDevices, Most, Devices, &Count))
      if (Found != ClDeviceNotFound)
        return Library.failed("looking for OpenCL devices", Found);
    Count = std::min(Count, Most);
    if (uint32_t(Number) < Before + Count)
      Handle = Devices[uint32_t(Number) - Before];
    Before += Count;
  }
  if (!Handle && !Before)
    return makeStatus(FATHOM_ERROR_DEVICE, "OpenCL's library is here and finds no device: install a device's driver "
                                           "(for a CPU, Debian's pocl-opencl-icd), or compile the model for this "
                                           "machine's CPU");
  if (!Handle)
    return makeStatus(FATHOM_ERROR_DEVICE, "there is no OpenCL device %d: there are %u, numbered from 0", Number,
                      Before);
  Library.deviceInfo(Handle, ClDeviceName, sizeof(Name) - 1, Name, nullptr);
  HasExactQuotients = number(ClSingleFloats) & ClExactQuotients;
  Memory = number(ClGlobalMemory), LargestBuffer = number(ClLargestBuffer);
  GroupItems = size_t(number(ClGroupItems));
  Context = Library.createContext(nullptr, 1, &Handle, nullptr, nullptr, &Result);
  return Result ? Library.failed("opening the OpenCL device", Result) : nullptr;
}

fathom_status *OpenClDevice::allocate(const char *What, size_t Bytes, Address &Made) {
  int Result = ClInvalidBufferSize;
  ClHandle Buffer = nullptr;
  if (Bytes <= LargestBuffer)
    Buffer = Library.createBuffer(Context, ClReadWrite, Bytes, nullptr, &Result);
  if (Result)
    return makeStatus(
        FATHOM_ERROR_MEMORY, "no memory for %s (%zu bytes) on '%s', which has %llu bytes and takes %llu in one piece",
        What, Bytes, Name, static_cast<unsigned long long>(Memory), static_cast<unsigned long long>(LargestBuffer));
  Made = Places.add(Buffer, Bytes);
  if (Made)
    return nullptr;
  Library.releaseBuffer(Buffer);
  return outOfMemory("the list of buffers", sizeof(Place));
}

fathom_status *OpenClDevice::load(const fathom_artifact &Artifact, Programs *&Loaded) {
  auto *Made = create<OpenClPrograms>();
  if (!Made)
    return outOfMemory("the programs", sizeof(OpenClPrograms));
  if (fathom_status *Status = Made->load(*this, Artifact)) {
    Made->dispose();
    return Status;
  }
  Loaded = Made;
  return nullptr;
}

fathom_status *OpenClPrograms::load(OpenClDevice &Device, const fathom_artifact &Loaded) {
  On = &Device, Artifact = &Loaded;
  if (!Built.allocate(Loaded.program_count))
    return outOfMemory("the programs", Loaded.program_count * sizeof(ClHandle));
  for (uint32_t I = 0; I < Loaded.entry_count; ++I)
    if (size_t(Loaded.entries[I].group_items) > Device.GroupItems)
      return makeStatus(FATHOM_ERROR_DEVICE, "kernel '%s' has work groups of %d items, and '%s' takes %zu at most",
                        Loaded.entries[I].name, Loaded.entries[I].group_items, Device.name(), Device.GroupItems);
  auto Build = [](void *Self, size_t I) { return static_cast<OpenClPrograms *>(Self)->build(I); };
  return inParallel(Loaded.program_count, Build, this);
}

fathom_status *OpenClPrograms::build(size_t I) {
  const char *Text = Artifact->programs[I].data;
  size_t Length = size_t(Artifact->programs[I].size);
  int Result = 0;
  Built[I] = Library.createProgram(On->Context, 1, &Text, &Length, &Result);
  if (Result)
    return Library.failed("making an OpenCL program", Result);
  const char *Options =
      On->HasExactQuotients ? "-cl-std=CL1.2 -cl-fp32-correctly-rounded-divide-sqrt" : "-cl-std=CL1.2";
  Result = Library.build(Built[I], 1, &On->Handle, Options, nullptr, nullptr);
  if (!Result)
    return nullptr;
  char Log[2048] = "";
  Library.buildInfo(Built[I], On->Handle, ClBuildLog, sizeof(Log) - 1, Log, nullptr);
  return makeStatus(FATHOM_ERROR_DEVICE, "the driver of '%s' does not build a kernel (%d): %s", On->name(), Result,
                    Log);
}

fathom_status *OpenClPrograms::openQueue(void *Given, Queue *&Opened) {
  if (Given)
    return makeStatus(FATHOM_ERROR_INVALID_ARGUMENT, "options.device_stream is for CUDA, and the model is for OpenCL");
  auto *Made = create<OpenClQueue>();
  if (!Made)
    return outOfMemory("the device's queue", sizeof(OpenClQueue));
  if (fathom_status *Status = Made->open(*this)) {
    Made->dispose();
    return Status;
  }
  Opened = Made;
  return nullptr;
}

fathom_status *OpenClQueue::open(OpenClPrograms &Loaded) {
  On = Loaded.On, Artifact = Loaded.Artifact;
  int Result = 0;
  Handle = Library.createQueue(On->Context, On->Handle, ClProfiling, &Result);
  if (Result)
    return Library.failed("opening the device's queue", Result);
  if (!Kernels.allocate(Artifact->entry_count))
    return outOfMemory("the kernels", Artifact->entry_count * sizeof(ClHandle));
  for (uint32_t I = 0; I < Artifact->entry_count; ++I) {
    const fathom_abi_entry &Entry = Artifact->entries[I];
    Kernels[I] = Library.createKernel(Loaded.Built[size_t(Entry.program)], Entry.name, &Result);
    if (Result)
      return Library.failed("looking for a kernel in its program", Result);
  }
  return nullptr;
}

fathom_status *OpenClQueue::launch(uint32_t Index, const int64_t *Arguments, int64_t Groups) {
  const fathom_abi_entry &Entry = Artifact->entries[Index];
  ClHandle Kernel = Kernels[Index];
  uint32_t At = 0;
  int Result = 0;
  for (int32_t I = 0; !Result && I < Entry.pointers + 2; ++I) {
    Place Where = On->Places.placeOf(Address(Arguments[I]));
    uint64_t Offset = Where.Offset;
    Result = Library.setArgument(Kernel, At++, sizeof(ClHandle), Where.Buffer ? &Where.Buffer : nullptr);
    if (!Result)
      Result = Library.setArgument(Kernel, At++, sizeof(Offset), &Offset);
  }
  for (int32_t I = 0; !Result && I < Entry.symbols; ++I)
    Result = Library.setArgument(Kernel, At++, sizeof(int64_t), Arguments + Entry.pointers + 2 + I);
  size_t Local = size_t(Entry.group_items), Global = 0;
  if (__builtin_mul_overflow(size_t(Groups), Local, &Global))
    return makeStatus(FATHOM_ERROR_SHAPE, "a kernel has %lld work groups, more than there can be",
                      static_cast<long long>(Groups));
  ClHandle Event = nullptr;
  if (!Result)
    Result = Library.launch(Handle, Kernel, 1, nullptr, &Global, &Local, 0, nullptr, Timing ? &Event : nullptr);
  if (Result)
    return makeStatus(FATHOM_ERROR_DEVICE, "launching kernel '%s' on '%s' failed (%d)", Entry.name, On->name(), Result);
  if (Event && !Events.push(Event)) {
    Library.releaseEvent(Event);
    return outOfMemory("the times of kernels", Events.size());
  }
  return nullptr;
}

fathom_status *OpenClQueue::times(Array<LaunchTime> &Times) {
  Times.clear();
  uint64_t Base = 0;
  for (size_t I = 0; I < Events.size(); ++I) {
    uint64_t Start = 0, End = 0;
    int Result = I ? 0 : Library.eventTime(Events[I], ClQueued, sizeof(Base), &Base, nullptr);
    if (!Result)
      Result = Library.eventTime(Events[I], ClStart, sizeof(Start), &Start, nullptr);
    if (!Result)
      Result = Library.eventTime(Events[I], ClEnd, sizeof(End), &End, nullptr);
    if (Result)
      return Library.failed("timing kernels", Result);
    if (!Times.push({int64_t(Start - Base), int64_t(End - Base)}))
      return outOfMemory("the times of kernels", Events.size());
  }
  return nullptr;
}

} // namespace

fathom_status *fathom::openOpenClDevice(int32_t Number, Device *&Opened) {
  if (fathom_status *Status = Library.load())
    return Status;
  auto *Made = create<OpenClDevice>();
  if (!Made)
    return outOfMemory("the device", sizeof(OpenClDevice));
  if (fathom_status *Status = Made->open(Number)) {
    destroy(Made);
    return Status;
  }
  Opened = Made;
  return nullptr;
}
