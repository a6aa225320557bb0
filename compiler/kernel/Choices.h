// The best schedule of each kernel family by estimated cost, for those who choose between families.
#pragma once

#include "compiler/cost/Attention.h"
#include "compiler/cost/SpatialPack.h"
#include "compiler/cost/Strassen.h"
#include "compiler/cost/Winograd.h"
#include "compiler/graph/Graph.h"
#include "compiler/kernel/Family.h"

namespace fathom {

// Of the attention that ends in this product.
Choice<AttentionSchedule> bestAttention(mlir::Operation *product, const Target &target);
Choice<ContractSchedule> bestContract(mlir::Operation *op, const Target &target);
// Whether a contraction that packs its rows, and computes them by so many elementwise ops on the way, is quicker than
// one that may read them in place behind another kernel that writes them.
bool gainsFromProducer(mlir::Operation *op, int64_t ops, const Target &target);
// While the width of the panels is still open.
Choice<WinogradSchedule> bestWinograd(const cost::WinogradConv &conv, const Target &target);

// The problem that a convolution (with windows of 3 x 3, stride 1) is in tiles of `size` pixels.
cost::WinogradConv winogradProblem(mlir::Operation *op, mlir::Value input, int64_t size, int64_t group);

// The problem that a product with a weight of [depth, columns], also of pixels, is in quarters with so many stored
// factors: all sizes are known.
cost::StrassenProduct strassenProblem(mlir::Operation *op, int64_t depth, int64_t columns, int64_t stored,
                                      const Target &target);
// The same.
Choice<StrassenSchedule> bestStrassen(const cost::StrassenProduct &product, const Target &target);

// Whether spatial packing can compute a convolution. The score of one that it cannot compute is infinite.
bool canSpatialPack(mlir::Operation *op);
Choice<SpatialPackSchedule> bestSpatialPack(mlir::Operation *op, const Target &target);

// Whether a transposed convolution that has phases is quicker as one convolution, all phases of which are output
// channels of windows with so many taps, and whose results are then spread over the image.
bool gainsFromJoining(mlir::Operation *op, int64_t taps, const Target &target);

} // namespace fathom
