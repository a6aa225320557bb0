// ONNX's numbers for element types and their MLIR types.
#include "compiler/import/read/ElementTypes.h"
#include "compiler/graph/TypeText.h"
#include "compiler/support/Diagnostics.h"
#include "onnx.pb.h"

using namespace mlir;
using Proto = onnx::TensorProto;

namespace fathom::importer {

Type elementTypeFor(int onnxType, MLIRContext *context) {
  auto integer = [&](unsigned width) -> Type { return IntegerType::get(context, width); };
  auto naturals = [&](unsigned width) -> Type { return IntegerType::get(context, width, IntegerType::Unsigned); };
  switch (onnxType) {
  case Proto::BOOL:
    return integer(1);
  case Proto::INT8:
    return integer(8);
  case Proto::INT16:
    return integer(16);
  case Proto::INT32:
    return integer(32);
  case Proto::INT64:
    return integer(64);
  case Proto::UINT8:
    return naturals(8);
  case Proto::UINT16:
    return naturals(16);
  case Proto::UINT32:
    return naturals(32);
  case Proto::UINT64:
    return naturals(64);
  case Proto::FLOAT16:
    return Float16Type::get(context);
  case Proto::BFLOAT16:
    return BFloat16Type::get(context);
  case Proto::FLOAT:
    return Float32Type::get(context);
  case Proto::DOUBLE:
    return Float64Type::get(context);
  case Proto::FLOAT8E4M3FN:
    return Float8E4M3FNType::get(context);
  case Proto::FLOAT8E4M3FNUZ:
    return Float8E4M3FNUZType::get(context);
  case Proto::FLOAT8E5M2:
    return Float8E5M2Type::get(context);
  case Proto::FLOAT8E5M2FNUZ:
    return Float8E5M2FNUZType::get(context);
  case Proto::FLOAT8E8M0:
    return Float8E8M0FNUType::get(context);
  case Proto::FLOAT4E2M1:
    return Float4E2M1FNType::get(context);
  case Proto::INT4:
    return integer(4);
  case Proto::UINT4:
    return naturals(4);
  case Proto::INT2:
    return integer(2);
  case Proto::UINT2:
    return naturals(2);
  case Proto::STRING:
    return graph::stringType(context);
  default:
    return {};
  }
}

std::string elementTypeName(int onnxType) {
  if (onnxType != Proto::UNDEFINED && Proto::DataType_IsValid(onnxType))
    return Proto::DataType_Name(Proto::DataType(onnxType));
  return "number " + std::to_string(onnxType);
}

Type elementTypeFor(int onnxType, Location loc, const Twine &what) {
  if (Type type = elementTypeFor(onnxType, loc->getContext()))
    return type;
  bool known = onnxType != Proto::UNDEFINED && Proto::DataType_IsValid(onnxType);
  emitError(loc, known ? ErrorCode::UnsupportedType : ErrorCode::BadType)
      << what << " has element type " << elementTypeName(onnxType)
      << (known ? ", which is not supported" : ", which ONNX does not define");
  return {};
}

} // namespace fathom::importer
