// What products of 32-bit floats may take their factors as.
#pragma once

#include "mlir/IR/BuiltinOps.h"

namespace fathom {

// Says so of a module: "tf32", whose factors have 10 bits of a fraction and whose sums are of 32 bits. Without it, they
// are what they are.
constexpr llvm::StringLiteral precisionAttribute = "graph.precision";

inline bool takesTf32(mlir::Operation *op) {
  auto module = op->getParentOfType<mlir::ModuleOp>();
  auto precision = module ? module->getAttrOfType<mlir::StringAttr>(precisionAttribute) : mlir::StringAttr();
  return precision && precision.getValue() == "tf32";
}

} // namespace fathom
