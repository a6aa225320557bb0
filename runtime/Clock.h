// The monotonic clock, for bounded waiting and for profiles.
#ifndef FATHOM_RUNTIME_CLOCK_H
#define FATHOM_RUNTIME_CLOCK_H

#include <cstdint>
#include <ctime>

namespace fathom {

inline int64_t nowNs() {
  timespec Time;
  clock_gettime(CLOCK_MONOTONIC, &Time);
  return int64_t(Time.tv_sec) * 1000000000 + Time.tv_nsec;
}

} // namespace fathom

#endif
