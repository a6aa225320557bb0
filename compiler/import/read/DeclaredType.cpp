// Reads declarations of types.
#include "compiler/import/read/DeclaredType.h"
#include "compiler/graph/TypeText.h"
#include "compiler/import/read/ElementTypes.h"
#include "compiler/support/Diagnostics.h"

using namespace mlir;

namespace fathom::importer {

const onnx::TypeProto::Tensor *tensorIn(const onnx::TypeProto &type) {
  const onnx::TypeProto *inner = &type;
  // Protobuf's parser bounds how deep this goes.
  while (true) {
    if (inner->has_optional_type())
      inner = &inner->optional_type().elem_type();
    else if (inner->has_sequence_type())
      inner = &inner->sequence_type().elem_type();
    else
      return inner->has_tensor_type() ? &inner->tensor_type() : nullptr;
  }
}

std::optional<DeclaredType> readType(const onnx::TypeProto &type, Location loc, const Twine &what) {
  DeclaredType declared;
  const onnx::TypeProto *inner = &type;
  if (inner->has_optional_type()) {
    declared.isOptional = true;
    inner = &inner->optional_type().elem_type();
  }
  if (inner->has_sequence_type()) {
    declared.isSequence = true;
    inner = &inner->sequence_type().elem_type();
  }
  if (!inner->has_tensor_type()) {
    emitError(loc, ErrorCode::UnsupportedType)
        << what << " is neither a tensor, a sequence of tensors nor an optional of one of them";
    return std::nullopt;
  }
  declared.element = elementTypeFor(inner->tensor_type().elem_type(), loc, what);
  // Strings come in tensors alone.
  if (declared.element && graph::isString(declared.element)) {
    emitError(loc, ErrorCode::UnsupportedType) << what << " has element type STRING, which is not supported";
    return std::nullopt;
  }
  if (!declared.element)
    return std::nullopt;
  if (inner->tensor_type().has_shape())
    declared.rank = inner->tensor_type().shape().dim_size();
  return declared;
}

} // namespace fathom::importer
