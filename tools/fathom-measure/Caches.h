// The state of caches before a run.
#pragma once

#include "runtime/ThreadPool.h"
#include "tools/fathom-measure/GuardedMemory.h"

namespace fathom::measure {

// Loads a stretch of memory, shared among the threads.
void touch(ThreadPool &pool, const char *data, int64_t bytes);

// Memory that is larger than all caches together; loading it leaves nothing else in them.
class CacheFlush {
public:
  [[nodiscard]] bool allocate();
  void flush(ThreadPool &pool) const { touch(pool, memory.data(), bytes); }

private:
  GuardedMemory memory;
  int64_t bytes = 0;
};

} // namespace fathom::measure
