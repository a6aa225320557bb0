// How the CPUs of a machine can be shared by runs that go on at the same time.
#pragma once

#include <vector>

namespace fathom {

// So many runs at a time, with so many threads each.
struct StreamSetting {
  int streams, threads;
  bool operator==(const StreamSetting &) const = default;
};

// The settings that may be best on so many CPUs, fewest runs at a time first: all CPUs for one run, half of them for
// each of two, and so on to a CPU for each. What is given (0: it is not) is taken as it is.
std::vector<StreamSetting> streamSettings(int cpus, int streams, int threads);

} // namespace fathom
