// What kernels are measured on: made-up numbers of every element type, and whether results agree.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace fathom::measure {

// Floats are random, of mean 0 and variance 1, as are bytes; everything else may be an index or a choice and is 0,
// which is inside of every tensor. The same for the same seed on all machines.
void fill(char *data, int64_t bytes, int32_t type, uint64_t seed);

// Where the elements of a weight lie that a schedule has in panels of its own width; there are zeros between them.
struct Panels {
  int64_t offset = 0;
  // One dimension is in blocks of so many; its stride is that within one. -1: none is.
  int64_t blockedDim = -1, block = 0, blockStride = 0;
  std::vector<std::pair<int64_t, int64_t>> dims; // size and stride of each; empty: in the order of the memory

  // Elements up to the last one that is written; of numbers that make no sense perhaps very many.
  double extent() const;
};

// The same elements whatever the panels are, so that kernels which want different ones compute the same.
void fillPanels(char *data, int64_t bytes, int32_t type, uint64_t seed, const Panels &panels);

// Where two results differ, in words; empty: nowhere. Floats may differ by `tolerance` times their own size and the
// root mean square of the expected ones, what is no float by nothing.
std::string difference(const char *expected, const char *found, int64_t bytes, int32_t type, double tolerance);

} // namespace fathom::measure
