// PolyDL's working sets of a product, by hand, and how they are placed.
#include "compiler/analysis/WorkingSets.h"

#include "mlir/IR/MLIRContext.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace mlir;
using testing::ElementsAre;

namespace fathom {
namespace {

constexpr int64_t size = 4; // of an element; lines have one

// C[i, j] += A[i, k] * B[k, j]: with k inside, C is used again by each k; A by each j; B by each i.
TEST(WorkingSets, OfAProduct) {
  MLIRContext context;
  LoopTree tree;
  tree.buffers = {"A", "B", "C"};
  constexpr int64_t m = 6, n = 10, depth = 8;
  unsigned i = tree.add(0, m), j = tree.add(i, n), k = tree.add(j, depth);
  auto d = [&](unsigned node) { return getAffineDimExpr(node, &context); };
  auto touch = [&](unsigned buffer, AffineExpr offset, bool isWrite) {
    tree.nodes[k].accesses.push_back({buffer, offset * size, size, isWrite});
  };
  touch(0, d(i) * depth + d(k), false);
  touch(1, d(k) * n + d(j), false);
  touch(2, d(i) * n + d(j), true);
  EXPECT_THAT(workingSets(tree, size),
              ElementsAre(size * (depth + depth * n + n), // B, over i
                          size * (depth + depth + 1),     // A, over j
                          size * 3));                     // C, over k
}

TEST(WorkingSets, OfTwoPartsThatShareATensor) {
  MLIRContext context;
  LoopTree tree;
  tree.buffers = {"between"};
  for (unsigned loop : {tree.add(0, 5), tree.add(0, 5)})
    tree.nodes[loop].accesses.push_back({0, getAffineDimExpr(loop, &context) * size, size, loop == 1});
  EXPECT_THAT(workingSets(tree, size), ElementsAre(5 * size));
}

TEST(WorkingSets, OfAStreamThereAreNone) {
  MLIRContext context;
  LoopTree tree;
  tree.buffers = {"x"};
  unsigned loop = tree.add(0, 50);
  tree.nodes[loop].accesses.push_back({0, getAffineDimExpr(loop, &context) * size, size, false});
  EXPECT_TRUE(workingSets(tree, size).empty());
}

TEST(WorkingSets, FillCachesTheSmallestFirst) {
  EXPECT_THAT(placed({300, 20, 70, 15, 5000}, {100, 400}), ElementsAre(35, 370, 0, 5000));
  EXPECT_THAT(placed({}, {100}), ElementsAre(0, 0, 0, 0));
}

} // namespace
} // namespace fathom
