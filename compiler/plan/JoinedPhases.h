// Transposed convolutions of constant weights that are better computed by other ops: those with fewer output channels
// than a vector has lanes, and those of single pixels.
#pragma once

#include "compiler/graph/Graph.h"
#include "compiler/target/Target.h"

namespace fathom {

// Whether all phases can be output channels of one convolution, and whether that fills the lanes of vectors so much
// better that it takes less time, taps that are then zero included.
bool takesJoinedPhases(graph::ConvTransposeOp op);
bool gainsFromJoinedPhases(graph::ConvTransposeOp op, const Target &target);
// Computes it so: a convolution with `name.phases` for its name, whose channels are then spread over the image.
void joinPhases(graph::ConvTransposeOp op);

// Whether there is one pixel, all taps of whose window are results: a product of matrices.
bool takesProductOfPixel(graph::ConvTransposeOp op);
void useProductOfPixel(graph::ConvTransposeOp op);

} // namespace fathom
