// The caller's allocator or the C heap, and a buffer from it.
#ifndef FATHOM_RUNTIME_ALLOCATOR_H
#define FATHOM_RUNTIME_ALLOCATOR_H

#include "fathom_rt.h"

namespace fathom {

// A growing buffer, aligned to Alignment. What it held is lost when it grows.
class Buffer {
public:
  Buffer() = default;
  Buffer(const Buffer &) = delete;
  Buffer &operator=(const Buffer &) = delete;
  ~Buffer() { release(); }

  // Takes the allocator of the options; before the first reserve.
  void useAllocator(const fathom_context_options &Options);

  // Makes room for Bytes; What names the buffer in a message.
  [[nodiscard]] fathom_status *reserve(const char *What, size_t Bytes);

  char *data() const { return Memory; }

private:
  void release();

  char *Memory = nullptr;
  size_t Capacity = 0;
  void *(*Allocate)(void *User, size_t Bytes, size_t Alignment) = nullptr;
  void (*Deallocate)(void *User, void *Memory, size_t Bytes) = nullptr;
  void *User = nullptr;
};

} // namespace fathom

#endif
