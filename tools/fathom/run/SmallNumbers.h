// Numbers of the element types that take a byte or less: floats of 8 and 4 bits, integers of 4 and 2.
#pragma once

#include <cstdint>

namespace fathom {

bool isSmallDtype(int32_t dtype);
double decodeSmall(int32_t dtype, uint8_t byte);
// A number for tests, from one that is normally distributed and from random bits: of the former the nearest float, of
// the latter an integer.
uint8_t drawSmall(int32_t dtype, double normal, uint64_t bits);

} // namespace fathom
