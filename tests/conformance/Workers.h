// Runs cases in worker processes, so that one that crashes or hangs costs only itself.
#pragma once

#include "Case.h"

namespace fathom::conformance {

// The results of all cases, in their order. `jobs` processes take the next case in turn; one that dies is replaced.
std::vector<CaseResult> runInWorkers(const std::vector<Case> &cases, int jobs);

} // namespace fathom::conformance
