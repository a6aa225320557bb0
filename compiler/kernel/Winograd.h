// Winograd's convolution F(m x m, 3 x 3): the matrices that transform tiles of the input, the weights and the products.
#pragma once

#include "compiler/kernel/TransformMatrix.h"
#include <cstdint>

namespace fathom::winograd {

// For tiles of m = 2 or 4 pixels a side. A tile of m + 2 input pixels d and a window g give the m outputs
// A [(G g) * (B d)], the product taken element by element; in two dimensions each is applied from both sides.
const TransformMatrix &inputTransform(int64_t m);  // B: (m + 2) x (m + 2)
const TransformMatrix &weightTransform(int64_t m); // G: (m + 2) x 3
const TransformMatrix &outputTransform(int64_t m); // A: m x (m + 2)

} // namespace fathom::winograd
