// The caches of this machine, as its kernel reports them.
#pragma once

#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <vector>

namespace fathom {

// Bytes of the data caches that the first core uses, from the first level on; none where nothing is reported.
std::vector<int64_t> hostCacheBytes(llvm::StringRef folder = "/sys/devices/system/cpu/cpu0/cache");

} // namespace fathom
