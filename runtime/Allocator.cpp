// Buffers for arena and scratch.
#include "Allocator.h"

#include "Memory.h"
#include "Status.h"

#include <sys/mman.h>

using namespace fathom;

// Large arenas on huge pages spare most of the misses that walking through them would cost the TLB.
static void *allocateHeap(size_t Bytes) {
  constexpr size_t HugePage = 2 << 20;
  bool Huge = Bytes >= 2 * HugePage;
  void *Memory = nullptr;
  if (posix_memalign(&Memory, Huge ? HugePage : Alignment, Bytes))
    return nullptr;
  if (Huge)
    madvise(Memory, Bytes, MADV_HUGEPAGE);
  return Memory;
}

void Buffer::useAllocator(const fathom_context_options &Options) {
  Allocate = Options.allocate;
  Deallocate = Options.deallocate;
  User = Options.allocator_user;
}

fathom_status *Buffer::reserve(const char *What, size_t Bytes) {
  if (Bytes <= Capacity)
    return nullptr;
  release();
  auto *Fresh = static_cast<char *>(Allocate ? Allocate(User, Bytes, Alignment) : allocateHeap(Bytes));
  if (!Fresh)
    return outOfMemory(What, Bytes);
  Memory = Fresh;
  Capacity = Bytes;
  if (reinterpret_cast<uintptr_t>(Memory) % Alignment == 0)
    return nullptr;
  release();
  return makeStatus(FATHOM_ERROR_INVALID_ARGUMENT,
                    "the caller's allocator gave memory for %s that is not aligned to %zu", What, Alignment);
}

void Buffer::release() {
  if (Memory && Deallocate)
    Deallocate(User, Memory, Capacity);
  else
    free(Memory);
  Memory = nullptr;
  Capacity = 0;
}
