// Sizes and types as a user knows them, for messages: float32[n, 3].
#pragma once

#include "compiler/graph/Shape.h"

namespace fathom::graph {

// A string is its number in the model's vocabulary. Only their type, a signed integer where all others have no sign,
// tells such numbers from others.
inline mlir::Type stringType(mlir::MLIRContext *context) {
  return mlir::IntegerType::get(context, 64, mlir::IntegerType::Signed);
}
inline bool isString(mlir::Type element) { return element.isSignedInteger(64); }

// An attribute of the module: the strings that the model knows, in the order of their numbers.
constexpr llvm::StringLiteral vocabularyAttrName = "graph.vocabulary";

// An attribute of Pin and Assert: what the run says where it is refused there.
constexpr llvm::StringLiteral whyAttrName = "graph.why";

// NumPy's name of an element type.
std::string elementText(mlir::Type element);
std::string sizeText(mlir::AffineExpr size, const SymbolList &symbols);
std::string sizesText(llvm::ArrayRef<mlir::AffineExpr> sizes, const SymbolList &symbols);
std::string typeText(mlir::RankedTensorType type, const SymbolList &symbols);

} // namespace fathom::graph
