// What a context has on a device, and runs there.
#ifndef FATHOM_RUNTIME_DEVICE_DEVICECONTEXT_H
#define FATHOM_RUNTIME_DEVICE_DEVICECONTEXT_H

#include "../Heap.h"
#include "DeviceModel.h"

struct fathom_context;

namespace fathom {

class DeviceContext {
public:
  DeviceContext() = default;
  DeviceContext(const DeviceContext &) = delete;
  DeviceContext &operator=(const DeviceContext &) = delete;
  ~DeviceContext();

  [[nodiscard]] fathom_status *init(fathom_model &SharedModel, const fathom_context_options &Options);

  // Runs the artifact's code on the context's tensors, which are in the host's memory or the device's. The fault is
  // that of the code or of a kernel.
  [[nodiscard]] fathom_status *run(fathom_context &Context, int32_t &Fault);

  // Whether a caller's buffer is in the device's memory.
  [[nodiscard]] fathom_status *isOwn(const void *Buffer, bool &Own) const { return Shared->On->isOwn(Buffer, Own); }

  // Services of the artifact's code (abi.h).
  int32_t launch(fathom_context &Context, int32_t Kernel, int32_t Entry, const int64_t *Env, int64_t Groups);
  void *allocate(int64_t Bytes) { return Tensors.allocate(Bytes); }
  void release(void *Memory) { Tensors.release(Memory); }
  int32_t read(fathom_context &Context, void *To, const void *From, int64_t Bytes);
  int32_t write(void *To, const void *From, int64_t Bytes);
  int32_t copy(void *To, const void *From, int64_t Bytes);
  void *placeOutput(int32_t Index, int64_t Bytes);

private:
  // A tensor of the caller's: where the code has it, and where it is staged on its way there or back.
  struct Port {
    DeviceBuffer *Buffer;
    size_t Bytes, Staged;
    bool IsOnDevice; // the caller's buffer is
    bool IsKnown;    // its size is, before the run
  };
  // Of runs with these values of the symbols and places of tensors, at the addresses that buffers have now.
  struct Recorded {
    Recording *Run;
    size_t Key; // where it begins among Keys
  };

  int32_t fail(fathom_status *Status);
  [[nodiscard]] bool makePorts(Array<Port> &Ports, uint32_t Count);
  [[nodiscard]] fathom_status *reserve(DeviceBuffer &Buffer, const char *What, size_t Bytes);
  [[nodiscard]] fathom_status *placeTensors(fathom_context &Context);
  [[nodiscard]] fathom_status *bringInputs(fathom_context &Context);
  [[nodiscard]] fathom_status *fetchOutputs(fathom_context &Context);
  [[nodiscard]] fathom_status *doAll(fathom_context &Context, int32_t &Fault);
  [[nodiscard]] fathom_status *execute(fathom_context &Context, int32_t &Fault);
  [[nodiscard]] fathom_status *record(fathom_context &Context, size_t Known, int32_t &Fault);
  size_t findRecording(const fathom_context &Context) const;
  bool noteSizes(const fathom_context &Context);
  int64_t keyAt(const fathom_context &Context, size_t I) const;
  void forgetRecordings();
  int32_t runCode(fathom_context &Context);
  int32_t *faultCodes() const { return reinterpret_cast<int32_t *>(Staging.data()); }
  size_t faultBytes() const;
  // The first fault that a kernel has left, after wait().
  int32_t takeFault(fathom_context &Context);
  [[nodiscard]] fathom_status *noteTimes(fathom_context &Context);

  fathom_model *Model = nullptr;
  DeviceModel *Shared = nullptr;
  Queue *Work = nullptr;
  DeviceBuffer Arena, Scratch, Faults;
  StagingBuffer Staging; // the codes of faults by kernel, then tensors
  Array<Port> Inputs, Outputs;
  Array<const void *> InputAddresses;
  Array<void *> OutputAddresses;
  Array<int64_t> Arguments;
  Heap Tensors;
  Array<Recorded> Recordings;
  Array<int64_t> Keys;
  fathom_status *Failure = nullptr; // of a service
  bool MayHaveFaults = true;        // that nobody has taken
};

} // namespace fathom

#endif
