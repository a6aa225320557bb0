// A draft of what a product with a matrix of small integers costs, from its schedule alone: unpacking is shared by rows
// of input, loads of the input by columns, and the packed weights come from memory once a task's rows have passed.
#pragma once

#include "compiler/cost/Estimate.h"
#include "compiler/schedule/PackedProduct.h"

namespace fathom::cost {

struct PackedProduct {
  int64_t rows = 1, columns = 1, depth = 1;
  int64_t bits = 4; // of a weight
};

// Vector registers of a tile: so many for the sums of each pair, a vector of weights for each column and one of input.
int64_t registersOf(int64_t rows, int64_t columns, int64_t vectors);
Estimate estimate(const PackedProduct &product, const PackedProductSchedule &schedule, const Target &target);

} // namespace fathom::cost
