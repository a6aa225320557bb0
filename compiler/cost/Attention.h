// A draft of what attention costs in one kernel, from its schedule alone: the two products as any others, the softmax
// between them, and keys and values that pass by once for every tile of rows.
#pragma once

#include "compiler/cost/Product.h"
#include "compiler/schedule/Attention.h"

namespace fathom::cost {

struct AttentionProblem {
  int64_t batches = 1, rows = 1, keys = 1;
  int64_t depth = 1, columns = 1;                // elements of a key, of a value
  bool unknownRows = false, unknownKeys = false; // how many there are is known only at run time

  bool operator==(const AttentionProblem &) const = default;
};

// Whether tiles are so few that fetching ahead gains: every one of them does it again. Where their number is not known,
// only the last ones do.
bool gainsFromFetching(const AttentionProblem &problem, const AttentionSchedule &schedule, const Target &target);

Estimate estimate(const AttentionProblem &problem, const AttentionSchedule &schedule, const Target &target);

} // namespace fathom::cost
