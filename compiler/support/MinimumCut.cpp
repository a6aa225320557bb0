// A maximum flow by shortest paths (Edmonds and Karp): what it saturates is the cut.
#include "compiler/support/MinimumCut.h"

#include <algorithm>
#include <deque>

namespace fathom {

size_t MinimumCut::addNode() {
  leaving.emplace_back();
  return leaving.size() - 1;
}

void MinimumCut::addEdge(size_t a, size_t b, int64_t weight) {
  if (a == b || weight <= 0)
    return;
  leaving[a].push_back(edges.size());
  edges.push_back({b, weight});
  leaving[b].push_back(edges.size());
  edges.push_back({a, weight});
}

std::vector<bool> MinimumCut::solve() {
  constexpr size_t none = SIZE_MAX;
  for (;;) {
    // The edge by which each node was reached.
    std::vector<size_t> reachedBy(leaving.size(), none);
    std::deque<size_t> queue{source};
    while (!queue.empty() && reachedBy[sink] == none) {
      size_t node = queue.front();
      queue.pop_front();
      for (size_t edge : leaving[node])
        if (size_t to = edges[edge].to; edges[edge].capacity > 0 && to != source && reachedBy[to] == none) {
          reachedBy[to] = edge;
          queue.push_back(to);
        }
    }
    if (reachedBy[sink] == none)
      break;
    int64_t flow = INT64_MAX;
    for (size_t node = sink; node != source; node = edges[reachedBy[node] ^ 1].to)
      flow = std::min(flow, edges[reachedBy[node]].capacity);
    for (size_t node = sink; node != source; node = edges[reachedBy[node] ^ 1].to) {
      edges[reachedBy[node]].capacity -= flow;
      edges[reachedBy[node] ^ 1].capacity += flow;
    }
  }
  // The sink's side is what still reaches it, and what has nothing to do with the source.
  auto collect = [&](size_t from, auto follows) {
    std::vector<bool> found(leaving.size());
    found[from] = true;
    for (std::deque<size_t> queue{from}; !queue.empty(); queue.pop_front())
      for (size_t edge : leaving[queue.front()])
        if (size_t to = edges[edge].to; !found[to] && follows(edge)) {
          found[to] = true;
          queue.push_back(to);
        }
    return found;
  };
  std::vector<bool> isWithSink = collect(sink, [&](size_t edge) { return edges[edge ^ 1].capacity > 0; });
  return collect(source, [&](size_t edge) { return !isWithSink[edges[edge].to]; });
}

} // namespace fathom
