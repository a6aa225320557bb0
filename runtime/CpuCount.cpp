// Counts the CPUs of the affinity mask and reads the quotas of cgroup v2 and v1.
#include "CpuCount.h"

#include "Status.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

using namespace fathom;

namespace {

using Path = char[4096];

// Reads a small file as text; false when it cannot be read or has no end in the buffer.
template <size_t N> bool readText(const char *Name, char (&Text)[N]) {
  int Fd = open(Name, O_RDONLY | O_CLOEXEC);
  if (Fd < 0)
    return false;
  ssize_t Length = read(Fd, Text, N - 1);
  close(Fd);
  if (Length < 0 || size_t(Length) == N - 1)
    return false;
  Text[Length] = 0;
  return true;
}

// CPUs of a quota, rounded up; 0 for "no limit", which v1 writes as -1 and v2 as the word max.
int cpusOf(const char *Quota, const char *Period) {
  long long Q = strtoll(Quota, nullptr, 10), P = strtoll(Period, nullptr, 10);
  if (Q <= 0 || P <= 0)
    return 0;
  return int(std::min<long long>((Q - 1) / P + 1, MaxThreads));
}

int limitOfV2(const char *Folder) {
  Path Name;
  char Text[128], Quota[32], Period[32];
  snprintf(Name, sizeof(Name), "%s/cpu.max", Folder);
  if (!readText(Name, Text) || sscanf(Text, "%31s %31s", Quota, Period) != 2)
    return 0;
  return cpusOf(Quota, Period);
}

int limitOfV1(const char *Folder) {
  Path Name;
  char Quota[64], Period[64];
  snprintf(Name, sizeof(Name), "%s/cpu.cfs_quota_us", Folder);
  if (!readText(Name, Quota))
    return 0;
  snprintf(Name, sizeof(Name), "%s/cpu.cfs_period_us", Folder);
  return readText(Name, Period) ? cpusOf(Quota, Period) : 0;
}

// The least limit from the group up to the mount. A group outside the mount's view (a container without a cgroup
// namespace) has no folder there; the walk then ends at the mount itself, which is the container's group.
int leastLimit(const char *Mount, const char *Group, int (*LimitOf)(const char *Folder)) {
  Path Folder;
  if (snprintf(Folder, sizeof(Folder), "%s%s", Mount, Group) >= int(sizeof(Folder)))
    return 0;
  int Least = 0;
  for (size_t Stop = strlen(Mount);;) {
    if (int Limit = LimitOf(Folder))
      Least = Least ? std::min(Least, Limit) : Limit;
    char *Slash = strrchr(Folder, '/');
    if (!Slash || size_t(Slash - Folder) < Stop)
      return Least;
    *Slash = 0;
  }
}

bool hasController(const char *List, const char *Name) {
  size_t Length = strlen(Name);
  for (const char *At = List; At; At = strchr(At, ',')) {
    At += *At == ',';
    if (!strncmp(At, Name, Length) && (At[Length] == ',' || !At[Length]))
      return true;
  }
  return false;
}

} // namespace

int fathom::cgroupCpuLimit(const char *Root) {
  Path Name, Mount;
  char Groups[16384];
  snprintf(Name, sizeof(Name), "%s/proc/self/cgroup", Root);
  if (!readText(Name, Groups))
    return 0;
  int Least = 0;
  char *Next = Groups;
  // Each line is "id:controllers:group"; v2's has id 0 and no controllers.
  while (char *Line = strsep(&Next, "\n")) {
    char *Rest = Line;
    strsep(&Rest, ":");
    char *Controllers = strsep(&Rest, ":");
    if (!Rest)
      continue;
    bool IsV2 = !*Controllers;
    if (!IsV2 && !hasController(Controllers, "cpu"))
      continue;
    // Where v1 mounts cpu together with cpuacct, a link named cpu leads there.
    snprintf(Mount, sizeof(Mount), "%s/sys/fs/cgroup%s", Root, IsV2 ? "" : "/cpu");
    if (int Limit = leastLimit(Mount, Rest, IsV2 ? limitOfV2 : limitOfV1))
      Least = Least ? std::min(Least, Limit) : Limit;
  }
  return Least;
}

int fathom::availableCpus() {
  int Count = 0;
  // The kernel refuses a mask smaller than its own, so ask with growing ones.
  for (size_t Cpus = 1024; !Count && Cpus <= (1u << 20); Cpus *= 4) {
    cpu_set_t *Set = CPU_ALLOC(Cpus);
    if (!Set)
      break;
    if (sched_getaffinity(0, CPU_ALLOC_SIZE(Cpus), Set) == 0)
      Count = CPU_COUNT_S(CPU_ALLOC_SIZE(Cpus), Set);
    CPU_FREE(Set);
  }
  Count = std::min(std::max(Count, 1), MaxThreads);
  int Limit = cgroupCpuLimit("");
  return Limit ? std::min(Count, Limit) : Count;
}

fathom_status *fathom::chooseThreads(int32_t Asked, int32_t &Threads) {
  if (Asked < 0 || Asked > MaxThreads)
    return makeStatus(FATHOM_ERROR_INVALID_ARGUMENT, "threads is %d: expected 0 for the default, or 1 to %d", Asked,
                      MaxThreads);
  Threads = Asked ? Asked : availableCpus();
  const char *Text = getenv("FATHOM_NUM_THREADS");
  if (Asked || !Text || !*Text)
    return nullptr;
  char *End;
  long Wanted = strtol(Text, &End, 10);
  if (*End || Wanted < 1 || Wanted > MaxThreads)
    return makeStatus(FATHOM_ERROR_INVALID_ARGUMENT, "FATHOM_NUM_THREADS is '%s': expected a number from 1 to %d", Text,
                      MaxThreads);
  Threads = int32_t(Wanted);
  return nullptr;
}
