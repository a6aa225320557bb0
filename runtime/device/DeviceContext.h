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

  [[nodiscard]] fathom_status *init(fathom_model &SharedModel, int32_t Number);

  // Runs the artifact's code on the context's tensors, which are in the host's memory before and after. The fault is
  // that of the code or of a kernel.
  [[nodiscard]] fathom_status *run(fathom_context &Context, int32_t &Fault);

  // Services of the artifact's code (abi.h).
  int32_t launch(fathom_context &Context, int32_t Kernel, int32_t Entry, const int64_t *Env, int64_t Groups);
  void *allocate(int64_t Bytes) { return Tensors.allocate(Bytes); }
  void release(void *Memory) { Tensors.release(Memory); }
  int32_t read(fathom_context &Context, void *To, const void *From, int64_t Bytes);
  int32_t write(void *To, const void *From, int64_t Bytes);
  int32_t copy(void *To, const void *From, int64_t Bytes);
  void *placeOutput(int32_t Index, int64_t Bytes);

private:
  // Of runs with these values of the symbols, at the addresses that buffers have now.
  struct Recorded {
    Recording *Run;
    size_t Symbols; // where they begin among RecordedSymbols
  };

  int32_t fail(fathom_status *Status);
  [[nodiscard]] fathom_status *reserve(DeviceBuffer &Buffer, const char *What, size_t Bytes);
  [[nodiscard]] fathom_status *bringInputs(fathom_context &Context);
  [[nodiscard]] fathom_status *fetchOutputs(fathom_context &Context);
  [[nodiscard]] fathom_status *execute(fathom_context &Context, int32_t &Fault);
  [[nodiscard]] fathom_status *record(fathom_context &Context, int32_t &Fault);
  Recording *findRecording(const fathom_context &Context, bool &IsKnown) const;
  void forgetRecordings();
  int32_t runCode(fathom_context &Context);
  // The first fault that a kernel has left, after wait().
  int32_t takeFault(fathom_context &Context);
  [[nodiscard]] fathom_status *noteTimes(fathom_context &Context);

  fathom_model *Model = nullptr;
  DeviceModel *Shared = nullptr;
  Queue *Work = nullptr;
  DeviceBuffer Arena, Scratch, Faults;
  Array<DeviceBuffer *> InputBuffers, OutputBuffers;
  Array<const void *> InputAddresses;
  Array<void *> OutputAddresses;
  Array<int64_t> Arguments;
  Array<int32_t> FaultCodes; // by kernel
  Heap Tensors;
  Array<Recorded> Recordings;
  Array<int64_t> RecordedSymbols;
  fathom_status *Failure = nullptr; // of a service
};

} // namespace fathom

#endif
