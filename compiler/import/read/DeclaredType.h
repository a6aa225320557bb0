// A model's declaration of a type: a tensor, a sequence of tensors, or an optional of either.
#pragma once

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Location.h"
#include "onnx.pb.h"
#include <optional>

namespace fathom::importer {

struct DeclaredType {
  bool isOptional = false, isSequence = false;
  mlir::Type element;
  std::optional<int64_t> rank; // of the tensor, or of a sequence's elements
};
// Nothing, with a report about `what`, for types that are not supported.
std::optional<DeclaredType> readType(const onnx::TypeProto &type, mlir::Location loc, const llvm::Twine &what);
// The tensor inside a type, whatever is around it; null if there is none.
const onnx::TypeProto::Tensor *tensorIn(const onnx::TypeProto &type);

} // namespace fathom::importer
