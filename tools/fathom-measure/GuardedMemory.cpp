// Maps pages and takes away the last one.
#include "tools/fathom-measure/GuardedMemory.h"

#include "runtime/Memory.h"

#include <sys/mman.h>
#include <unistd.h>

namespace fathom::measure {

bool GuardedMemory::allocate(int64_t bytes, bool hugePages) {
  constexpr size_t hugePage = 2 << 20;
  size_t page = size_t(sysconf(_SC_PAGESIZE)), used = alignUp(size_t(bytes), Alignment), pages = alignUp(used, page);
  void *fresh = mmap(nullptr, pages + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (fresh == MAP_FAILED)
    return false;
  *this = GuardedMemory();
  mapped = fresh, mappedBytes = pages + page;
  char *guard = static_cast<char *>(mapped) + pages;
  start = guard - used;
  if (hugePages && used >= 2 * hugePage)
    madvise(mapped, pages, MADV_HUGEPAGE);
  return mprotect(guard, page, PROT_NONE) == 0;
}

GuardedMemory::~GuardedMemory() {
  if (mapped)
    munmap(mapped, mappedBytes);
}

} // namespace fathom::measure
