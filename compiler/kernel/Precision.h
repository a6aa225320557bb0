// What products of 32-bit floats may take their factors as.
#pragma once

#include "mlir/IR/BuiltinOps.h"

namespace fathom {

// Says so of a module: "tf32", whose factors have 10 bits of a fraction and whose sums are of 32 bits. With "fp16" and
// "bf16" a pass has made 16-bit floats of them, and others are what they are, as all are without it.
constexpr llvm::StringLiteral precisionAttribute = "graph.precision";

inline bool takesTf32(mlir::Operation *op) {
  auto module = op->getParentOfType<mlir::ModuleOp>();
  auto precision = module ? module->getAttrOfType<mlir::StringAttr>(precisionAttribute) : mlir::StringAttr();
  return precision && precision.getValue() == "tf32";
}

} // namespace fathom
