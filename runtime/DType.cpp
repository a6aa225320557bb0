// The table of data types and the API's questions about it.
#include "DType.h"

#include "abi.h"

using namespace fathom;

static const DTypeInfo Table[] = {
    {FATHOM_ABI_F32, 4, "float32"},
    {FATHOM_ABI_U8, 1, "uint8"},
    {FATHOM_ABI_I8, 1, "int8"},
    {FATHOM_ABI_U16, 2, "uint16"},
    {FATHOM_ABI_I16, 2, "int16"},
    {FATHOM_ABI_I32, 4, "int32"},
    {FATHOM_ABI_I64, 8, "int64"},
    {FATHOM_ABI_BOOL, 1, "bool"},
    {FATHOM_ABI_F16, 2, "float16"},
    {FATHOM_ABI_F64, 8, "float64"},
    {FATHOM_ABI_U32, 4, "uint32"},
    {FATHOM_ABI_U64, 8, "uint64"},
    {FATHOM_ABI_BF16, 2, "bfloat16"},
    {FATHOM_ABI_STRING, sizeof(fathom_string), "string"},
    {FATHOM_ABI_F8E4M3FN, 1, "float8_e4m3fn"},
    {FATHOM_ABI_F8E4M3FNUZ, 1, "float8_e4m3fnuz"},
    {FATHOM_ABI_F8E5M2, 1, "float8_e5m2"},
    {FATHOM_ABI_F8E5M2FNUZ, 1, "float8_e5m2fnuz"},
    {FATHOM_ABI_U4, 1, "uint4"},
    {FATHOM_ABI_I4, 1, "int4"},
    {FATHOM_ABI_F4E2M1, 1, "float4_e2m1fn"},
    {FATHOM_ABI_F8E8M0, 1, "float8_e8m0fnu"},
    {FATHOM_ABI_U2, 1, "uint2"},
    {FATHOM_ABI_I2, 1, "int2"},
};

static_assert(int(FATHOM_F32) == int(FATHOM_ABI_F32) && int(FATHOM_BF16) == int(FATHOM_ABI_BF16) &&
                  int(FATHOM_I2) == int(FATHOM_ABI_I2),
              "the public numbers and the artifact's are ONNX's");

const DTypeInfo *fathom::findDType(int32_t Number) {
  for (const DTypeInfo &Info : Table)
    if (Info.Number == Number)
      return &Info;
  return nullptr;
}

size_t fathom_dtype_bytes(int32_t dtype) {
  const DTypeInfo *Info = findDType(dtype);
  return Info ? size_t(Info->Bytes) : 0;
}

const char *fathom_dtype_name(int32_t dtype) {
  const DTypeInfo *Info = findDType(dtype);
  return Info ? Info->Name : "unknown";
}
