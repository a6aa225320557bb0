// A device that runs kernels, as CUDA and OpenCL have it alike: memory with addresses, programs, and queues in which
// everything happens in the order in which it was asked for.
#ifndef FATHOM_RUNTIME_DEVICE_DEVICE_H
#define FATHOM_RUNTIME_DEVICE_DEVICE_H

#include "../Memory.h"
#include "../abi.h"
#include "../fathom_rt.h"

namespace fathom {

// Where something is in a device's memory. The host computes with it and reads nothing there; 0 is nowhere.
using Address = uint64_t;

// When a launch began and ended, in nanoseconds since the queue's timing was started.
struct LaunchTime {
  int64_t Start, End;
};

// The launches of a run, which can be repeated without their host code.
class Recording {
public:
  virtual void dispose() = 0;

protected:
  ~Recording() = default;
};

class Queue {
public:
  // Copies to the device; From may change once it has returned.
  [[nodiscard]] virtual fathom_status *write(Address To, const void *From, size_t Bytes) = 0;
  // Copies to the host. What is at To may be read after wait().
  [[nodiscard]] virtual fathom_status *read(void *To, Address From, size_t Bytes) = 0;
  [[nodiscard]] virtual fathom_status *copy(Address To, Address From, size_t Bytes) = 0;
  [[nodiscard]] virtual fathom_status *clear(Address To, size_t Bytes) = 0;
  // Of an entry of the artifact whose programs the queue was opened with; its arguments are all of 64 bits.
  [[nodiscard]] virtual fathom_status *launch(uint32_t Entry, const int64_t *Arguments, int64_t Groups) = 0;
  [[nodiscard]] virtual fathom_status *wait() = 0;

  // Notes the times of all launches from now on, or no more.
  [[nodiscard]] virtual fathom_status *setTiming(bool On) = 0;
  // Of the launches since then, in order; after wait().
  [[nodiscard]] virtual fathom_status *times(Array<LaunchTime> &Times) = 0;

  // What is asked for between the two is not done but recorded. A device that cannot do it gives null.
  [[nodiscard]] virtual fathom_status *startRecording(bool &Started) = 0;
  [[nodiscard]] virtual fathom_status *endRecording(Recording *&Made) = 0;
  [[nodiscard]] virtual fathom_status *replay(Recording &Recorded) = 0;

  virtual void dispose() = 0;

protected:
  ~Queue() = default;
};

// An artifact's kernels on a device.
class Programs {
public:
  // A queue of its own, or the caller's where there is one (of CUDA a stream).
  [[nodiscard]] virtual fathom_status *openQueue(void *Given, Queue *&Opened) = 0;
  virtual void dispose() = 0;

protected:
  ~Programs() = default;
};

// Lives as long as the process.
class Device {
public:
  virtual const char *name() const = 0;
  // What else helps to know of it, in words.
  virtual void describe(char *Text, size_t Room) const = 0;
  // 64-byte aligned. What names what the memory is for in a message.
  [[nodiscard]] virtual fathom_status *allocate(const char *What, size_t Bytes, Address &Made) = 0;
  virtual void release(Address Memory) = 0;
  [[nodiscard]] virtual fathom_status *load(const fathom_artifact &Artifact, Programs *&Loaded) = 0;
  // Memory of the host that copies are fastest from and to; null where there is none.
  [[nodiscard]] virtual void *allocateHost(size_t Bytes) = 0;
  virtual void releaseHost(void *Memory) = 0;
  // Whether a caller's buffer is in this device's memory rather than the host's.
  [[nodiscard]] virtual fathom_status *isOwn(const void *Buffer, bool &Own) const = 0;

protected:
  ~Device() = default;
};

// The device of this number in a space; -1: the one that the environment variable FATHOM_DEVICE names, or the first.
[[nodiscard]] fathom_status *openDevice(int32_t Space, int32_t Number, Device *&Opened);

// Of a space each. Called once for a number that is opened.
[[nodiscard]] fathom_status *openCudaDevice(int32_t Number, Device *&Opened);
[[nodiscard]] fathom_status *openOpenClDevice(int32_t Number, Device *&Opened);

// Memory of a device that grows as it is asked to; what it held is lost then.
class DeviceBuffer {
public:
  DeviceBuffer() = default;
  DeviceBuffer(const DeviceBuffer &) = delete;
  DeviceBuffer &operator=(const DeviceBuffer &) = delete;
  ~DeviceBuffer() { release(); }

  // Nothing that was asked of the device may still use what it held.
  [[nodiscard]] fathom_status *reserve(Device &On, const char *What, size_t Bytes);
  Address address() const { return Memory; }
  size_t capacity() const { return Capacity; }

private:
  void release();

  Device *Of = nullptr;
  Address Memory = 0;
  size_t Capacity = 0;
};

// The same of the host's memory that copies are fastest from.
class StagingBuffer {
public:
  StagingBuffer() = default;
  StagingBuffer(const StagingBuffer &) = delete;
  StagingBuffer &operator=(const StagingBuffer &) = delete;
  ~StagingBuffer() { release(); }

  [[nodiscard]] fathom_status *reserve(Device &For, size_t Bytes);
  char *data() const { return Memory; }
  size_t capacity() const { return Capacity; }

private:
  void release();

  Device *Of = nullptr;
  char *Memory = nullptr;
  size_t Capacity = 0;
};

} // namespace fathom

#endif
