// The state of caches before a run.
#pragma once

#include "runtime/ThreadPool.h"

namespace fathom::measure {

// Loads a stretch of memory, shared among the threads.
void touch(ThreadPool &pool, const char *data, int64_t bytes);

// Takes a stretch of memory out of all caches of all cores, line by line. That is what a network that is larger than
// the caches does to its weights, at a fraction of the time that reading as much would take.
void evict(const char *data, int64_t bytes);

} // namespace fathom::measure
