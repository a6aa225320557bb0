// Minimum cuts against trying every way to part the nodes.
#include "compiler/support/MinimumCut.h"

#include <algorithm>
#include <cstdlib>
#include <gtest/gtest.h>
#include <random>

namespace fathom {
namespace {

struct Edge {
  size_t a, b;
  int64_t weight;
};

int64_t cost(const std::vector<Edge> &edges, const std::vector<bool> &isWithSource) {
  int64_t sum = 0;
  for (const Edge &edge : edges)
    if (isWithSource[edge.a] != isWithSource[edge.b])
      sum += edge.weight;
  return sum;
}

// Whether every node on the source's side is connected with it there.
bool isConnected(const std::vector<Edge> &edges, const std::vector<bool> &isWithSource) {
  std::vector<bool> reached(isWithSource.size());
  reached[MinimumCut::source] = true;
  for (size_t round = 0; round < reached.size(); ++round)
    for (const Edge &edge : edges)
      if (edge.weight && isWithSource[edge.a] && isWithSource[edge.b] && (reached[edge.a] || reached[edge.b]))
        reached[edge.a] = reached[edge.b] = true;
  return reached == isWithSource;
}

TEST(MinimumCut, WhatIsAloneGoesToTheSink) {
  MinimumCut cut;
  size_t alone = cut.addNode(), pulled = cut.addNode();
  cut.addEdge(MinimumCut::source, pulled, 1);
  EXPECT_FALSE(cut.solve()[alone]);
  EXPECT_TRUE(cut.solve()[pulled]);
}

TEST(MinimumCut, EqualCostsGoToTheSource) {
  MinimumCut cut;
  size_t node = cut.addNode();
  cut.addEdge(MinimumCut::source, node, 5);
  cut.addEdge(node, MinimumCut::sink, 5);
  EXPECT_TRUE(cut.solve()[node]);
}

TEST(MinimumCut, HugeWeightsDoNotOverflow) {
  MinimumCut cut;
  constexpr int64_t huge = int64_t(1) << 60;
  std::vector<size_t> nodes;
  for (int i = 0; i < 40; ++i) {
    nodes.push_back(cut.addNode());
    cut.addEdge(i ? nodes[size_t(i) - 1] : MinimumCut::source, nodes.back(), huge);
    cut.addEdge(nodes.back(), MinimumCut::sink, i % 2 ? huge : 3);
  }
  cut.solve();
}

TEST(MinimumCut, IsTheCheapestOfAll) {
  const char *text = std::getenv("FATHOM_TEST_SEED");
  std::mt19937_64 random(text ? std::strtoull(text, nullptr, 0) : 7);
  for (int round = 0; round < 300; ++round) {
    size_t inner = random() % 9, count = inner + 2;
    MinimumCut cut;
    for (size_t i = 0; i < inner; ++i)
      cut.addNode();
    std::vector<Edge> edges;
    for (size_t i = random() % 25; i > 0; --i) {
      Edge edge{random() % count, random() % count, int64_t(random() % 10)};
      cut.addEdge(edge.a, edge.b, edge.weight);
      edges.push_back(edge);
    }
    int64_t least = INT64_MAX;
    size_t largest = 0;
    for (size_t choice = 0; choice < size_t(1) << inner; ++choice) {
      std::vector<bool> sides{true, false};
      for (size_t i = 0; i < inner; ++i)
        sides.push_back(choice >> i & 1);
      int64_t now = cost(edges, sides);
      size_t size = size_t(std::count(sides.begin(), sides.end(), true));
      if (isConnected(edges, sides) && (now < least || (now == least && size > largest)))
        least = now, largest = size;
    }
    std::vector<bool> found = cut.solve();
    EXPECT_EQ(cost(edges, found), least) << "round " << round;
    EXPECT_EQ(size_t(std::count(found.begin(), found.end(), true)), largest) << "round " << round;
  }
}

} // namespace
} // namespace fathom
