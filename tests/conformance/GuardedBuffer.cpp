// Guarded mappings and the allocator hooks of the runtime that use them.
#include "GuardedBuffer.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <sys/mman.h>
#include <unistd.h>
#include <unordered_map>
#include <utility>

namespace fathom::conformance {
namespace {

constexpr unsigned char untouched = 0xa5;

size_t roundUp(size_t value, size_t unit) { return (value + unit - 1) / unit * unit; }

size_t pageBytes() {
  static const size_t bytes = sysconf(_SC_PAGESIZE);
  return bytes;
}

} // namespace

GuardedBuffer::GuardedBuffer(size_t bytes, Guard guard, size_t alignment) : bytes(bytes) {
  size_t page = pageBytes(), inner = std::max(page, roundUp(bytes, page));
  mapped = inner + 2 * page;
  void *memory = mmap(nullptr, mapped, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED || mprotect(static_cast<char *>(memory) + page, inner, PROT_READ | PROT_WRITE))
    perror("guarded memory"), abort();
  mapping = static_cast<char *>(memory);
  memset(mapping + page, untouched, inner);
  size_t offset = guard == Guard::Start ? 0 : (inner - bytes) / alignment * alignment;
  start = mapping + page + offset;
}

GuardedBuffer::GuardedBuffer(GuardedBuffer &&other)
    : mapping(std::exchange(other.mapping, nullptr)), start(other.start), mapped(other.mapped), bytes(other.bytes) {}

GuardedBuffer::~GuardedBuffer() {
  if (mapping)
    munmap(mapping, mapped);
}

void GuardedBuffer::makeReadOnly() { mprotect(mapping + pageBytes(), mapped - 2 * pageBytes(), PROT_READ); }

bool GuardedBuffer::slackIsIntact() const {
  const char *first = mapping + pageBytes(), *last = mapping + mapped - pageBytes();
  auto intact = [](const char *from, const char *to) {
    for (; from != to; ++from)
      if (static_cast<unsigned char>(*from) != untouched)
        return false;
    return true;
  };
  return intact(first, start) && intact(start + bytes, last);
}

namespace {

// The runtime hands back only a pointer, so the mapping that belongs to it is looked up.
struct Allocations {
  std::mutex mutex;
  std::unordered_map<void *, GuardedBuffer> live;
};
Allocations &allocations() {
  static Allocations all;
  return all;
}

template <Guard guard> void *allocate(void *, size_t bytes, size_t alignment) {
  GuardedBuffer buffer(bytes, guard, alignment);
  void *memory = buffer.data();
  std::lock_guard lock(allocations().mutex);
  allocations().live.emplace(memory, std::move(buffer));
  return memory;
}

void deallocate(void *, void *memory, size_t) {
  std::lock_guard lock(allocations().mutex);
  auto found = allocations().live.find(memory);
  if (found == allocations().live.end() || !found->second.slackIsIntact())
    fputs("arena or scratch memory was written outside its bounds\n", stderr), abort();
  allocations().live.erase(found);
}

} // namespace

void useGuardedAllocator(fathom_context_options &options, Guard guard) {
  options.allocate = guard == Guard::Start ? allocate<Guard::Start> : allocate<Guard::End>;
  options.deallocate = deallocate;
}

} // namespace fathom::conformance
