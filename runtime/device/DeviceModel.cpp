// Loading of a model's programs and weights to devices, once each.
#include "DeviceModel.h"

#include "../Model.h"
#include "../Status.h"

#include <pthread.h>

using namespace fathom;

static pthread_mutex_t ModelsLock = PTHREAD_MUTEX_INITIALIZER;

fathom_status *DeviceModel::load(const fathom_model &Model) {
  const fathom_artifact &Artifact = *Model.Artifact;
  if (fathom_status *Status = On->load(Artifact, Kernels))
    return Status;
  size_t Bytes = size_t(Artifact.weights_size);
  if (fathom_status *Status = Weights.reserve(*On, "the weights", Bytes))
    return Status;
  Queue *Uploads = nullptr;
  if (fathom_status *Status = Kernels->openQueue(nullptr, Uploads))
    return Status;
  fathom_status *Status = Uploads->write(Weights.address(), Model.Weights, Bytes);
  if (!Status)
    Status = Uploads->wait();
  Uploads->dispose();
  return Status;
}

static fathom_status *bring(fathom_model &Model, int32_t Number, DeviceModel *&Brought) {
  Device *On = nullptr;
  if (fathom_status *Status = openDevice(Model.Artifact->arena_space, Number, On))
    return Status;
  for (DeviceModel *There = Model.OnDevices; There; There = There->Next)
    if (There->On == On) {
      Brought = There;
      return nullptr;
    }
  auto *Made = create<DeviceModel>();
  if (!Made)
    return outOfMemory("the model", sizeof(DeviceModel));
  Made->On = On;
  if (fathom_status *Status = Made->load(Model)) {
    destroy(Made);
    return Status;
  }
  Made->Next = Model.OnDevices;
  Model.OnDevices = Brought = Made;
  return nullptr;
}

fathom_status *fathom::bringToDevice(fathom_model &Model, int32_t Number, DeviceModel *&Brought) {
  pthread_mutex_lock(&ModelsLock);
  fathom_status *Status = bring(Model, Number, Brought);
  pthread_mutex_unlock(&ModelsLock);
  return Status;
}

void fathom::leaveDevices(fathom_model &Model) {
  while (DeviceModel *First = Model.OnDevices) {
    Model.OnDevices = First->Next;
    destroy(First);
  }
}
