// What the draft cost of attention says when one thing changes.
#include "compiler/cost/Attention.h"
#include "tests/unit/cost/Machine.h"

#include <gtest/gtest.h>

namespace fathom::cost {
namespace {

// 12 heads of 64, 512 tokens.
constexpr AttentionProblem problem{.batches = 12, .rows = 512, .keys = 512, .depth = 64, .columns = 64};
constexpr AttentionSchedule schedule{.tileM = 12, .tileN = 8, .unrollK = 8, .blockN = 512, .taskM = 516};

double total(const AttentionProblem &p, const AttentionSchedule &s) { return estimate(p, s, machine()).total(); }

TEST(AttentionCost, IsAtLeastTheArithmetic) {
  double ideal = 12.0 * 512 * 512 * (64 + 64) / (4 * machine().fmaPerCycle);
  Estimate e = estimate(problem, schedule, machine());
  EXPECT_GE(e.arithmetic, ideal);
  EXPECT_LE(e.arithmetic, 2 * ideal);
}

TEST(AttentionCost, GrowsWithEverySize) {
  for (auto size : {&AttentionProblem::batches, &AttentionProblem::rows, &AttentionProblem::keys,
                    &AttentionProblem::depth, &AttentionProblem::columns}) {
    AttentionProblem larger = problem;
    larger.*size *= 2;
    EXPECT_GT(total(larger, schedule), 1.3 * total(problem, schedule));
  }
}

TEST(AttentionCost, BlocksOfKeysMakeSumsWait) {
  AttentionSchedule blocks = schedule;
  blocks.blockN = 64;
  EXPECT_GT(total(problem, blocks), total(problem, schedule));
}

TEST(AttentionCost, ScoresThatFitNoCacheComeInBlocks) {
  AttentionProblem many = problem;
  many.keys = 1 << 20;
  AttentionSchedule whole = schedule, blocks = schedule;
  whole.blockN = 1 << 20, blocks.blockN = 1024;
  EXPECT_LT(total(many, blocks), total(many, whole));
}

TEST(AttentionCost, RowsAreComputedInWholeVectors) {
  AttentionProblem three = problem, four = problem;
  three.rows = 3, four.rows = 4;
  AttentionSchedule low = schedule;
  low.tileM = low.taskM = 4;
  EXPECT_EQ(estimate(three, low, machine()).arithmetic, estimate(four, low, machine()).arithmetic);
}

TEST(AttentionCost, KeysBesideFullPanelsCostMore) {
  AttentionProblem odd = problem;
  odd.keys = 511;
  EXPECT_GT(total(odd, schedule), total(problem, schedule));
}

// Every tile of rows fetches all panels: a few do it to gain, many have them by then.
TEST(AttentionCost, AFewTilesGainFromFetchingAhead) {
  for (int64_t rows : {12, 48, 72, 512}) {
    AttentionProblem p = problem;
    p.rows = rows;
    AttentionSchedule ahead = schedule;
    ahead.fetchAhead = true;
    EXPECT_EQ(gainsFromFetching(p, schedule, machine()), rows <= 48) << rows;
    EXPECT_EQ(total(p, ahead) < total(p, schedule), rows <= 48) << rows;
  }
}

} // namespace
} // namespace fathom::cost
