// A model on a device: its programs and weights, which all contexts there share.
#ifndef FATHOM_RUNTIME_DEVICE_DEVICEMODEL_H
#define FATHOM_RUNTIME_DEVICE_DEVICEMODEL_H

#include "Device.h"

struct fathom_model;

namespace fathom {

struct DeviceModel {
  Device *On = nullptr;
  Programs *Kernels = nullptr;
  DeviceBuffer Weights;
  DeviceModel *Next = nullptr; // the same model on another device

  DeviceModel() = default;
  DeviceModel(const DeviceModel &) = delete;
  DeviceModel &operator=(const DeviceModel &) = delete;
  ~DeviceModel() {
    if (Kernels)
      Kernels->dispose();
  }
  [[nodiscard]] fathom_status *load(const fathom_model &Model);
};

inline bool isForDevice(const fathom_artifact &Artifact) { return Artifact.arena_space != FATHOM_ABI_SPACE_HOST; }

// Brings the model to the device of this number (-1 as openDevice has it), unless it is there. It lives as long as the
// model.
[[nodiscard]] fathom_status *bringToDevice(fathom_model &Model, int32_t Number, DeviceModel *&Brought);
void leaveDevices(fathom_model &Model);

} // namespace fathom

#endif
