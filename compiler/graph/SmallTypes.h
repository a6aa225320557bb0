// Element types that are storage alone: integers of less than a byte and floats of a byte or less. Inside a model each
// element is a byte with its bits in the low end. Only the importer knows more of them than that.
#pragma once

#include "mlir/IR/BuiltinTypes.h"

namespace fathom::graph {

bool isSmall(mlir::Type element);
// The type that such elements are in memory, ui8; other types are their own.
mlir::Type storageOf(mlir::Type element);
// NumPy's (ml_dtypes') name of a small type.
llvm::StringRef smallTypeName(mlir::Type element);

// An attribute of the model's inputs and outputs: the small type that the caller has there.
constexpr llvm::StringLiteral smallTypeAttrName = "graph.element";

} // namespace fathom::graph
