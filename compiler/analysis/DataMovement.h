// How many bytes a cache of some size is filled with while a tree of loops runs: Algorithm 2 of Tuna (Wang et al.: A
// Static Analysis Approach to Optimizing Deep Neural Networks), as its text reads: what decides is what a single
// iteration touches.
#pragma once

#include "compiler/analysis/Footprint.h"

namespace fathom {

struct BufferMovement {
  double filled = 0;  // bytes that come into the cache
  double written = 0; // the part of these that was written, and leaves it again
};

struct NodeMovement {
  int64_t footprint = 0; // bytes that one execution of the node, all its iterations, touches
  double filled = 0;     // bytes that one execution fills the cache with
};

struct DataMovement {
  std::vector<BufferMovement> buffers; // of the whole
  std::vector<NodeMovement> nodes;     // by their numbers
  double filled() const;
  double written() const;
};

// A tree, prepared for any cache.
class MovementModel {
public:
  explicit MovementModel(const LoopTree &tree);

  // Of a cache of so many bytes with lines of so many, of which the least recently used is replaced.
  DataMovement through(int64_t cacheBytes, int64_t lineBytes) const;

private:
  friend class MovementWalk;
  const LoopTree &tree;
  std::vector<std::vector<AccessGroup>> groups; // by node
};

} // namespace fathom
