// Measures a group in a process that a kernel may take down with it.
#pragma once

#include "tools/fathom-measure/Group.h"

#include <atomic>

namespace fathom::measure {

constexpr int32_t nobody = -1;

// What the worker does now, in memory shared with the process that watches it.
struct Watch {
  std::atomic<int32_t> candidate{nobody};
  std::atomic<int64_t> sinceNs{0};
};

// Measures the candidates of these numbers. "checking NUMBER" is announced before one is first run, which may end more
// than this process, and "timing" when all were; "kernel NUMBER ..." for each is the result.
void measureGroup(const Group &group, const std::vector<int32_t> &numbers, Watch &watch, int announcements,
                  int results);

} // namespace fathom::measure
