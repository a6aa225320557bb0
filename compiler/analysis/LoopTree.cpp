// Building of loop trees.
#include "compiler/analysis/LoopTree.h"

namespace fathom {

unsigned LoopTree::add(unsigned parent, int64_t trips, double share) {
  unsigned number = nodes.size();
  LoopNode &node = nodes.emplace_back();
  node.trips = trips, node.share = share, node.parent = parent;
  nodes[parent].children.push_back(number);
  return number;
}

double LoopTree::iterations(unsigned node) const {
  double all = 1;
  for (;; node = nodes[node].parent) {
    all *= double(nodes[node].trips) * nodes[node].share;
    if (node == 0)
      return all;
  }
}

} // namespace fathom
