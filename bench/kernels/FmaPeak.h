// What one core can do at most: fused multiply-adds on registers alone.
#pragma once

#include <cstdint>

namespace fathom::bench {

// Does about this many floating point operations and returns how many they were.
int64_t multiplyAddInRegisters(int64_t operations);

} // namespace fathom::bench
