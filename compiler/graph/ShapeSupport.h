// What the shape functions of all families share: reading operands, checking attributes, reporting, making result
// types. Internal to compiler/graph.
#pragma once

#include "compiler/graph/ByteProducts.h"
#include "compiler/graph/Graph.h"
#include "compiler/graph/SizeMath.h"
#include "compiler/support/Diagnostics.h"

namespace fathom::graph {

// The element types that an operand may have.
enum class Kind {
  Any,
  Numeric, // all but bool
  Signed,  // float or signed integer
  Wide,    // float or an integer of 32 or 64 bits
  Float,
  Integer,
  Bool,
  Index, // i32 or i64
};
bool isKind(mlir::Type element, Kind kind);
llvm::LogicalResult checkKind(mlir::Operation *op, mlir::Value value, Kind kind, llvm::StringRef name);
llvm::LogicalResult checkSameElement(mlir::Operation *op, mlir::ValueRange values);

inline bool isAbsent(mlir::Value value) { return llvm::isa<mlir::NoneType>(value.getType()); }
inline mlir::Type elementOf(mlir::Value value) {
  return llvm::cast<mlir::RankedTensorType>(value.getType()).getElementType();
}
inline int64_t rankOf(mlir::Value value) { return llvm::cast<mlir::RankedTensorType>(value.getType()).getRank(); }
// A tensor with one element, of any rank.
bool isScalar(mlir::Value value);

// An integer attribute, for functions that serve several ops.
inline int64_t intAttr(mlir::Operation *op, llvm::StringRef name, int64_t otherwise) {
  auto attr = op->getAttrOfType<mlir::IntegerAttr>(name);
  return attr ? attr.getInt() : otherwise;
}

// Sizes as a user knows them: symbols by name.
std::string text(mlir::Operation *op, mlir::AffineExpr size);
std::string text(mlir::Operation *op, llvm::ArrayRef<mlir::AffineExpr> sizes);

mlir::FailureOr<int64_t> checkAxis(mlir::Operation *op, int64_t axis, int64_t rank, llvm::StringRef name = "axis");
// Distinct axes in [0, rank), in the order given.
mlir::FailureOr<llvm::SmallVector<int64_t>> checkAxes(mlir::Operation *op, llvm::ArrayRef<int64_t> axes, int64_t rank);
llvm::LogicalResult checkOneOf(mlir::Operation *op, llvm::StringRef name, llvm::StringRef value,
                               llvm::ArrayRef<llvm::StringRef> allowed);
llvm::LogicalResult checkRank(mlir::Operation *op, mlir::Value value, int64_t rank, llvm::StringRef name);
llvm::LogicalResult checkRankAtLeast(mlir::Operation *op, mlir::Value value, int64_t rank, llvm::StringRef name);

// The elements of an operand that decides about shapes; reports when only the data decides them.
mlir::FailureOr<Elements> neededElements(mlir::Operation *op, mlir::Value value, llvm::StringRef name);
mlir::FailureOr<llvm::SmallVector<int64_t>> neededConstants(mlir::Operation *op, mlir::Value value,
                                                            llvm::StringRef name);

// One size from two that must be the same: a constant wins over a symbolic size, as the model cannot run otherwise.
mlir::FailureOr<mlir::AffineExpr> unify(mlir::Operation *op, mlir::AffineExpr a, mlir::AffineExpr b,
                                        const llvm::Twine &what);
mlir::FailureOr<Sizes> broadcast(mlir::Operation *op, llvm::ArrayRef<Sizes> operands);
// Checks that `value` can be broadcast to `target` without changing it.
llvm::LogicalResult checkBroadcastTo(mlir::Operation *op, mlir::Value value, llvm::ArrayRef<mlir::AffineExpr> target,
                                     llvm::StringRef name);

// The sizes of a product of matrices or vectors, and of a convolution, whatever their elements are; it may have a bias.
// An element of the right side stands for so many of the left one's.
mlir::FailureOr<Sizes> matMulSizes(mlir::Operation *op, mlir::Value left, mlir::Value right, int64_t together = 1);
mlir::FailureOr<Sizes> convolutionSizes(mlir::Operation *op, mlir::Value image, mlir::Value kernels, mlir::Value bias,
                                        int64_t group, int64_t together = 1);

// Appends a result type after checking that its sizes are expressible, not negative and not too many.
llvm::LogicalResult addResult(mlir::Operation *op, llvm::SmallVectorImpl<mlir::Type> &types,
                              llvm::ArrayRef<mlir::AffineExpr> sizes, mlir::Type element);

// Narrows the ranges of the module's symbols to those for which the op is defined (a slice's end inside its tensor, a
// window that fits), where the op is defined only for some.
void narrowSymbols(mlir::Operation *op, llvm::ArrayRef<mlir::Type> types);

// The half-open range of dimensions that a Shape op asks for.
std::pair<int64_t, int64_t> shapeRange(ShapeOp op);
// The expressions that must not be negative for a slice to lie inside its tensor, where that is not certain.
llvm::SmallVector<mlir::AffineExpr> sliceNeeds(mlir::Operation *op, const SymbolList &symbols);

} // namespace fathom::graph
