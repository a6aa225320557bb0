// Memory that ends where the next page cannot be touched, so that a kernel that goes too far ends there and changes
// nothing of others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

namespace fathom::measure {

class GuardedMemory {
public:
  GuardedMemory() = default;
  GuardedMemory(GuardedMemory &&other) noexcept
      : mapped(std::exchange(other.mapped, nullptr)), mappedBytes(other.mappedBytes), start(other.start) {}
  GuardedMemory &operator=(GuardedMemory &&other) noexcept {
    std::swap(mapped, other.mapped), std::swap(mappedBytes, other.mappedBytes), std::swap(start, other.start);
    return *this;
  }
  ~GuardedMemory();

  // Zeros, aligned as the runtime aligns tensors; on huge pages where the runtime would ask for them. False: there is
  // not as much.
  [[nodiscard]] bool allocate(int64_t bytes, bool hugePages);
  char *data() const { return start; }

private:
  void *mapped = nullptr;
  size_t mappedBytes = 0;
  char *start = nullptr;
};

} // namespace fathom::measure
