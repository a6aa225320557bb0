// Orders of loads are run: every vector must be in its register when it is multiplied.
#include "compiler/codegen/cpu/LoadOrder.h"

#include <gtest/gtest.h>
#include <llvm/ADT/STLExtras.h>
#include <map>
#include <random>

using namespace fathom;

namespace {

constexpr int64_t distance = 24;

bool isEarlier(const VectorUse &x, const VectorUse &y) { return std::tie(x.first, x.last) < std::tie(y.first, y.last); }

// What three iterations do, as a loop runs them: fails where a multiply-add finds another vector than its own.
void run(llvm::ArrayRef<VectorUse> uses, int64_t multiplyAdds, int64_t registers, const LoadOrder &order) {
  int64_t count = uses.size();
  std::map<int64_t, std::pair<int64_t, int64_t>> held; // iteration and vector in each register
  auto load = [&](int64_t iteration, int64_t vector) {
    ASSERT_GE(order.place[vector], 0);
    ASSERT_LT(order.place[vector], registers);
    held[order.place[vector]] = {iteration, vector};
  };
  for (int64_t vector = 0; vector < order.carried; ++vector)
    load(0, vector);
  for (int64_t iteration = 0; iteration < 3; ++iteration)
    for (int64_t at = 0; at < multiplyAdds; ++at) {
      for (int64_t vector = 0; vector < count; ++vector)
        if (uses[vector].first <= at && at <= uses[vector].last)
          ASSERT_EQ(held[order.place[vector]], std::pair(iteration, vector)) << "multiply-add " << at;
      for (int64_t vector = 0; vector < count; ++vector)
        if (order.behind[vector] == at)
          load(iteration + (vector < order.carried), vector);
    }
}

// A tile of rows by vectors of columns. Row by row, a vector along each row has the factors of four steps; packed, and
// column by column, one for each step has those of four rows.
llvm::SmallVector<VectorUse> usesOfTile(int64_t rows, int64_t columns, int64_t steps, bool packed) {
  std::map<std::pair<int, int64_t>, VectorUse> all;
  for (int64_t at = 0; at < steps * rows * columns; ++at) {
    int64_t step = at / (rows * columns), row = packed ? at % rows : at / columns % rows;
    int64_t column = packed ? at / rows % columns : at % columns;
    std::pair<int, int64_t> left{0, packed ? step * rows + row / 4 : step / 4 * rows + row};
    std::pair<int, int64_t> right{1, step * columns + column};
    for (auto vector : {left, right})
      all.try_emplace(vector, VectorUse{at, at}).first->second.last = at;
  }
  llvm::SmallVector<VectorUse> uses;
  for (auto [vector, use] : all)
    uses.push_back(use);
  llvm::sort(uses, isEarlier);
  return uses;
}

int64_t shortest(llvm::ArrayRef<VectorUse> uses, int64_t multiplyAdds, const LoadOrder &order) {
  int64_t least = INT64_MAX;
  for (int64_t vector = 0; vector < int64_t(uses.size()); ++vector) {
    int64_t later = vector < order.carried ? multiplyAdds : 0;
    least = std::min(least, uses[vector].first + later - order.behind[vector]);
  }
  return least;
}

} // namespace

TEST(LoadOrder, EveryTileFindsItsVectors) {
  for (bool packed : {false, true})
    for (int64_t rows = 1; rows <= 12; ++rows)
      for (int64_t columns = 1; columns <= 7; ++columns)
        for (int64_t steps : {4, 8, 16}) {
          int64_t sums = rows * columns, registers = 31 - sums, multiplyAdds = steps * sums;
          if (registers < 1 || (packed && rows % 4))
            continue;
          SCOPED_TRACE(testing::Message() << rows << " x " << columns << ", " << steps << " steps, packed " << packed);
          llvm::SmallVector<VectorUse> uses = usesOfTile(rows, columns, steps, packed);
          std::optional<LoadOrder> order = orderLoads(uses, multiplyAdds, registers, distance);
          // What a step needs at once, and one vector that comes meanwhile, are enough.
          int64_t needed = (packed ? rows / 4 : rows) + columns;
          if (registers > needed)
            EXPECT_TRUE(order);
          if (order)
            run(uses, multiplyAdds, registers, *order);
        }
}

TEST(LoadOrder, RandomUsesFindTheirVectors) {
  std::mt19937 random(1);
  auto below = [&](int64_t limit) { return int64_t(random() % uint64_t(limit)); };
  int found = 0;
  for (int trial = 0; trial < 2000; ++trial) {
    int64_t multiplyAdds = 1 + below(60), registers = 1 + below(10);
    llvm::SmallVector<VectorUse> uses(1 + below(30));
    for (VectorUse &use : uses) {
      use.first = below(multiplyAdds);
      use.last = use.first + below(multiplyAdds - use.first);
    }
    llvm::sort(uses, isEarlier);
    if (std::optional<LoadOrder> order = orderLoads(uses, multiplyAdds, registers, distance)) {
      run(uses, multiplyAdds, registers, *order);
      ++found;
    }
  }
  EXPECT_GT(found, 200);
}

TEST(LoadOrder, LoadsComeAhead) {
  // Registers to spare: everything comes as early as it may, within one step of the tile.
  llvm::SmallVector<VectorUse> uses = usesOfTile(8, 3, 8, true);
  std::optional<LoadOrder> order = orderLoads(uses, 8 * 24, 31 - 24, distance);
  ASSERT_TRUE(order);
  EXPECT_GE(shortest(uses, 8 * 24, *order), 8);
  // More registers never bring a load later.
  EXPECT_GE(shortest(uses, 8 * 24, *orderLoads(uses, 8 * 24, 12, distance)), shortest(uses, 8 * 24, *order));
}

TEST(LoadOrder, TooFewRegistersHaveNone) {
  llvm::SmallVector<VectorUse> uses = usesOfTile(4, 4, 4, false);
  EXPECT_FALSE(orderLoads(uses, 64, 7, distance)); // four rows and four columns are needed at once
}
