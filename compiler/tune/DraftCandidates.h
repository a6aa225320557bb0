// Which schedules of a kernel are worth a closer look.
#pragma once

#include "compiler/tune/task/KernelTask.h"

namespace fathom::tune {

// The planned schedule, then the cheapest by the draft: of those that the compiler looks at by itself, and of a search
// over the whole space. At most `count` of them, each once.
std::vector<Schedule> draftCandidates(const KernelTask &task, size_t count, uint64_t seed);

} // namespace fathom::tune
