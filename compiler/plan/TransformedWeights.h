// Algorithms that multiply less because their weights are transformed ahead: where they are possible, and how an op
// becomes one of them. The transformed weights are ops over constants, which are to be folded afterwards.
#pragma once

#include "compiler/graph/Graph.h"

namespace fathom {

// Winograd's: windows of 3 x 3 that move by one, over all channels or groups of several; in tiles of `tile` (2 or 4)
// pixels a side.
bool takesWinograd(graph::ConvOp conv);
void useWinograd(graph::ConvOp conv, int64_t tile);

// Strassen's: rows of a known number times constant weights whose rows and columns come out even, in products of
// matrices and in convolutions with windows of one pixel.
bool takesStrassen(graph::MatMulOp product);
bool takesStrassen(graph::ConvOp conv);
// `stored`: so many factors of the weights (4 to 7) are computed ahead.
void useStrassen(graph::MatMulOp product, int64_t stored);
void useStrassen(graph::ConvOp conv, int64_t stored);
// Whether the two rows that Strassen's method computes together are of one sample: a NaN, or the rounding errors of a
// large number, spread from one to the other.
bool keepsSamplesApart(graph::MatMulOp product);
bool keepsSamplesApart(graph::ConvOp conv);

// Spatial packing of groups of two channels: swaps the two input channels of odd output channels (ConvAlgorithm.h).
bool takesSwappedPairs(graph::ConvOp conv);
void swapPairs(graph::ConvOp conv);

} // namespace fathom
