// Replaces symbols in all types, sizes and conditions of an op and what it holds.
#pragma once

#include "compiler/graph/Shape.h"

namespace fathom::graph {

// Symbol i becomes replacements[i], an expression over the new symbols. Ops that give symbols their values keep those
// whose replacement is a symbol.
void replaceSymbols(mlir::Operation *op, llvm::ArrayRef<mlir::AffineExpr> replacements);

// The positions of the symbols that an op's types, sizes and conditions use, in the order they appear.
llvm::SmallVector<unsigned> usedSymbols(mlir::Operation *op);

} // namespace fathom::graph
