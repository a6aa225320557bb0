// ONNX's numbers for element types and their MLIR types.
#pragma once

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Diagnostics.h"

namespace fathom::importer {

// The element type, or null if Fathom has none for it. Unsigned integers are MLIR's unsigned types, signed ones are
// signless, bool is i1.
mlir::Type elementTypeFor(int onnxType, mlir::MLIRContext *context);
// The same, reporting at `loc` what `what` has an unsupported or unknown type.
mlir::Type elementTypeFor(int onnxType, mlir::Location loc, const llvm::Twine &what);
// ONNX's name of an element type, such as "FLOAT16".
std::string elementTypeName(int onnxType);

} // namespace fathom::importer
