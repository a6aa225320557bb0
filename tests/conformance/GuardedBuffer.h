// Memory between pages that may not be touched, so that reading or writing past either end of a tensor is a crash and
// not a wrong number.
#pragma once

#include "runtime/fathom_rt.h"
#include <cstddef>
#include <cstdint>

namespace fathom::conformance {

// Which end of the data touches a guard page exactly; the other one is at most a page away from its guard.
enum class Guard { Start, End };

class GuardedBuffer {
public:
  GuardedBuffer(size_t bytes, Guard guard, size_t alignment = 1);
  GuardedBuffer(const GuardedBuffer &) = delete;
  GuardedBuffer(GuardedBuffer &&other);
  ~GuardedBuffer();

  char *data() const { return start; }
  size_t size() const { return bytes; }
  // From here on writing is a crash too.
  void makeReadOnly();
  // Whether the bytes between the data and the page's far end are still what they were.
  bool slackIsIntact() const;

private:
  char *mapping, *start;
  size_t mapped, bytes;
};

// Makes a context allocate its arena and scratch memory between guard pages.
void useGuardedAllocator(fathom_context_options &options, Guard guard);

} // namespace fathom::conformance
