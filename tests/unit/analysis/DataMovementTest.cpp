// Data movement of loops, against formulas and against a simulated cache.
#include "compiler/analysis/DataMovement.h"

#include "mlir/IR/MLIRContext.h"
#include <gtest/gtest.h>
#include <list>
#include <unordered_map>

using namespace mlir;

namespace fathom {
namespace {

// Elements of 4 bytes, lines of one element: movement is in elements, as in the paper.
class DataMovementTest : public testing::Test {
protected:
  AffineExpr d(unsigned i) { return getAffineDimExpr(i, &context); }
  void touch(unsigned node, unsigned buffer, AffineExpr row, AffineExpr column, int64_t columns, bool isWrite = false) {
    tree.nodes[node].accesses.push_back({buffer, (row * columns + column) * 4, 4, isWrite});
  }
  DataMovement through(int64_t elements) { return MovementModel(tree).through(elements * 4, 4); }

  MLIRContext context;
  LoopTree tree;
};

// Two fused and tiled products, listing 1 of the paper.
TEST_F(DataMovementTest, TwoMatrixProductsOfThePaper) {
  const int64_t Ti = 4, Tj = 8, Ni = 32, Nj = 128, Nk = 24, Nl = 20;
  tree.buffers = {"A", "B", "C", "D", "E"};
  enum { A, B, C, D, E };
  unsigned it = tree.add(0, Ni / Ti), jt = tree.add(it, Nj / Tj);
  unsigned k = tree.add(jt, Nk), i1 = tree.add(k, Ti), j1 = tree.add(i1, Tj);
  unsigned l = tree.add(jt, Nl), i2 = tree.add(l, Ti), j2 = tree.add(i2, Tj);
  AffineExpr i = d(it) * Ti + d(i1), j = d(jt) * Tj + d(j1);
  touch(j1, C, i, j, Nj, true);
  touch(j1, A, i, d(k), Nk);
  touch(j1, B, d(k), j, Nj);
  i = d(it) * Ti + d(i2), j = d(jt) * Tj + d(j2);
  touch(j2, E, i, d(l), Nl, true);
  touch(j2, C, i, j, Nj);
  touch(j2, D, j, d(l), Nl);

  // All below the tiling loops fits, and nothing of a tiling loop does.
  const int64_t below = Ti * Tj + Ti * Nl + Tj * Nl + Tj * Nk + Ti * Nk;
  const int64_t ofJt = Ti * Nj + Ti * Nl + Nj * Nl + Nj * Nk + Ti * Nk;
  const int64_t cache = below + 10;
  ASSERT_LT(cache, ofJt);
  DataMovement movement = through(cache);
  EXPECT_EQ(movement.nodes[k].filled / 4, Ti * Tj + Tj * Nk + Ti * Nk);
  EXPECT_EQ(movement.nodes[l].filled / 4, Ti * Tj + Ti * Nl + Tj * Nl);
  EXPECT_EQ(movement.nodes[jt].footprint / 4, ofJt);
  EXPECT_EQ(movement.nodes[jt].filled / 4, ofJt);
  EXPECT_EQ(movement.nodes[it].filled / 4, ofJt * Ni / Ti);
  EXPECT_EQ(movement.filled() / 4, ofJt * Ni / Ti);
  EXPECT_EQ(movement.buffers[B].filled / 4, Nj * Nk * Ni / Ti);
  EXPECT_EQ(movement.buffers[C].written / 4, Ni * Nj);
  EXPECT_EQ(movement.buffers[A].written, 0);

  // In a cache that holds everything, each element comes once.
  EXPECT_EQ(through(1 << 20).filled() / 4, Ni * Nj + Ni * Nl + Nj * Nl + Nj * Nk + Ni * Nk);
}

// What is used in every iteration of a long loop stays, however much passes by.
TEST_F(DataMovementTest, SumsStayWhileAStreamPasses) {
  tree.buffers = {"sums", "stream"};
  unsigned outer = tree.add(0, 50), inner = tree.add(outer, 1000);
  touch(inner, 0, getAffineConstantExpr(0, &context), getAffineConstantExpr(0, &context), 1, true);
  touch(inner, 1, d(inner), getAffineConstantExpr(0, &context), 1);
  DataMovement movement = through(100);
  EXPECT_EQ(movement.buffers[0].filled / 4, 1);
  EXPECT_EQ(movement.buffers[1].filled / 4, 50 * 1000);
  EXPECT_EQ(through(2000).buffers[1].filled / 4, 1000);
}

// A window that moves by one: neighbours share all but one column.
TEST_F(DataMovementTest, WindowsAreReusedAsFarAsTheyOverlap) {
  tree.buffers = {"x"};
  unsigned again = tree.add(0, 7), pixel = tree.add(again, 100), tap = tree.add(pixel, 3);
  touch(tap, 0, d(pixel) + d(tap), getAffineConstantExpr(0, &context), 1);
  EXPECT_EQ(through(10).filled() / 4, 7 * 102);
  EXPECT_EQ(through(200).filled() / 4, 102);
}

class Lru {
public:
  explicit Lru(size_t capacity) : capacity(capacity) {}
  void touch(int64_t line) {
    if (auto found = places.find(line); found != places.end())
      order.erase(found->second);
    else
      ++misses;
    order.push_front(line);
    places[line] = order.begin();
    if (places.size() > capacity) {
      places.erase(order.back());
      order.pop_back();
    }
  }
  int64_t misses = 0;

private:
  size_t capacity;
  std::list<int64_t> order;
  std::unordered_map<int64_t, std::list<int64_t>::iterator> places;
};

// A product in tiles of rows and columns, in caches of many sizes.
TEST_F(DataMovementTest, AProductAsASimulatedCacheSeesIt) {
  const int64_t M = 24, N = 32, K = 40, T = 4;
  tree.buffers = {"a", "b", "c"};
  unsigned it = tree.add(0, M / T), jt = tree.add(it, N / T), k = tree.add(jt, K);
  for (int64_t r = 0; r < T; ++r) {
    touch(k, 0, d(it) * T + r, d(k), K);
    touch(k, 1, d(jt) * K + d(k), getAffineConstantExpr(r, &context), T);
  }
  for (int64_t r = 0; r < T; ++r)
    for (int64_t c = 0; c < T; ++c)
      touch(jt, 2, d(it) * T + r, d(jt) * T + c, N, true);
  for (int64_t elements : {16, 100, 200, 400, 800, 1000, 1500, 2000, 3500}) {
    Lru cache(elements);
    for (int64_t i = 0; i < M; i += T)
      for (int64_t j = 0; j < N; j += T) {
        for (int64_t s = 0; s < K; ++s)
          for (int64_t r = 0; r < T; ++r) {
            cache.touch((i + r) * K + s);
            cache.touch(10000 + (j / T * K + s) * T + r);
          }
        for (int64_t r = 0; r < T; ++r)
          for (int64_t c = 0; c < T; ++c)
            cache.touch(20000 + (i + r) * N + j + c);
      }
    EXPECT_NEAR(through(elements).filled() / 4, cache.misses, 0.1 * cache.misses) << elements << " elements";
  }
}

} // namespace
} // namespace fathom
