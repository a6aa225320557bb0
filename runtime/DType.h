// The data types of tensors in one table: their ONNX numbers, sizes and names.
#ifndef FATHOM_RUNTIME_DTYPE_H
#define FATHOM_RUNTIME_DTYPE_H

#include "fathom_rt.h"

namespace fathom {

struct DTypeInfo {
  int32_t Number;
  int32_t Bytes;
  const char *Name;
};

// Null when Number is no data type of this runtime.
const DTypeInfo *findDType(int32_t Number);

} // namespace fathom

#endif
