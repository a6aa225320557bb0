// Halving threads is enough: what lies between differs by less than what a busy machine does to a short trial.
#include "tools/fathom/run/StreamSettings.h"

#include <algorithm>

namespace fathom {

std::vector<StreamSetting> streamSettings(int cpus, int streams, int threads) {
  if (threads && streams)
    return {{streams, threads}};
  if (threads)
    return {{std::max(1, cpus / threads), threads}};
  if (streams)
    return {{streams, std::max(1, cpus / streams)}};
  std::vector<StreamSetting> settings;
  for (int streams = 1; streams < cpus; streams *= 2)
    if (cpus / streams > 1)
      settings.push_back({streams, cpus / streams});
  settings.push_back({cpus, 1});
  return settings;
}

} // namespace fathom
