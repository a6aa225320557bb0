// Models that learn what schedules cost: trees that rank, features of loops, and what other kernels taught.
#include "compiler/tune/search/LearnedCost.h"
#include "compiler/tune/judge/Judges.h"
#include "compiler/tune/search/Policy.h"
#include "tests/unit/tune/TestProgram.h"

namespace fathom::tune {
namespace {

TEST(AverageRecall, CountsTheBestAmongThePredicted) {
  EXPECT_DOUBLE_EQ(averageRecall({4, 3, 2, 1}, {8, 6, 4, 2}, 4), 1);
  EXPECT_DOUBLE_EQ(averageRecall({1, 2, 3, 4}, {8, 6, 4, 2}, 2), 0);
  // The second best first, then the best: none of one, both of two.
  EXPECT_DOUBLE_EQ(averageRecall({3, 4}, {2, 1}, 2), 0.5);
  EXPECT_DOUBLE_EQ(averageRecall({}, {}, 4), 0);
}

std::vector<FeatureRow> rowsOf(size_t count, uint64_t seed) {
  Random random(seed);
  std::vector<FeatureRow> rows;
  for (size_t i = 0; i < count; ++i)
    rows.push_back({float(random() % 16), float(random() % 16), float(random() % 16)});
  return rows;
}

// One number decides, another one matters a little, and a third not at all.
std::vector<float> labelsOf(llvm::ArrayRef<FeatureRow> rows) {
  std::vector<float> labels;
  for (const FeatureRow &row : rows)
    labels.push_back((row[0] + row[1] / 4) / 20);
  return labels;
}

TEST(BoostedTrees, RankWhatTheyHaveNotSeen) {
  std::vector<FeatureRow> seen = rowsOf(128, 1), others = rowsOf(128, 2);
  BoostedTrees trees(seen, labelsOf(seen), 64);
  EXPECT_GT(averageRecall(trees.predict(others), labelsOf(others), 64), 0.8);
  EXPECT_EQ(trees.predict(others), BoostedTrees(seen, labelsOf(seen), 64).predict(others));
  EXPECT_TRUE(trees.predict({}).empty());
}

TEST(BoostedTrees, AddToMargins) {
  std::vector<FeatureRow> rows = rowsOf(64, 1);
  std::vector<float> labels = labelsOf(rows), margins(rows.size(), 5), nothing = labels;
  BoostedTrees trees(rows, labels, 16);
  std::vector<float> plain = trees.predict(rows), moved = trees.predict(rows, margins);
  // 0.5 is where XGBoost begins by itself.
  for (size_t i = 0; i < rows.size(); ++i)
    EXPECT_NEAR(moved[i] - plain[i], 4.5, 1e-4);
}

TEST(Network, LearnsAFunction) {
  Random random(1);
  Network network(2, 1, random);
  auto loss = [&](bool learns) {
    double sum = 0;
    for (double x = 0; x < 1; x += 0.125)
      for (double y = 0; y < 1; y += 0.125) {
        double error = network({x, y})[0] - (x * y - 0.5 * x);
        sum += error * error / 64;
        if (learns)
          network.learn({x, y}, {2 * error});
      }
    if (learns)
      network.step(64);
    return sum;
  };
  double before = loss(false);
  for (unsigned i = 0; i < 2000; ++i)
    loss(true);
  EXPECT_LT(loss(false), before / 100);
}

// A knob that is worth more the higher it is, and one that is not.
TEST(Policy, LearnsToGoWhereItIsRewarded) {
  Random random(1);
  Policy policy(2, random);
  for (unsigned round = 0; round < 60; ++round) {
    std::vector<Policy::Walk> walks(8);
    for (Policy::Walk &walk : walks) {
      std::vector<double> state{0.5, 0.5};
      for (unsigned step = 0; step < 16; ++step) {
        walk.transitions.push_back(policy.act(state, random));
        for (size_t k = 0; k < 2; ++k)
          state[k] = std::clamp(state[k] + 0.1 * (walk.transitions.back().actions[k] - 1), 0.0, 1.0);
        walk.transitions.back().reward = state[0];
      }
      walk.end = state;
    }
    policy.learn(std::move(walks), random);
  }
  int first = 0, second = 0;
  for (unsigned i = 0; i < 1000; ++i) {
    Transition transition = policy.act({0.5, 0.5}, random);
    first += transition.actions[0] - 1, second += transition.actions[1] - 1;
  }
  EXPECT_GT(first, 200);
  EXPECT_GT(first, std::abs(second));
}

class LearnedCostTest : public ProgramTest {};

TEST_P(LearnedCostTest, FeaturesTellSchedulesApart) {
  build(smallNetwork, GetParam());
  Random random(1);
  for (const TaskUse &use : uses) {
    SearchSpace space(*use.task);
    std::map<FeatureKind, std::set<FeatureRow>> rows;
    for (FeatureKind kind : {FeatureKind::Knobs, FeatureKind::Axes, FeatureKind::Curves})
      for (size_t i = 0; i < 8; ++i) {
        FeatureRow row = featuresOf(space, *space.any(random), kind);
        EXPECT_TRUE(llvm::all_of(row, [](float number) { return std::isfinite(number); }));
        if (kind == FeatureKind::Curves)
          EXPECT_EQ(row.size(), 640u); // of every kernel
        if (!rows[kind].empty())
          EXPECT_EQ(row.size(), rows[kind].begin()->size());
        rows[kind].insert(row);
      }
    if (space.points() > 1000)
      EXPECT_GE(rows[FeatureKind::Axes].size(), 4u) << use.task->name().str();
  }
}

TEST_P(LearnedCostTest, LearnsWhatTheDraftSays) {
  build(smallNetwork, GetParam());
  SearchSpace space(task("b"));
  std::unique_ptr<Judge> draft = draftJudge(task("b"));
  std::vector<FeatureKind> kinds{FeatureKind::Knobs, FeatureKind::Axes, FeatureKind::Curves};
  if (testPart() > 1)
    kinds = {kinds[testSeed() % kinds.size()]};
  for (FeatureKind kind : kinds) {
    Random random(3);
    Trials trials(space, *draft, 64);
    LearnedCost model(trials, kind);
    auto some = [&](size_t count) {
      std::vector<SearchSpace::Point> points;
      while (points.size() < count)
        points.push_back(*space.any(random));
      return points;
    };
    EXPECT_EQ(model.predict(some(2)), std::vector<float>(2, 0));
    model.ask(some(64));
    model.fit(32);
    std::vector<SearchSpace::Point> others = some(48);
    std::vector<float> labels;
    for (const SearchSpace::Point &point : others)
      labels.push_back(float(1e6 / task("b").space().score(space.scheduleAt(point))));
    // By chance it would be a third.
    EXPECT_GT(averageRecall(model.predict(others), labels, 32), 0.45) << int(kind);
  }
}

// Enough of it is learned from, and what was asked is added.
TEST_P(LearnedCostTest, OtherKernelsTeach) {
  build(smallNetwork, GetParam());
  SearchSpace space(task("c"));
  std::unique_ptr<Judge> draft = draftJudge(task("c"));
  Random random(5);
  std::vector<SearchSpace::Point> points;
  while (points.size() < 12)
    points.push_back(*space.any(random));
  std::vector<FeatureRow> own;
  for (const SearchSpace::Point &point : points)
    own.push_back(featuresOf(space, point, FeatureKind::Curves));
  // A kernel of before, of whose schedules those like our first one were the best.
  for (size_t records : {496, 516}) {
    History history;
    for (size_t i = 0; i < records; ++i)
      history.rows.push_back(own[i % 12]), history.labels.push_back(i % 12 == 0 ? 1.f : 0.1f);
    std::vector<float> predicted;
    {
      Trials trials(space, *draft, 12);
      trials.history = &history;
      LearnedCost model(trials, FeatureKind::Knobs);
      predicted = model.predict(points);
      model.ask(points);
    }
    if (records < 500)
      EXPECT_EQ(predicted, std::vector<float>(12, 0));
    else
      EXPECT_EQ(llvm::max_element(predicted) - predicted.begin(), 0);
    EXPECT_GT(history.rows.size(), records);
    EXPECT_EQ(history.rows.size(), history.labels.size());
    EXPECT_EQ(*std::max_element(history.labels.begin() + ptrdiff_t(records), history.labels.end()), 1);
  }
}

INSTANTIATE_TEST_SUITE_P(Machines, LearnedCostTest, testing::Values("neoverse-n1", "sapphirerapids"));

} // namespace
} // namespace fathom::tune
