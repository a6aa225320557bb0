// What kernels are measured on: made-up numbers of every element type, and whether results agree.
#pragma once

#include <cstdint>
#include <string>

namespace fathom::measure {

// Floats are random, of mean 0 and variance 1, as are bytes; everything else may be an index or a choice and is 0,
// which is inside of every tensor. The same for the same seed on all machines.
void fill(char *data, int64_t bytes, int32_t type, uint64_t seed);

// Where two results differ, in words; empty: nowhere. Floats may differ by `tolerance` times their own size and the
// root mean square of the expected ones, what is no float by nothing.
std::string difference(const char *expected, const char *found, int64_t bytes, int32_t type, double tolerance);

} // namespace fathom::measure
