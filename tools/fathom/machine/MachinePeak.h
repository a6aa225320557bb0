// What this machine can do at most, measured: the roof that a kernel's speed is compared with.
#pragma once

#include <cstddef>
#include <cstdint>

namespace fathom {

struct MachinePeak {
  double flopPerSecond = 0;        // single precision multiply-adds on registers alone
  double bytesPerSecond = 0;       // reading memory far larger than the caches
  double cachedBytesPerSecond = 0; // reading half of the second cache, over and over
};

// Bytes per second that threads read, each a block of its own of so many bytes, over and over.
double readRate(size_t bytes, int threads);
// Takes about a tenth of a second with `threads` threads.
MachinePeak measurePeak(int threads);
// Bytes of the last-level cache; what fits into it is not bound by memory.
size_t lastLevelCacheBytes();

} // namespace fathom
