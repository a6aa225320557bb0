// A hash of what a graph computes and how: two graphs have the same one where they differ in nothing but the names and
// places of their ops and the order in which independent ops stand. By it one sees whether a pass changed anything.
#pragma once

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/DenseMap.h"

namespace fathom {

// Keeps what it hashed of attributes and types, so that the weights are read once for many graphs of one context.
//
// An op counts with its attributes, types, operands and readers, and with what is inside it; constants with what they
// hold, however many ops hold it. Linear in the ops and, the first time, in the weights; the same in every process.
class GraphHash {
public:
  uint64_t of(mlir::ModuleOp module);

private:
  uint64_t of(mlir::Attribute attribute);
  uint64_t of(mlir::Type type);

  llvm::DenseMap<mlir::Attribute, uint64_t> attributes;
  llvm::DenseMap<mlir::Type, uint64_t> types;
};

} // namespace fathom
