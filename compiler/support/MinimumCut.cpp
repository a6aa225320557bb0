// A maximum flow by levels (Dinitz), which saturates all shortest paths at once: what it saturates is the cut.
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

bool MinimumCut::findLevels() {
  level.assign(leaving.size(), none);
  level[source] = 0;
  for (std::deque<size_t> queue{source}; !queue.empty(); queue.pop_front())
    for (size_t edge : leaving[queue.front()])
      if (size_t to = edges[edge].to; edges[edge].capacity > 0 && level[to] == none) {
        level[to] = level[queue.front()] + 1;
        queue.push_back(to);
      }
  return level[sink] != none;
}

// Paths are extended edge by edge; what leads nowhere is not tried again while the levels stand.
void MinimumCut::saturate() {
  std::vector<size_t> next(leaving.size(), 0), path;
  for (;;) {
    size_t node = path.empty() ? source : edges[path.back()].to;
    if (node == sink) {
      int64_t flow = INT64_MAX;
      for (size_t edge : path)
        flow = std::min(flow, edges[edge].capacity);
      size_t kept = path.size();
      for (size_t i = path.size(); i-- > 0;) {
        edges[path[i]].capacity -= flow;
        edges[path[i] ^ 1].capacity += flow;
        if (edges[path[i]].capacity == 0)
          kept = i;
      }
      path.resize(kept);
      continue;
    }
    size_t &at = next[node];
    while (at < leaving[node].size()) {
      const Edge &edge = edges[leaving[node][at]];
      if (edge.capacity > 0 && level[edge.to] == level[node] + 1)
        break;
      ++at;
    }
    if (at < leaving[node].size()) {
      path.push_back(leaving[node][at]);
      continue;
    }
    if (path.empty())
      return;
    path.pop_back();
    ++next[path.empty() ? source : edges[path.back()].to];
  }
}

std::vector<bool> MinimumCut::solve() {
  while (findLevels())
    saturate();
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
