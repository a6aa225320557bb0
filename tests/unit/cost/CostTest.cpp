// What the draft costs say when one thing changes.
#include "compiler/cost/Winograd.h"

#include <gtest/gtest.h>

namespace fathom::cost {
namespace {

Target machine() {
  Target target;
  target.laneFma = true;
  target.fmaPerCycle = 4, target.loadsPerCycle = 3, target.storesPerCycle = 2, target.issuedPerCycle = 8;
  target.caches = {{64 << 10, 48}, {1 << 20, 24}, {32 << 20, 10}};
  return target;
}

constexpr Product product{.rows = 200, .columns = 768, .run = 768};
constexpr ProductSchedule schedule{.tileM = 5, .tileN = 16, .unrollK = 4, .inFlight = 16, .taskM = 200, .taskN = 48};

TEST(ProductCost, IsAtLeastTheArithmetic) {
  double ideal = 200.0 * 768 * 768 / (4 * machine().fmaPerCycle);
  Estimate e = estimate(product, schedule, machine());
  EXPECT_GE(e.arithmetic, ideal);
  EXPECT_LE(e.arithmetic, 1.3 * ideal);
}

TEST(ProductCost, GrowsWithTheProblem) {
  Product larger = product;
  larger.rows *= 2;
  EXPECT_GT(estimate(larger, schedule, machine()).total(), 1.9 * estimate(product, schedule, machine()).total());
}

TEST(ProductCost, TilesOfFewAccumulatorsWaitForEachOther) {
  EXPECT_GT(stepCycles(1, 4, false, 1, machine(), 32), 3.9);
  EXPECT_LT(stepCycles(1, 4, false, 8, machine(), 32), 1.1);
}

TEST(ProductCost, TailsCost) {
  Product odd = product;
  odd.columns += 1;
  double even = estimate(product, schedule, machine()).total();
  EXPECT_GT(estimate(odd, schedule, machine()).total(), even * (769.0 / 768) * 1.001);
}

TEST(ProductCost, SmallerCachesRefillMore) {
  Target small = machine();
  small.caches[0].bytes /= 8, small.caches[1].bytes /= 8;
  EXPECT_GT(estimate(product, schedule, small).movement, estimate(product, schedule, machine()).movement);
}

TEST(ProductCost, PackingIsCountedForEveryPartOfThePanels) {
  ProductSchedule packed = schedule;
  packed.packed = true, packed.tileM = 8, packed.tileN = 12, packed.blockK = 256, packed.taskM = 200;
  packed.taskN = 64;
  double once = estimate(product, packed, machine()).packing;
  packed.taskN = 16;
  EXPECT_DOUBLE_EQ(estimate(product, packed, machine()).packing, 4 * once);
}

TEST(Threads, ShareWholeTasks) {
  Estimate e{.arithmetic = 1200, .tasks = 3};
  EXPECT_DOUBLE_EQ(e.total(1), 1200);
  EXPECT_DOUBLE_EQ(e.total(2), 800);
  EXPECT_DOUBLE_EQ(e.total(3), 400);
  EXPECT_DOUBLE_EQ(e.total(16), 400);
}

TEST(WinogradCost, MultipliesLessAndTransformsMore) {
  constexpr WinogradConv conv{.size = 4, .tiles = 196, .pixels = 3136, .channels = 64, .columns = 64};
  WinogradSchedule s{.tileM = 5, .tileN = 16, .unrollK = 4, .inFlight = 16, .taskTiles = 50, .taskN = 4};
  Product plain{.rows = 3136, .columns = 64, .taps = 3, .run = 192};
  Estimate direct =
      estimate(plain, {.tileM = 5, .tileN = 16, .unrollK = 4, .inFlight = 16, .taskM = 200, .taskN = 4}, machine());
  Estimate tiled = estimate(conv, s, machine());
  EXPECT_LT(tiled.arithmetic, direct.arithmetic / 3);
  EXPECT_GT(tiled.packing, 0);
  EXPECT_LT(tiled.total(), direct.total());
}

} // namespace
} // namespace fathom::cost
