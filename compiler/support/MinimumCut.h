// The cheapest way to part a network in two.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace fathom {

// Nodes between a source and a sink; an edge costs its weight where its ends are on different sides.
class MinimumCut {
public:
  static constexpr size_t source = 0, sink = 1;

  size_t addNode();
  void addEdge(size_t a, size_t b, int64_t weight);
  // For every node whether it is on the source's side. Where several ways cost the same, that side is the largest of
  // nodes that are connected with the source.
  std::vector<bool> solve();

private:
  struct Edge {
    size_t to;
    int64_t capacity; // what more can flow; the edge back is the neighbour in the list
  };
  static constexpr size_t none = SIZE_MAX;
  bool findLevels(); // distances from the source; whether the sink has one
  void saturate();   // lets flow what can along paths of growing distance

  std::vector<Edge> edges;
  std::vector<std::vector<size_t>> leaving{2};
  std::vector<size_t> level;
};

} // namespace fathom
