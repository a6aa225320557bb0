// Loads each line of a stretch of memory; the sizes of caches are as the kernel reports them.
#include "tools/fathom-measure/Caches.h"

#include <cstdio>
#include <cstdlib>

namespace fathom::measure {
namespace {

constexpr int64_t lineBytes = 64;

struct Stretch {
  const char *data;
  int64_t bytes, shares;
};

int32_t loadShares(const void *env, int64_t first, int64_t last, int64_t, void *) {
  const Stretch &all = *static_cast<const Stretch *>(env);
  int64_t share = all.bytes / all.shares + 1;
  for (int64_t at = first * share; at < std::min(last * share, all.bytes); at += lineBytes)
    (void)*static_cast<const volatile char *>(all.data + at);
  return 0;
}

// Of the first core's largest cache.
int64_t largestCache() {
  int64_t largest = 32 << 20; // where nothing is reported
  for (int index = 0; index < 8; ++index) {
    char path[96], text[32] = "", *unit;
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/size", index);
    if (FILE *file = fopen(path, "re")) {
      if (fgets(text, sizeof text, file)) {
        long long size = strtoll(text, &unit, 10);
        largest = std::max<int64_t>(largest, size << (*unit == 'K' ? 10 : *unit == 'M' ? 20 : 0));
      }
      fclose(file);
    }
  }
  return largest;
}

} // namespace

void touch(ThreadPool &pool, const char *data, int64_t bytes) {
  Stretch all{data, bytes, pool.threads()};
  pool.launch(loadShares, &all, all.shares);
}

bool CacheFlush::allocate() {
  bytes = 2 * largestCache();
  if (!memory.allocate(bytes, /*hugePages=*/true))
    return false;
  // Pages that were never written to are all one page of zeros, which would stay in the first cache.
  for (int64_t at = 0; at < bytes; at += 4096)
    memory.data()[at] = 1;
  return true;
}

} // namespace fathom::measure
