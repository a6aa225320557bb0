// What the draft cost of transposed convolutions says when one thing changes.
#include "compiler/cost/Transposed.h"
#include "tests/unit/cost/Machine.h"

#include <gtest/gtest.h>

namespace fathom::cost {
namespace {

// 256 channels to 128, 16 x 16 pixels to 32 x 32, windows of 4 x 4.
TransposedConv conv() {
  TransposedConv conv;
  conv.rows = 256, conv.channels = conv.rowStride = 256, conv.columns = 128;
  conv.taps = {4, 4, 4, 4};
  return conv;
}

TransposedSchedule schedule() {
  TransposedSchedule s;
  s.tileM = 5, s.tileN = 16, s.unrollK = 8, s.inFlight = 16;
  s.blockK = 256, s.taskM = 260, s.taskN = 8;
  s.taskP = 4;
  return s;
}

TEST(TransposedCost, IsAtLeastTheArithmetic) {
  double ideal = 256.0 * 256 * 128 * 16 / (4 * machine().fmaPerCycle);
  Estimate e = estimate(conv(), schedule(), machine());
  EXPECT_GE(e.arithmetic, ideal);
  EXPECT_LE(e.arithmetic, 1.6 * ideal);
}

TEST(TransposedCost, CountsTheTapsOfEachPhase) {
  TransposedConv uneven = conv();
  uneven.taps = {4, 2, 2, 1}; // a window of 3 x 3
  double all = estimate(conv(), schedule(), machine()).arithmetic;
  double some = estimate(uneven, schedule(), machine()).arithmetic;
  EXPECT_GT(some, 0.5 * all);
  EXPECT_LT(some, 0.7 * all);
}

TEST(TransposedCost, TasksAreRowsPanelsAndPhases) {
  TransposedSchedule s = schedule();
  EXPECT_EQ(estimate(conv(), s, machine()).tasks, 1);
  s.taskP = 2;
  EXPECT_EQ(estimate(conv(), s, machine()).tasks, 2);
  s.taskN = 2, s.taskM = 65;
  EXPECT_EQ(estimate(conv(), s, machine()).tasks, 2 * 4 * 4);
}

TEST(TransposedCost, GroupsSideBySideFillVectors) {
  TransposedConv apart = conv();
  apart.groups = 128, apart.channels = apart.columns = 1;
  TransposedConv together = apart;
  together.sideBySide = true;
  TransposedSchedule s = schedule();
  s.taskN = 1 << 20, s.unrollK = 1;
  EXPECT_EQ(panelsOf(apart, s), 128);
  EXPECT_EQ(panelsOf(together, s), 8);
  EXPECT_LT(estimate(together, s, machine()).total(), 0.3 * estimate(apart, s, machine()).total());
}

} // namespace
} // namespace fathom::cost
