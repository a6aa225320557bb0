// The best schedule of each kernel family by estimated cost, for those who choose between families.
#pragma once

#include "compiler/cost/Attention.h"
#include "compiler/cost/SpatialPack.h"
#include "compiler/cost/Strassen.h"
#include "compiler/cost/Transposed.h"
#include "compiler/cost/Winograd.h"
#include "compiler/graph/Graph.h"
#include "compiler/kernel/Schedule.h"

namespace fathom {

// A schedule, what it is estimated to cost, and the number that candidates are compared by. `score` is infinite where a
// space is empty.
template <typename T> struct Choice {
  T schedule;
  cost::Estimate estimate;
  double score = std::numeric_limits<double>::infinity();

  void consider(const T &candidate, const cost::Estimate &cost, const Target &target) {
    if (double other = cost::overThreads(cost, target); other < score)
      schedule = candidate, estimate = cost, score = other;
  }
};

// Of the attention that ends in this product.
Choice<cost::AttentionSchedule> bestAttention(mlir::Operation *product, const Target &target);
Choice<cost::ProductSchedule> bestContract(mlir::Operation *op, const Target &target);
// Whether a contraction that packs its rows, and computes them by so many elementwise ops on the way, is quicker than
// one that may read them in place behind another kernel that writes them.
bool gainsFromProducer(mlir::Operation *op, int64_t ops, const Target &target);
// `panel`: the width of the packed weights, 0 while it is still open.
Choice<cost::WinogradSchedule> bestWinograd(const cost::WinogradConv &conv, int64_t panel, const Target &target);

// The problem that a convolution (with windows of 3 x 3, stride 1) is in tiles of `size` pixels.
cost::WinogradConv winogradProblem(mlir::Operation *op, mlir::Value input, int64_t size, int64_t group);

// The problem that a product with a weight of [depth, columns], also of pixels, is in quarters with so many stored
// factors: all sizes are known.
cost::StrassenProduct strassenProblem(mlir::Operation *op, int64_t depth, int64_t columns, int64_t stored);
// `panel`: as above.
Choice<cost::StrassenSchedule> bestStrassen(const cost::StrassenProduct &product, int64_t panel, const Target &target);

// The problem that a convolution is for spatial packing; one that it cannot compute has none.
std::optional<cost::SpatialPackConv> spatialPackProblem(mlir::Operation *op);
Choice<cost::SpatialPackSchedule> bestSpatialPack(mlir::Operation *op, const Target &target);

// Of a transposed convolution that has phases.
Choice<cost::TransposedSchedule> bestTransposed(mlir::Operation *op, const Target &target);
// Whether it is quicker as one convolution, all phases of which are output channels of windows with so many taps, and
// whose results are then spread over the image.
bool gainsFromJoining(mlir::Operation *op, int64_t taps, const Target &target);

} // namespace fathom
