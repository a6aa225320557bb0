// Sizes as expressions over the module's symbols, and the shape functions that families of ops share.
// A symbol is a size only known at run time; the module's `graph.symbols` attribute names them in index order.
#pragma once

#include "compiler/graph/Symbols.h"
#include "mlir/IR/AffineExpr.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/SmallBitVector.h"
#include "llvm/ADT/SmallVector.h"
#include <optional>

namespace fathom::graph {

using Sizes = llvm::SmallVector<mlir::AffineExpr, 4>;
// The elements of a small integer tensor in row-major order, each an expression over the symbols.
using Elements = llvm::SmallVector<mlir::AffineExpr, 4>;

SymbolList symbolsOf(mlir::Operation *op);
inline SymbolList getSymbols(mlir::ModuleOp module) { return symbolsOf(module); }
// The symbols of what is around `op`: a kernel, which has its own, or the module; none when there is neither.
SymbolList symbolsFor(mlir::Operation *op);
void setSymbols(mlir::Operation *op, const SymbolList &symbols);
// Adds a computed symbol to the module and returns it as a size.
mlir::AffineExpr addComputedSymbol(mlir::ModuleOp module, const llvm::Twine &name, int64_t max = INT32_MAX);
// Whether a size depends on a computed symbol.
bool isComputed(mlir::AffineExpr size, const SymbolList &symbols);
// The positions of all symbols in an expression.
void collectSymbols(mlir::AffineExpr size, llvm::SmallBitVector &positions);

// Shape functions take for granted what the model could not run without, such as that two sizes are the same.
// Collected where someone emits checks for it, and only there.
class CollectAssumptions {
public:
  CollectAssumptions();
  ~CollectAssumptions();
  CollectAssumptions(const CollectAssumptions &) = delete;
  struct Assumption {
    mlir::AffineExpr a, b;
    std::string why; // what the run says where it does not hold; empty: the two sizes
  };
  llvm::SmallVector<Assumption> equal, atLeast;

private:
  CollectAssumptions *outer;
};
void assumeEqual(mlir::AffineExpr a, mlir::AffineExpr b, const llvm::Twine &why = "");
void assumeAtLeast(mlir::AffineExpr a, mlir::AffineExpr b, const llvm::Twine &why = "");
// The name of the attribute.
constexpr llvm::StringLiteral symbolsAttrName = "graph.symbols";

// No tensor has more elements than this, so that products of sizes and byte offsets stay far from overflow.
constexpr int64_t maxElements = int64_t(1) << 46;
// A ranked tensor of an element type and size that the dialect works on; a size that is not static has its expression
// in the encoding.
bool isGraphTensor(mlir::Type type);

// The sizes of a tensor; constants where they are static.
Sizes sizesOf(mlir::RankedTensorType type);
inline Sizes sizesOf(mlir::Value value) { return sizesOf(llvm::cast<mlir::RankedTensorType>(value.getType())); }
// The map of an encoding for these sizes, with no more symbols than they use.
mlir::AffineMap shapeMapOf(llvm::ArrayRef<mlir::AffineExpr> sizes, mlir::MLIRContext *context);
// A dense row-major tensor type of these sizes.
mlir::RankedTensorType tensorOf(llvm::ArrayRef<mlir::AffineExpr> sizes, mlir::Type element);
// The same type without layout (order, block, halo); symbolic sizes are kept.
mlir::RankedTensorType withoutLayout(mlir::RankedTensorType type);

std::optional<int64_t> constantSize(mlir::AffineExpr size);
bool isConstant(mlir::AffineExpr size, int64_t value);
// The product of the sizes, simplified; null when it overflows.
mlir::AffineExpr product(llvm::ArrayRef<mlir::AffineExpr> sizes, mlir::MLIRContext *context);

// The elements of `value` if they are known at compile time (a constant, or arithmetic on sizes): integer and bool
// tensors of at most 1024 elements.
std::optional<Elements> elementsOf(mlir::Value value);
// The same for a vector of which only some elements are known; null for the others. Nullopt if it has no known length.
std::optional<Elements> partialElementsOf(mlir::Value value);
// The elements of `value` if all are compile-time constants.
std::optional<llvm::SmallVector<int64_t>> constantElementsOf(mlir::Value value);
// The elements of a constant float tensor (any float type), up to the same limit.
std::optional<llvm::SmallVector<double>> constantFloatsOf(mlir::Value value);

// Axis in [0, rank), or nullopt if it is outside [-rank, rank).
std::optional<int64_t> normalizeAxis(int64_t axis, int64_t rank);

// Numpy-style broadcast of sizes; nullopt when they cannot match.
std::optional<Sizes> broadcastSizes(llvm::ArrayRef<Sizes> operands, mlir::MLIRContext *context);

llvm::LogicalResult inferSameAs(mlir::Operation *op, llvm::SmallVectorImpl<mlir::Type> &types);
llvm::LogicalResult inferBroadcast(mlir::Operation *op, llvm::SmallVectorImpl<mlir::Type> &types, bool predicate);
llvm::LogicalResult inferBroadcastAs(mlir::Operation *op, llvm::SmallVectorImpl<mlir::Type> &types, mlir::Type element);
llvm::LogicalResult inferReduce(mlir::Operation *op, llvm::SmallVectorImpl<mlir::Type> &types);

// The resolved geometry of a convolution or pooling window over the spatial dimensions.
struct Window {
  // The end padding of a transposed convolution is negative where output_shape asks for more than the window reaches.
  llvm::SmallVector<int64_t> kernel, strides, dilations, padsBegin, padsEnd;
};
// How many elements the window spans along a spatial dimension, dilation included.
int64_t effectiveKernel(const Window &window, int64_t dim);
// Reads and checks the window attributes of `op` (auto_pad resolved); reports on the op when they are wrong.
mlir::FailureOr<Window> getWindow(mlir::Operation *op);

// What a Slice takes of one dimension: `size` elements from `start` on, `step` apart (which may be negative).
struct SliceRange {
  mlir::AffineExpr start, size;
  int64_t step = 1;
};
// The ranges of a Slice for all dimensions of its input, negative and too large indices resolved; reports on the op
// when they are wrong.
mlir::FailureOr<llvm::SmallVector<SliceRange>> getSlice(mlir::Operation *op);

// Checks the result types of an op against its shape function; layouts are left out of the comparison.
llvm::LogicalResult verifyShapes(mlir::Operation *op);

// Runs the op's shape function and sets its result types, keeping layouts that are already there.
llvm::LogicalResult inferResultTypes(mlir::Operation *op);

} // namespace fathom::graph
