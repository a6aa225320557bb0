// A draft of what a matrix product in quarters by Strassen's method costs, from its schedule alone.
#pragma once

#include "compiler/cost/Product.h"
#include "compiler/schedule/Strassen.h"

namespace fathom::cost {

struct StrassenProduct {
  int64_t rows = 1, columns = 1, depth = 1; // of the whole product
  int64_t stored = 7;                       // factors of the right side; the others are added up again and again
  double consumerCycles = 0;                // of the math functions fused behind, for a vector
  double producerCycles = 0;                // of what computes the left operand, for a vector

  // Of a quarter.
  int64_t pairs() const { return (rows + 1) / 2; }
  int64_t halfColumns() const { return columns / 2; }
  int64_t halfDepth() const { return depth / 2; }

  bool operator==(const StrassenProduct &) const = default;
};

// The schedule of the product of two quarters.
ContractSchedule ofQuarter(const StrassenProduct &product, const StrassenSchedule &schedule, const Target &target);

Estimate estimate(const StrassenProduct &product, const StrassenSchedule &schedule, const Target &target);

} // namespace fathom::cost
