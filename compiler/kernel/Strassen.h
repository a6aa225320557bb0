// Strassen's product: matrices in quarters, seven products of quarters instead of eight.
#pragma once

#include "compiler/kernel/TransformMatrix.h"
#include <cstdint>

namespace fathom::strassen {

constexpr int64_t products = 7;
// The factors of the right side that the others are sums of. All seven, or as few as these are stored.
constexpr int64_t basis = 4;

// The quarters of a matrix are numbered row by row. The seven factors of either side, and the quarters of the result.
const TransformMatrix &leftTransform();   // 7 x 4
const TransformMatrix &rightTransform();  // 7 x 4
const TransformMatrix &restTransform();   // 3 x 4: the last factors of the right side, from the first ones
const TransformMatrix &resultTransform(); // 4 x 7

} // namespace fathom::strassen
