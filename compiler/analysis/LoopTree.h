// The loops of a kernel as a tree: how often each runs and what memory its body touches, as expressions of the loops'
// counters. What data movement is derived from.
#pragma once

#include "mlir/IR/AffineExpr.h"
#include "llvm/ADT/SmallVector.h"
#include <string>
#include <vector>

namespace fathom {

// Bytes of a buffer that an iteration touches. The offset is in bytes; its dimension i is the counter of the tree's
// node i, which goes from 0 in steps of 1. Symbols are numbers that nothing is known of (an index that was loaded).
struct Access {
  unsigned buffer;
  mlir::AffineExpr offset;
  int64_t bytes;
  bool isWrite = false;
};

// A loop, or a piece of code that runs under a condition: a loop of one iteration.
struct LoopNode {
  int64_t trips = 1; // the most that were seen
  double share = 1;  // iterations, as a share of `trips` times the iterations of the node around it
  unsigned parent = 0;
  std::vector<Access> accesses; // of its body, outside of other nodes
  llvm::SmallVector<unsigned> children;
};

// Node 0 is the whole; a node's number is larger than its parent's.
struct LoopTree {
  std::vector<LoopNode> nodes{LoopNode()};
  std::vector<std::string> buffers;
  // For each symbol the innermost node that every iteration of has another value of.
  llvm::SmallVector<unsigned> symbols;

  unsigned add(unsigned parent, int64_t trips, double share = 1);
  // How often the body of a node runs.
  double iterations(unsigned node) const;
};

} // namespace fathom
