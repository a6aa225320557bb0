// What concatenations and slices in place have in common: who can read a tensor that lies within another, and when
// that is slower than a copy.
#pragma once

#include "compiler/graph/Graph.h"
#include "compiler/target/Target.h"
#include <string>

namespace fathom {

class Backend;

// Whether code for an op's kernel goes by strides wherever it reads its operands and writes its result.
bool goesByStrides(mlir::Operation *op, const Backend &backend);
// Whether those of its readers that multiply bytes find whole quads in the layout of this type.
bool keepsQuads(mlir::Value value, mlir::RankedTensorType there);
// Whether the value, itself or through views, leaves its block.
bool leavesBlock(mlir::Value value);
// Whether the elements of two tensors of equal sizes lie in the same way.
bool sameMemory(mlir::RankedTensorType one, mlir::RankedTensorType other);
// Why kernels would be slower with the value as it lies in another tensor, in the layout of this type, than a copy is;
// empty: they would not.
std::string whySlower(mlir::Value value, mlir::RankedTensorType there, const Target &target);

} // namespace fathom
