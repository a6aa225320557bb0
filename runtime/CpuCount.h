// How many CPUs this process may use, which is how many threads a context has by default.
#ifndef FATHOM_RUNTIME_CPUCOUNT_H
#define FATHOM_RUNTIME_CPUCOUNT_H

#include "fathom_rt.h"

namespace fathom {

constexpr int MaxThreads = 1024;

// The CPUs of the affinity mask, or fewer where a cgroup's quota grants less time than that. At least 1.
int availableCpus();

// The CPU quota of the process's cgroup and its parents, in whole CPUs rounded up; 0 when there is none. Root is put
// before /proc and /sys, so that a test can point at a tree of its own.
int cgroupCpuLimit(const char *Root);

// How many threads a caller means who asks for so many: 0 is FATHOM_NUM_THREADS, or else all CPUs.
[[nodiscard]] fathom_status *chooseThreads(int32_t Asked, int32_t &Threads);

} // namespace fathom

#endif
