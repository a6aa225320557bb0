// The algorithms of convolutions and products by name, as --conv-algorithm and explanations have them.
#pragma once

#include "compiler/graph/Graph.h"
#include "compiler/schedule/Schedule.h"

namespace fathom {

// The algorithm that was chosen or asked for; empty where none was.
llvm::StringRef algorithmOf(mlir::Operation *conv);
void setAlgorithm(mlir::Operation *conv, llvm::StringRef name);

// Of a module whose convolutions and products are in the forms of algorithms, as a printed graph's are: chosen once
// more, transformed weights would count as given ones, and more of them be allowed.
constexpr llvm::StringLiteral hasAlgorithmsAttribute = "graph.has_algorithms";

// What spatial packing of this convolution is called: with groups it has a name of its own.
llvm::StringRef spatialPackName(mlir::Operation *conv);
// Whether the convolution is to be computed by spatial packing, and can be.
bool takesSpatialPack(mlir::Operation *conv);

// Whether the weights of groups of two channels have the two input channels of odd output channels swapped: every lane
// multiplies the channel that it is loaded with first, then its neighbour's.
bool hasSwappedPairs(mlir::Operation *conv);
void setSwappedPairs(mlir::Operation *conv);

// The algorithm by which a kernel with this anchor and schedule computes; empty where there is no choice.
std::string algorithmName(mlir::Operation *anchor, const Schedule &schedule);
// Why a convolution is not computed by the algorithm that was asked for; empty where it is.
std::string whyOtherAlgorithm(mlir::Operation *anchor, const Schedule &schedule);

} // namespace fathom
