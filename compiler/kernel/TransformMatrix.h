// A small matrix that transforms tiles: every result is a sum of the tile's elements, weighted by a row.
#pragma once

#include <vector>

namespace fathom {

struct TransformMatrix {
  std::vector<std::vector<double>> rows;
};

} // namespace fathom
