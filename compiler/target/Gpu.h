// A machine of work items, as costs see it: what one multiprocessor has and does in a cycle, and what all of them
// share.
#pragma once

#include <cstdint>

namespace fathom {

struct Gpu {
  int64_t multiprocessors = 16;
  double gigahertz = 1.5;
  int64_t lanes = 32; // work items that go in step
  // What a group may have, and what the groups of a multiprocessor may have together.
  int64_t groupItems = 1024, groupLocalBytes = 32 << 10;
  int64_t items = 1024, groups = 16, registers = 65536, localBytes = 64 << 10; // registers of 32 bits
  // What kernels take of that where their schedules do not say. Of groups whose items have a task each: items, and the
  // bytes of scratch of a task beyond which it is alone in its group. Of rows that a group shares: elements of the
  // shortest one, elements for each item where there are enough, and items.
  int64_t taskItems = 256, taskScratchBytes = 1 << 10;
  int64_t sharedRow = 32, rowElementsOfItem = 4, leastRowItems = 32, mostRowItems = 256;
  // Multiply-adds of 32-bit floats, of tf32 and of 16-bit floats on tensor cores (0: there are none).
  double multiplyAdds = 64, tf32MultiplyAdds = 0, halfMultiplyAdds = 0;
  double localBytesPerCycle = 128;
  // Of all multiprocessors together: the cache that they share, and memory.
  int64_t cacheBytes = 4 << 20;
  double cacheBytesPerCycle = 1000, memoryBytesPerCycle = 200;

  bool operator==(const Gpu &) const = default;
};

} // namespace fathom
