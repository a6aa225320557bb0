// Counted sets of addresses against their enumeration.
#include "compiler/analysis/Footprint.h"

#include "mlir/IR/MLIRContext.h"
#include <gtest/gtest.h>
#include <random>
#include <set>

using namespace mlir;

namespace fathom {
namespace {

int64_t enumerated(const ByteBox &box, int64_t line) {
  std::set<int64_t> starts{0}, lines;
  for (const Stride &stride : box.strides) {
    std::set<int64_t> next;
    for (int64_t start : starts)
      for (int64_t i = 0; i < stride.count; ++i)
        next.insert(start + i * stride.bytes);
    starts = next;
  }
  for (int64_t start : starts)
    for (int64_t byte = start; byte < start + box.run; ++byte)
      lines.insert(byte / line);
  return int64_t(lines.size()) * line;
}

class FootprintTest : public testing::Test {
protected:
  AffineExpr d(unsigned i) { return getAffineDimExpr(i, &context); }

  // All groups of the tree's nodes, with all loops running.
  int64_t bytes(int64_t line = 4) {
    std::vector<std::vector<AccessGroup>> groups;
    llvm::SmallVector<const AccessGroup *> all;
    for (unsigned node = 0; node < tree.nodes.size(); ++node)
      groups.push_back(groupAccesses(tree, node));
    for (auto &members : groups)
      for (AccessGroup &group : members)
        all.push_back(&group);
    return unionBytes(all, tree, line, [](unsigned) { return true; });
  }

  MLIRContext context;
  LoopTree tree;
};

TEST_F(FootprintTest, BoxesOfNestedStridesAreExact) {
  unsigned seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  auto pick = [&](int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(random); };
  for (int i = 0; i < 500; ++i) {
    // As tensors are: each stride is a multiple of the last, and two loops (a row and a row of the window) share it.
    ByteBox box{{}, 4 * pick(1, 4)};
    int64_t row = 4;
    for (int64_t dimension = pick(1, 3); dimension > 0; --dimension) {
      int64_t size = pick(1, 6), window = pick(1, 3), step = pick(1, window);
      box.strides.push_back({row * step, size});
      box.strides.push_back({row, window});
      row *= (size - 1) * step + window + pick(0, 3) + 4;
    }
    EXPECT_EQ(countBytes(box, 4), enumerated(box, 4));
  }
}

TEST_F(FootprintTest, LinesAreCountedWhole) {
  EXPECT_EQ(countBytes({{}, 4}, 64), 64);
  EXPECT_EQ(countBytes({{{4, 17}}, 4}, 64), 128);
  EXPECT_EQ(countBytes({{{128, 5}}, 4}, 64), 5 * 64);
  EXPECT_EQ(countBytes({{{60, 100}}, 4}, 64), enumerated({{{60, 100}}, 4}, 64));
}

TEST_F(FootprintTest, NumbersBecomeStrides) {
  auto strides = stridesOf({0, 4, 8, 100, 104, 108});
  ASSERT_EQ(strides.size(), 2u);
  EXPECT_EQ(strides[0].bytes, 4);
  EXPECT_EQ(strides[0].count, 3);
  EXPECT_EQ(strides[1].bytes, 100);
  EXPECT_EQ(strides[1].count, 2);
}

TEST_F(FootprintTest, UnrolledAccessesAreOneTile) {
  tree.buffers = {"x"};
  unsigned loop = tree.add(0, 8);
  for (int64_t row : {0, 1, 2})
    for (int64_t column : {0, 16})
      tree.nodes[loop].accesses.push_back({0, d(loop) * 32 + row * 1024 + column, 16});
  EXPECT_EQ(groupAccesses(tree, loop).size(), 1u);
  EXPECT_EQ(bytes(), 3 * 8 * 32);
}

// Rows of a tile, counted through an image of 32 columns that has a halo.
TEST_F(FootprintTest, RowsThatAreCountedThrough) {
  tree.buffers = {"x"};
  unsigned loop = tree.add(0, 16);
  for (int64_t row = 0; row < 6; ++row) {
    AffineExpr pixel = d(loop) * 6 + row;
    tree.nodes[loop].accesses.push_back({0, pixel.floorDiv(32) * 136 + (pixel % 32) * 4, 4});
  }
  EXPECT_EQ(bytes(), 96 * 4);
}

TEST_F(FootprintTest, OtherLoopsThatGoOnDoNotOverlap) {
  tree.buffers = {"x"};
  unsigned vectors = tree.add(0, 4), rest = tree.add(0, 3);
  tree.nodes[vectors].accesses.push_back({0, d(vectors) * 16, 16});
  tree.nodes[rest].accesses.push_back({0, d(rest) * 4 + 64, 4});
  EXPECT_EQ(bytes(), 64 + 12);
  unsigned again = tree.add(0, 2);
  tree.nodes[again].accesses.push_back({0, d(again) * 4, 4});
  EXPECT_EQ(bytes(), 64 + 12);
}

TEST_F(FootprintTest, UnknownPlacesAreFarApart) {
  tree.buffers = {"table"};
  unsigned rows = tree.add(0, 10), columns = tree.add(rows, 8);
  tree.symbols.push_back(rows);
  tree.nodes[columns].accesses.push_back({0, getAffineSymbolExpr(0, &context) * 32 + d(columns) * 4, 4});
  EXPECT_EQ(bytes(), 10 * 32);
}

} // namespace
} // namespace fathom
