// Loads or evicts each line of a stretch of memory.
#include "tools/fathom-measure/Caches.h"

#include <algorithm>

#ifdef __x86_64__
#include <cpuid.h>
#include <immintrin.h>
#endif

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

#ifdef __x86_64__
// Of lines that do not wait for each other, where the machine has the instruction.
__attribute__((target("clflushopt"))) void evictSideBySide(const char *data, int64_t bytes) {
  for (int64_t at = 0; at < bytes; at += lineBytes)
    _mm_clflushopt(const_cast<char *>(data + at));
}

bool canEvictSideBySide() {
  unsigned a, b, c, d;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & (1u << 23));
}
#endif

} // namespace

void touch(ThreadPool &pool, const char *data, int64_t bytes) {
  Stretch all{data, bytes, pool.threads()};
  pool.launch(loadShares, &all, all.shares);
}

void evict(const char *data, int64_t bytes) {
#ifdef __x86_64__
  static const bool sideBySide = canEvictSideBySide();
  if (sideBySide)
    evictSideBySide(data, bytes);
  else
    for (int64_t at = 0; at < bytes; at += lineBytes)
      _mm_clflush(data + at);
  _mm_mfence();
#else
  // Linux lets programs do so.
  for (int64_t at = 0; at < bytes; at += lineBytes)
    asm volatile("dc civac, %0" ::"r"(data + at) : "memory");
  asm volatile("dsb sy" ::: "memory");
#endif
}

} // namespace fathom::measure
