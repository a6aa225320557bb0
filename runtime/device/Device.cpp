// Which device it is, and memory on it.
#include "Device.h"

#include "../Status.h"

#include <algorithm>
#include <climits>
#include <pthread.h>

using namespace fathom;

// The table of an abstract class names it; it is never called. The C++ library has it too, where there is one.
extern "C" __attribute__((weak, visibility("hidden"))) void __cxa_pure_virtual() { abort(); }

namespace {

struct Opened {
  int32_t Space, Number;
  Device *Found;
};

pthread_mutex_t DevicesLock = PTHREAD_MUTEX_INITIALIZER;
constexpr size_t MaxDevices = 256;
Opened Devices[MaxDevices];
size_t DeviceCount = 0;

fathom_status *numberFromEnvironment(int32_t &Number) {
  Number = 0;
  const char *Text = getenv("FATHOM_DEVICE");
  if (!Text || !*Text)
    return nullptr;
  char *End;
  long Wanted = strtol(Text, &End, 10);
  if (*End || Wanted < 0 || Wanted > INT32_MAX)
    return makeStatus(FATHOM_ERROR_INVALID_ARGUMENT, "FATHOM_DEVICE is '%s': expected the number of a device, from 0",
                      Text);
  Number = int32_t(Wanted);
  return nullptr;
}

fathom_status *openOf(int32_t Space, int32_t Number, Device *&Made) {
  for (size_t I = 0; I < DeviceCount; ++I)
    if (Devices[I].Space == Space && Devices[I].Number == Number) {
      Made = Devices[I].Found;
      return nullptr;
    }
  if (DeviceCount == MaxDevices)
    return makeStatus(FATHOM_ERROR_INVALID_ARGUMENT, "more than %zu devices are in use", MaxDevices);
  fathom_status *Status =
      Space == FATHOM_ABI_SPACE_CUDA ? openCudaDevice(Number, Made) : openOpenClDevice(Number, Made);
  if (!Status)
    Devices[DeviceCount++] = {Space, Number, Made};
  return Status;
}

} // namespace

fathom_status *fathom::openDevice(int32_t Space, int32_t Number, Device *&Made) {
  if (Number < 0)
    if (fathom_status *Status = numberFromEnvironment(Number))
      return Status;
  pthread_mutex_lock(&DevicesLock);
  fathom_status *Status = openOf(Space, Number, Made);
  pthread_mutex_unlock(&DevicesLock);
  return Status;
}

fathom_status *DeviceBuffer::reserve(Device &On, const char *What, size_t Bytes) {
  if (Memory && Bytes <= Capacity)
    return nullptr;
  release();
  Of = &On;
  if (fathom_status *Status = On.allocate(What, std::max<size_t>(Bytes, Alignment), Memory))
    return Status;
  Capacity = Bytes;
  return nullptr;
}

void DeviceBuffer::release() {
  if (Memory)
    Of->release(Memory);
  Memory = 0;
  Capacity = 0;
}

fathom_status *StagingBuffer::reserve(Device &For, size_t Bytes) {
  if (Memory && Bytes <= Capacity)
    return nullptr;
  release();
  Of = &For;
  Memory = static_cast<char *>(For.allocateHost(std::max<size_t>(Bytes, Alignment)));
  if (!Memory)
    return outOfMemory("what is copied to the device and back", Bytes);
  Capacity = Bytes;
  return nullptr;
}

void StagingBuffer::release() {
  if (Memory)
    Of->releaseHost(Memory);
  Memory = nullptr;
  Capacity = 0;
}
