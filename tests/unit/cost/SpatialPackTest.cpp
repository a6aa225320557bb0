// What the draft cost of spatial packing says when one thing changes.
#include "compiler/cost/SpatialPack.h"
#include "tests/unit/cost/Machine.h"

#include <gtest/gtest.h>
#include <set>

namespace fathom::cost {
namespace {

// 128 channels in 16 groups, 28 x 28 pixels, 3 x 3.
constexpr SpatialPackConv conv{
    .rows = 28, .width = 28, .groups = 16, .channels = 8, .columns = 8, .kernel = 3, .kernelRows = 3};
constexpr SpatialPackSchedule schedule{
    .tileW = 7, .tileO = 8, .tileI = 8, .rowsOuter = true, .taskRows = 28, .taskPanels = 16};

TEST(SpatialPackCost, CountsThePixelsThatAreRead) {
  for (int64_t stride = 1; stride <= 4; ++stride)
    for (int64_t dilation = 1; dilation <= 4; ++dilation)
      for (int64_t kernel : {1, 2, 3, 5, 7})
        for (int64_t pixels : {1, 2, 5, 13}) {
          std::set<int64_t> read;
          for (int64_t p = 0; p < pixels; ++p)
            for (int64_t t = 0; t < kernel; ++t)
              read.insert(p * stride + t * dilation);
          EXPECT_EQ(inputPixels({.kernel = kernel, .stride = stride, .dilation = dilation}, pixels),
                    int64_t(read.size()));
        }
}

TEST(SpatialPackCost, IsAtLeastTheArithmetic) {
  double ideal = 28.0 * 28 * 128 * 8 * 9 / (4 * machine().fmaPerCycle);
  Estimate e = estimate(conv, schedule, machine());
  EXPECT_GE(e.arithmetic, ideal);
  EXPECT_LE(e.arithmetic, 1.6 * ideal);
}

TEST(SpatialPackCost, FallsWithTheNumberOfGroups) {
  double before = std::numeric_limits<double>::infinity();
  for (int64_t groups = 1; groups <= 16; groups *= 2) {
    SpatialPackConv grouped = conv;
    grouped.groups = groups, grouped.channels = grouped.columns = 128 / groups;
    double now = estimate(grouped, schedule, machine()).total();
    EXPECT_LT(now, before) << groups;
    before = now;
  }
}

TEST(SpatialPackCost, SeveralGroupsFillAVector) {
  SpatialPackConv pairs = conv;
  pairs.groups = 64, pairs.channels = pairs.columns = 2;
  SpatialPackSchedule one{.tileW = 7, .tileO = 2, .tileI = 2, .unrollW = true, .taskRows = 28, .taskPanels = 64};
  SpatialPackSchedule two = one;
  two.groups = 2, two.taskPanels = 32;
  EXPECT_EQ(panelsOf(pairs, one), 64);
  EXPECT_EQ(panelsOf(pairs, two), 32);
  EXPECT_LT(estimate(pairs, two, machine()).total(), 0.8 * estimate(pairs, one, machine()).total());
}

TEST(SpatialPackCost, SwappedPairsNeedHalfTheShuffles) {
  SpatialPackConv pairs = conv, swapped;
  pairs.groups = 64, pairs.channels = pairs.columns = 2;
  swapped = pairs, swapped.swapsPairs = true;
  SpatialPackSchedule two{
      .tileW = 7, .tileO = 2, .groups = 2, .tileI = 2, .unrollW = true, .taskRows = 28, .taskPanels = 32};
  EXPECT_LT(estimate(swapped, two, machine()).arithmetic, 0.95 * estimate(pairs, two, machine()).arithmetic);
}

TEST(SpatialPackCost, SharedLoadsTakeRegisters) {
  SpatialPackSchedule unrolled = schedule;
  unrolled.unrollW = true;
  EXPECT_GT(registersOf(conv, unrolled, machine()), registersOf(conv, schedule, machine()));
}

TEST(SpatialPackCost, PixelsAtPowersOfTwoCollide) {
  SpatialPackConv wide = conv, odd = conv;
  wide.groups = 64, odd.groups = 65;
  SpatialPackSchedule s = schedule;
  s.taskPanels = 65;
  EXPECT_GT(estimate(wide, s, machine()).arithmetic / 64, estimate(odd, s, machine()).arithmetic / 65);
}

TEST(SpatialPackCost, GroupsOfWholeVectorsNeedNoShuffles) {
  SpatialPackConv fours = conv;
  fours.groups = 32, fours.channels = fours.columns = 4;
  SpatialPackSchedule side{.tileW = 5, .tileO = 4, .groups = 2, .tileI = 4, .unrollW = true, .taskPanels = 16};
  Target broadcasting = machine();
  takeLanesAway(broadcasting);
  EXPECT_LE(registersOf(fours, side, machine()), 32);
  // Without multiply-adds of a lane, one channel after the other is spread for all three taps.
  EXPECT_EQ(registersOf(fours, side, broadcasting), 5 * 2 + 3 + 3);
  EXPECT_LT(estimate(fours, side, machine()).arithmetic, estimate(fours, side, broadcasting).arithmetic);
}

TEST(SpatialPackCost, WholeLinesAreBestWherePixelsCollide) {
  SpatialPackConv fours = conv;
  fours.rows = fours.width = 14, fours.groups = 128, fours.channels = fours.columns = 4;
  SpatialPackSchedule apart{
      .tileW = 14, .tileO = 4, .tileI = 4, .unrollW = true, .rowsOuter = true, .taskRows = 14, .taskPanels = 128};
  SpatialPackSchedule side{
      .tileW = 3, .tileO = 4, .groups = 4, .tileI = 4, .rowsOuter = true, .taskRows = 14, .taskPanels = 32};
  EXPECT_LT(estimate(fours, side, machine()).total(), estimate(fours, apart, machine()).total());
  fours.groups = 129; // pixels at an odd distance
  EXPECT_GT(estimate(fours, side, machine()).total(), estimate(fours, apart, machine()).total());
}

} // namespace
} // namespace fathom::cost
