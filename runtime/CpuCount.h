// How many CPUs this process may use, which is how many threads a context has by default.
#ifndef FATHOM_RUNTIME_CPUCOUNT_H
#define FATHOM_RUNTIME_CPUCOUNT_H

namespace fathom {

constexpr int MaxThreads = 1024;

// The CPUs of the affinity mask, or fewer where a cgroup's quota grants less time than that. At least 1.
int availableCpus();

// The CPU quota of the process's cgroup and its parents, in whole CPUs rounded up; 0 when there is none. Root is put
// before /proc and /sys, so that a test can point at a tree of its own.
int cgroupCpuLimit(const char *Root);

} // namespace fathom

#endif
