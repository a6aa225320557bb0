// What differs between two plans, kernel by kernel.
#pragma once

#include "compiler/plan/Plan.h"

namespace fathom {

struct PlanDifference {
  std::string subject; // "kernel NAME", "layout of VALUE", "target"
  std::string what;    // "tile_m 10 -> 8", "only in A", ...
};

// In the order of the first plan; what only the second one has comes last.
std::vector<PlanDifference> diffPlans(const Plan &a, const Plan &b);

} // namespace fathom
