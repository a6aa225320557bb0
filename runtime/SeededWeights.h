// Weights made from a seed, for artifacts that were compiled without theirs (benchmarks on machines elsewhere).
#ifndef FATHOM_RUNTIME_SEEDEDWEIGHTS_H
#define FATHOM_RUNTIME_SEEDEDWEIGHTS_H

#include "fathom_rt.h"

namespace fathom {

// Maps Bytes of memory and fills them with float32 values that are uniform in [-0.05, 0.05) and the same everywhere:
// draw k is splitmix64's k-th output for the seed, and its low and high halves give the values 2k and 2k + 1 as
// float(int32(half) >> 8) * (0.05f / 2^23), which is exact but for one rounding. The first KeptBytes are copied from
// Kept instead.
[[nodiscard]] fathom_status *makeSeededWeights(uint64_t Seed, size_t Bytes, const char *Kept, size_t KeptBytes,
                                               char **Weights);

void freeSeededWeights(char *Weights, size_t Bytes);

} // namespace fathom

#endif
