// What the draft costs say when one thing changes.
#include "compiler/cost/Depthwise.h"
#include "compiler/cost/PackedProduct.h"
#include "compiler/cost/Strassen.h"
#include "compiler/cost/Sweep.h"
#include "compiler/cost/Winograd.h"
#include "tests/unit/cost/Machine.h"

#include <gtest/gtest.h>

namespace fathom::cost {
namespace {

constexpr Product product{.rows = 200, .columns = 768, .run = 768};
constexpr ContractSchedule schedule{.tileM = 5, .tileN = 16, .unrollK = 4, .inFlight = 16, .taskM = 200, .taskN = 48};

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

TEST(ProductCost, PartsOfRowsTakeLongerToStore) {
  double large = 64 << 20, small = 16 << 10;
  double whole = storingCycles(large, 256, false, machine());
  EXPECT_GT(storingCycles(large, 128, true, machine()), 2 * whole);
  EXPECT_GT(storingCycles(large, 128, true, machine()), storingCycles(large, 512, true, machine()));
  EXPECT_LT(storingCycles(large, 1 << 20, true, machine()), 1.01 * whole);
  EXPECT_EQ(storingCycles(small, 64, true, machine()), 0);
  // A task that has all columns of its rows, beside two that have half of them each.
  Product wide{.rows = 1 << 16, .columns = 64, .run = 9};
  ContractSchedule all{.tileM = 8, .tileN = 32, .taskM = 512, .taskN = 2}, half = all;
  half.taskN = 1;
  EXPECT_GT(estimate(wide, half, machine()).results, 1.5 * estimate(wide, all, machine()).results);
}

TEST(ProductCost, StepsOfAnIterationLeaveNothingOver) {
  Target broadcasts = machine();
  takeLanesAway(broadcasts);
  for (auto [run, steps] :
       std::initializer_list<std::pair<int64_t, int64_t>>{{64, 4}, {62, 2}, {9, 3}, {21, 3}, {5, 5}, {49, 7}})
    EXPECT_EQ(unrolledSteps(run, broadcasts, 32), steps) << run;
  EXPECT_EQ(unrolledSteps(11, broadcasts, 32), 2);
  EXPECT_EQ(unrolledSteps(9, machine(), 32), 4);
}

TEST(ProductCost, SmallerCachesRefillMore) {
  Target small = machine();
  small.caches[0].bytes /= 8, small.caches[1].bytes /= 8;
  EXPECT_GT(estimate(product, schedule, small).movement, estimate(product, schedule, machine()).movement);
}

TEST(ProductCost, PackingIsCountedForEveryRunOfTasks) {
  ContractSchedule packed = schedule;
  packed.packed = true, packed.tileM = 8, packed.tileN = 12, packed.blockK = 256, packed.taskM = 200;
  packed.taskN = 64;
  double once = estimate(product, packed, machine()).packing;
  packed.taskN = 16;
  Estimate e = estimate(product, packed, machine());
  EXPECT_DOUBLE_EQ(e.packing, once);
  EXPECT_DOUBLE_EQ(e.groupTasks, 4);
  // Alone, a thread packs once; four of them have a task each.
  e = {.packing = 1e6, .tasks = 4, .groupTasks = 4};
  EXPECT_DOUBLE_EQ(e.total(1), 1e6);
  EXPECT_NEAR(e.total(4), 1e6, 5000);
  // Of 64 tasks, each takes 8, 4, 2, 1 and 1.
  e.tasks = e.groupTasks = 64;
  EXPECT_NEAR(e.total(4), 1e6 * (1 + 4 * 5) / 4, 5000);
  // A thread that keeps it packs once.
  e.isKept = true;
  EXPECT_NEAR(e.total(4), 1e6 * (1 + 4) / 4, 5000);
  e.isKept = false;
  // Where each has groups of its own, less is done twice.
  e.groupTasks = 2;
  EXPECT_LT(e.total(4), 1e6 * 1.7 / 4);
}

TEST(Estimate, SmallTasksWaitLessForASlowThread) {
  auto time = [](double tasks, double slowest) {
    return Estimate{.arithmetic = 1e6, .tasks = tasks}.total(4, slowest);
  };
  EXPECT_DOUBLE_EQ(time(4, 1), time(64, 1));
  EXPECT_NEAR(time(4, 0.5), 2 * time(4, 1), 5000);
  EXPECT_NEAR(time(64, 0.5), (1 + 1.0 / 16) * time(64, 1), 5000);
  EXPECT_DOUBLE_EQ(Estimate{.arithmetic = 1e6}.total(4, 0.5), 1e6);
}

TEST(ProductCost, StreamsSpeedUpReadingNotArithmetic) {
  Product vector = product;
  vector.rows = 1;
  ContractSchedule one{.tileM = 1, .tileN = 16, .unrollK = 4, .inFlight = 16, .taskM = 1, .taskN = 48}, four = one;
  four.streams = 4;
  EXPECT_LT(estimate(vector, four, machine()).total(), 0.8 * estimate(vector, one, machine()).total());
  EXPECT_GE(registersOf(1, 16, false, machine(), 32, 4), 16 + 1 + 4);
  EXPECT_GT(estimate(product, four, machine()).total(), 0.9 * estimate(product, one, machine()).total());
}

TEST(ProductCost, LongLoopsGainFromLoadsThatComeAhead) {
  auto gain = [](int64_t run, bool packed) {
    Product reduction = product;
    reduction.run = run;
    ContractSchedule ordered = schedule, plain = schedule;
    ordered.packed = plain.packed = packed, ordered.tileM = plain.tileM = 4;
    ordered.loadAhead = 24;
    return estimate(reduction, plain, machine()).arithmetic - estimate(reduction, ordered, machine()).arithmetic;
  };
  EXPECT_GT(gain(768, false), 0);
  EXPECT_GT(gain(768, true), gain(16, true));
  EXPECT_GT(gain(16, true), 0);
  EXPECT_LT(gain(16, false), 0);
  Target other = machine();
  takeLanesAway(other);
  EXPECT_EQ(inOrder(0, 768, false, other), 1);
}

TEST(ProductCost, LoadsComeAheadInTilesOfWholeVectors) {
  auto best = [](ContractSchedule s, int64_t run) { return bestLoadAhead(s, run, machine()); };
  ContractSchedule inPlace{.tileM = 5, .tileN = 16, .unrollK = 8, .inFlight = 16}, packed = inPlace, changed = inPlace;
  packed.packed = true, packed.tileM = 8;
  EXPECT_GT(best(inPlace, 768), 0);
  EXPECT_EQ(best(inPlace, 16), 0);
  EXPECT_GT(best(packed, 16), 0);
  changed.tileN = 18;
  EXPECT_EQ(best(changed, 768), 0);
  changed = inPlace, changed.unrollK = 4;
  EXPECT_EQ(best(changed, 768), 0);
  changed = packed, changed.unrollK = 4;
  EXPECT_GT(best(changed, 768), 0);
  changed.tileM = 6;
  EXPECT_EQ(best(changed, 768), 0);
  // Sets of accumulators are as many steps.
  changed = {.tileM = 1, .tileN = 4, .unrollK = 1, .inFlight = 64};
  EXPECT_GT(best(changed, 768), 0);
  Target other = machine();
  takeLanesAway(other);
  EXPECT_EQ(bestLoadAhead(inPlace, 768, other), 0);
}

TEST(ProductCost, FetchingAheadHidesWaitingWhereSeveralTilesPassAPanel) {
  ContractSchedule several = schedule, one = schedule;
  one.taskM = one.tileM;
  auto movement = [](ContractSchedule s, bool ahead) {
    s.fetchAhead = ahead;
    return estimate(product, s, machine()).movement;
  };
  EXPECT_LT(movement(several, true), movement(several, false));
  EXPECT_EQ(movement(one, true), movement(one, false));
  EXPECT_TRUE(canFetchAhead(several, product.rows));
  EXPECT_FALSE(canFetchAhead(several, several.tileM));
  several.streams = 2;
  EXPECT_FALSE(canFetchAhead(several, product.rows));
}

// Weights that only the first of many tiles of rows reads come at memory's speed, not beside all arithmetic.
TEST(ProductCost, PanelsThatAreNotFetchedAheadAreWaitedFor) {
  Target fast = machine();
  fast.vectorBytes = 64;
  takeLanesAway(fast);
  Product many{.rows = 256, .columns = 1024, .run = 1024};
  ContractSchedule s{.tileM = 8, .tileN = 48, .unrollK = 2, .inFlight = 16, .taskM = 1 << 20, .taskN = 1 << 20};
  double late = estimate(many, s, fast).movement, memory = 4.0 * 1024 * 1024 / fast.memoryBytesPerCycle;
  s.fetchAhead = true;
  EXPECT_GT(late - estimate(many, s, fast).movement, memory / 2);
}

TEST(ProductCost, PackingWaitsForRowsFromFarAway) {
  Target fast = machine();
  fast.vectorBytes = 64;
  takeLanesAway(fast);
  ContractSchedule s{.tileM = 8, .tileN = 48, .unrollK = 2, .inFlight = 16, .packed = true, .blockK = 512};
  s.taskM = 1 << 20, s.taskN = 1 << 20;
  auto perRow = [&](int64_t rows) {
    return estimate({.rows = rows, .columns = 768, .run = 3072}, s, fast).packing / double(rows);
  };
  EXPECT_GT(perRow(512), 1.2 * perRow(64));
  EXPECT_GE(perRow(512), 4 * 3072 / fast.caches[2].bytesPerCycle);
}

TEST(Threads, ShareWholeTasks) {
  Estimate e{.arithmetic = 1.2e6, .tasks = 3};
  EXPECT_DOUBLE_EQ(e.total(1), 1.2e6);
  EXPECT_NEAR(e.total(2), 8e5, 5000);
  EXPECT_NEAR(e.total(3), 4e5, 5000);
  EXPECT_DOUBLE_EQ(e.total(16), e.total(3));
}

TEST(Threads, AreNotWorthWakingForLittleWork) {
  Estimate alone = Estimate::on(machine()), shared = alone;
  alone.arithmetic = shared.arithmetic = 1000, shared.tasks = 2;
  EXPECT_LT(overThreads(alone, machine()), overThreads(shared, machine()));
  alone.arithmetic = shared.arithmetic = 1e6;
  EXPECT_GT(overThreads(alone, machine()), overThreads(shared, machine()));
}

TEST(Parts, AddUpToTheTotal) {
  ContractSchedule packed{.tileM = 8, .tileN = 12, .unrollK = 8, .inFlight = 16, .packed = true, .blockK = 256};
  packed.taskM = 64, packed.taskN = 16;
  Product odd = product;
  odd.rows += 1, odd.consumerCycles = 12;
  Estimate e = estimate(odd, packed, machine());
  for (int64_t threads : {1, 3, 64}) {
    Parts parts = e.parts(threads, 0.9);
    double total = e.total(threads, 0.9);
    EXPECT_NEAR(parts.sum(), total, 1e-12 * total) << threads;
    EXPECT_GT(parts.tails, 0);
    EXPECT_GT(parts.packing, 0);
    EXPECT_GE(parts.imbalance, threads == 1 ? 0 : 1);
    EXPECT_EQ(parts.spreading, threads == 1 ? 0 : machine().calibration.spreading);
  }
  Parts one = e.parts();
  EXPECT_DOUBLE_EQ(one.arithmetic + one.tails, e.arithmetic);
  EXPECT_DOUBLE_EQ(one.tasks, e.tasks * machine().calibration.taskStart);
}

TEST(Parts, FullTilesHaveNoTails) {
  EXPECT_EQ(estimate(product, schedule, machine()).tails, 0);
  Product odd = product;
  odd.rows += 1;
  Estimate e = estimate(odd, schedule, machine());
  EXPECT_GT(e.tails, 0);
  EXPECT_LT(e.tails, estimate(odd, schedule, machine()).arithmetic - estimate(product, schedule, machine()).arithmetic);
}

TEST(Parts, MovementIsWaitedForWhereDataComesFrom) {
  auto from = [](int64_t bytes) { return refill(double(bytes), double(bytes), machine()).beside(0).from; };
  EXPECT_EQ(from(16 << 10), BySource{});
  for (auto [bytes, source] :
       std::initializer_list<std::pair<int64_t, size_t>>{{256 << 10, 0}, {8 << 20, 1}, {256 << 20, mostSources - 1}}) {
    BySource sources = from(bytes);
    for (size_t i = 0; i < mostSources; ++i)
      EXPECT_EQ(sources[i] > 0, i == source) << bytes << " " << i;
  }
  // A machine may have more levels than are told apart.
  Target many = machine();
  many.caches = {{32 << 10, 48}, {64 << 10, 24}, {128 << 10, 12}, {256 << 10, 6}, {512 << 10, 3}, {1 << 20, 2}};
  EXPECT_GT(refill(900 << 9, 900 << 9, many).beside(0).from[mostSources - 2], 0);
}

TEST(Calibration, EstimatesFollowIt) {
  Target slow = machine();
  llvm::cantFail(setConstant(slow.calibration, "product-tile-start", 300));
  EXPECT_GT(estimate(product, schedule, slow).arithmetic, estimate(product, schedule, machine()).arithmetic);
  llvm::cantFail(setConstant(slow.calibration, "task-start", 1500));
  EXPECT_EQ(estimate(product, schedule, slow).perTask, 1500);
}

constexpr Sweep sweep{.rows = 100, .length = 1000, .instructions = 4, .latency = 20};

TEST(SweepCost, FallsWithWiderVectors) {
  Target wide = machine();
  wide.vectorBytes *= 2;
  EXPECT_LT(rowCycles(sweep, 1000, 32, wide), 0.6 * rowCycles(sweep, 1000, 16, machine()));
}

TEST(SweepCost, CountsWhatIsLeftOfARowOneByOne) {
  double whole = rowCycles(sweep, 1024, 16, machine());
  EXPECT_GT(rowCycles(sweep, 1027, 16, machine()), whole * 1027 / 1024);
}

TEST(SweepCost, SeveralSumsHideTheLatencyOfEachOther) {
  Sweep sum = sweep;
  sum.acrossLanes = true, sum.carried = 4, sum.instructions = 2;
  EXPECT_GT(rowCycles(sum, 4096, 4, machine()), 2 * rowCycles(sum, 4096, 16, machine()));
}

TEST(SweepCost, RegistersThatAreMissingCost) {
  Sweep rich = sweep;
  rich.live = 8;
  EXPECT_GT(rowCycles(rich, 4096, 64, machine()), 1.2 * rowCycles(rich, 4096, 8, machine()));
}

TEST(SweepCost, TasksAreWorthStarting) {
  int64_t least = leastGrain(sweep, 16, machine());
  EXPECT_GT(double(least) * rowCycles(sweep, sweep.length, 16, machine()), 10 * machine().calibration.taskStart);
}

TEST(SweepCost, SumsOfColumnsReadWholeLines) {
  Sweep columns{.rows = 1, .length = 96, .cutsRows = true, .steps = 3136, .bytes = 96 * 3136 * 4.0};
  double wide = estimate(columns, {64, 96}, machine()).total();
  EXPECT_LT(wide, 0.7 * estimate(columns, {16, 96}, machine()).total());
  // Half a line at a time, every line comes twice.
  EXPECT_LT(estimate(columns, {16, 96}, machine()).movement, 0.6 * estimate(columns, {8, 96}, machine()).movement);
  // What is left behind the widest vectors is halved: 64 and 32.
  EXPECT_LT(wide, estimate(columns, {32, 96}, machine()).total());
}

// A machine whose memory is far away reads no more by it than what does not stay in its cache.
TEST(SweepCost, SumsOfFewColumnsStayInTheCache) {
  Sweep columns{.rows = 1, .length = 16, .cutsRows = true, .steps = 49, .bytes = 16 * 49 * 4.0};
  EXPECT_EQ(estimate(columns, {16, 16}, machine()).movement, 0);
}

constexpr DepthwiseConv depthwise{.rows = 56, .width = 56, .channels = 144, .inputWidth = 56};
DepthwiseSchedule tiles(int64_t width, int64_t lanes) {
  return {.tileW = width, .lanes = lanes, .blockC = 144, .grain = 56};
}

TEST(DepthwiseCost, IsAtLeastTheArithmetic) {
  double ideal = 56.0 * 56 * 144 * 9 / (4 * machine().fmaPerCycle);
  EXPECT_GE(estimate(depthwise, tiles(4, 16), machine()).arithmetic, ideal);
}

TEST(DepthwiseCost, NeighboursShareWeightsAndLoads) {
  double alone = estimate(depthwise, tiles(1, 16), machine()).total();
  EXPECT_LT(estimate(depthwise, tiles(4, 16), machine()).total(), 0.9 * alone);
}

TEST(DepthwiseCost, LargeWindowsLeaveFewerRegistersForLanes) {
  DepthwiseConv large = depthwise;
  large.taps = 25, large.across = 5;
  EXPECT_LT(estimate(large, tiles(7, 8), machine()).total(), estimate(large, tiles(7, 16), machine()).total());
}

TEST(DepthwiseCost, TapsOutsideOfTheImageCostNothing) {
  DepthwiseConv clipped = depthwise;
  clipped.inside = 0.75;
  double all = estimate(depthwise, tiles(4, 16), machine()).arithmetic;
  EXPECT_LT(estimate(clipped, tiles(4, 16), machine()).arithmetic, 0.9 * all);
}

TEST(DepthwiseCost, BlocksOfChannelsStayInTheCacheFromRowToRow) {
  DepthwiseConv wide{
      .rows = 14, .width = 14, .channels = 672, .inputWidth = 14, .taps = 25, .across = 5, .bytes = 1.4e6};
  DepthwiseSchedule all{.tileW = 7, .lanes = 8, .blockC = 672, .grain = 14}, block = all;
  block.blockC = 48;
  EXPECT_LT(estimate(wide, block, machine()).movement, 0.6 * estimate(wide, all, machine()).movement);
  // A cache of a quarter of the size keeps none.
  Target small = machine();
  small.caches[0].bytes /= 4;
  EXPECT_GT(estimate(wide, block, small).movement, 1.5 * estimate(wide, block, machine()).movement);
  // Rows that are fetched ahead are not waited for as long, and code has more to do for it.
  DepthwiseSchedule fetched = block;
  fetched.fetchAhead = true;
  EXPECT_LT(estimate(wide, fetched, machine()).movement, estimate(wide, block, machine()).movement);
  EXPECT_GT(estimate(wide, fetched, machine()).arithmetic, estimate(wide, block, machine()).arithmetic);
}

// 1024 channels of 4 bytes lie 4 KiB apart: the pixels of a window meet in few sets.
TEST(DepthwiseCost, PixelsAPowerOfTwoApartDoNotStay) {
  DepthwiseConv even{.rows = 14, .width = 14, .channels = 1024, .inputWidth = 14, .bytes = 1.6e6}, odd = even;
  odd.channels = 1040;
  DepthwiseSchedule block{.tileW = 7, .lanes = 8, .blockC = 16, .grain = 14};
  EXPECT_GT(estimate(even, block, machine()).movement, 1.2 * estimate(odd, block, machine()).movement);
}

TEST(PackedProductCost, RowsShareTheUnpacking) {
  PackedProduct packed{.rows = 64, .columns = 512, .depth = 512};
  double alone = estimate(packed, {1, 4, 4, 512}, machine()).total();
  EXPECT_LT(estimate(packed, {4, 2, 4, 512}, machine()).total(), alone);
}

TEST(PackedProductCost, IsBoundByMemoryForOneRow) {
  PackedProduct packed{.rows = 1, .columns = 4096, .depth = 4096};
  Estimate e = estimate(packed, {4, 2, 4, 4096}, machine());
  EXPECT_GE(e.total(), 4096.0 * 4096 / 2 / machine().memoryBytesPerCycle);
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
  // In groups there is as much to transform and less to multiply.
  WinogradConv inGroups = conv;
  inGroups.groups = 4;
  EXPECT_LT(estimate(inGroups, s, machine()).arithmetic, tiled.arithmetic / 2);
  EXPECT_DOUBLE_EQ(estimate(inGroups, s, machine()).packing, tiled.packing);
}

class StrassenCost : public testing::Test {
protected:
  static constexpr StrassenSchedule quarters{8, 12, 16, 16, true, 32, 1 << 20};

  // The same product in rows by columns, with the same tiles.
  static Estimate whole(int64_t rows, int64_t columns, int64_t depth) {
    ContractSchedule schedule{.tileM = 8, .tileN = 12, .unrollK = 16, .inFlight = 16, .packed = true, .blockK = 768};
    schedule.taskM = 64, schedule.taskN = 1 << 20, schedule.fetchAhead = true;
    return estimate(Product{.rows = rows, .columns = columns, .run = depth}, schedule, machine());
  }
  static double ratio(int64_t rows, int64_t columns, int64_t depth) {
    return estimate({rows, columns, depth}, quarters, machine()).total() / whole(rows, columns, depth).total();
  }
};

TEST_F(StrassenCost, MultipliesAnEighthLess) {
  double arithmetic = estimate({256, 3072, 768}, quarters, machine()).arithmetic;
  EXPECT_NEAR(arithmetic / whole(256, 3072, 768).arithmetic, 7.0 / 8, 0.03);
  EXPECT_LT(ratio(256, 3072, 768), 0.95);
}

TEST_F(StrassenCost, LosesWhereThereIsLittleToMultiply) {
  EXPECT_GT(ratio(256, 3072, 16), 1);
  EXPECT_GT(ratio(1, 3072, 1024), 1.5);
}

TEST_F(StrassenCost, FactorsThatAreNotStoredAreAddedUpByEveryTask) {
  auto packing = [](int64_t stored, int64_t taskM) {
    StrassenSchedule schedule = quarters;
    schedule.taskM = taskM;
    return estimate({.rows = 128, .columns = 768, .depth = 768, .stored = stored}, schedule, machine()).packing;
  };
  double each = packing(6, 64) - packing(7, 64);
  EXPECT_GT(each, 384.0 * 384 / 4);
  EXPECT_NEAR(packing(4, 64) - packing(7, 64), 3 * each, 1e-6 * each);
  EXPECT_NEAR(packing(6, 32) - packing(7, 32), 2 * each, 1e-6 * each);
}

TEST_F(StrassenCost, ThreadsWaitForTheLargestTask) {
  auto time = [](int64_t taskM) {
    StrassenSchedule schedule = quarters;
    schedule.taskM = taskM;
    return estimate({.rows = 192, .columns = 768, .depth = 768}, schedule, machine()).total(2);
  };
  EXPECT_GT(time(64), 1.2 * time(48));
}

TEST_F(StrassenCost, AnOddRowIsComputedTwice) {
  double odd = estimate({15, 768, 768}, quarters, machine()).arithmetic;
  EXPECT_EQ(odd, estimate({16, 768, 768}, quarters, machine()).arithmetic);
}

TEST_F(StrassenCost, TheLastPanelIsComputedWhole) {
  double whole = estimate({64, 48, 768}, quarters, machine()).arithmetic;
  EXPECT_EQ(estimate({64, 40, 768}, quarters, machine()).arithmetic, whole);
  EXPECT_GT(estimate({64, 50, 768}, quarters, machine()).arithmetic, whole);
}

} // namespace
} // namespace fathom::cost
