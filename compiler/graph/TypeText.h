// Sizes and types as a user knows them, for messages: float32[n, 3].
#pragma once

#include "compiler/graph/Shape.h"

namespace fathom::graph {

// An attribute of Pin and Assert: what the run says where it is refused there.
constexpr llvm::StringLiteral whyAttrName = "graph.why";

// NumPy's name of an element type.
std::string elementText(mlir::Type element);
std::string sizeText(mlir::AffineExpr size, llvm::ArrayRef<Symbol> symbols);
std::string sizesText(llvm::ArrayRef<mlir::AffineExpr> sizes, llvm::ArrayRef<Symbol> symbols);
std::string typeText(mlir::RankedTensorType type, llvm::ArrayRef<Symbol> symbols);

} // namespace fathom::graph
