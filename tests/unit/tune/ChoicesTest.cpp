// Which alternatives a model's sites take: those whose kernels cost least, and none that makes the model dearer.
#include "compiler/tune/Choices.h"

#include <gtest/gtest.h>
#include <numeric>

namespace fathom::tune {
namespace {

// Sites "0", "1", ... with a kernel each, that costs so much with each alternative; whole models also pay a penalty for
// every site that is changed.
class FakeJudge final : public ChoiceJudge {
public:
  explicit FakeJudge(std::vector<std::vector<double>> costs, double penalty = 0)
      : costs(std::move(costs)), penalty(penalty) {}

  std::vector<Site> sites() const {
    std::vector<Site> sites;
    for (size_t i = 0; i < costs.size(); ++i) {
      Site &site = sites.emplace_back(Site{SiteKind::Algorithm, std::to_string(i), {}});
      for (size_t alternative = 0; alternative < costs[i].size(); ++alternative)
        site.alternatives.push_back({"a" + std::to_string(alternative), int64_t(alternative * 100)});
    }
    return sites;
  }

  llvm::Expected<std::array<JudgedPlan, 2>> kernels(const Taken &base, const Taken &taken) override {
    ++rounds;
    if (fails)
      return llvm::createStringError("it does not run");
    return std::array{planOf(base), planOf(taken)};
  }
  llvm::Expected<std::array<double, 2>> models(const Taken &base, const Taken &taken) override {
    ++comparisons;
    auto sum = [](const JudgedPlan &plan) { return std::accumulate(plan.costs.begin(), plan.costs.end(), 0.0); };
    auto changed = [&](const Taken &taken) { return double(taken.size() - size_t(llvm::count(taken, 0))); };
    return std::array{sum(planOf(base)) + penalty * changed(base), sum(planOf(taken)) + penalty * changed(taken)};
  }

  int rounds = 0, comparisons = 0;
  bool fails = false;

private:
  JudgedPlan planOf(const Taken &taken) const {
    JudgedPlan plan;
    for (auto [i, alternative] : llvm::enumerate(taken)) {
      plan.ops.push_back({std::to_string(i)});
      plan.costs.push_back(costs[i][alternative]);
    }
    return plan;
  }

  std::vector<std::vector<double>> costs;
  double penalty;
};

Taken takenOf(const ChosenModel &model) {
  Taken taken;
  for (const ChosenSite &one : model.sites)
    taken.push_back(one.taken);
  return taken;
}

Taken choose(FakeJudge &judge, const ChoiceLimits &limits = {}) {
  return takenOf(llvm::cantFail(chooseSites(judge.sites(), judge, limits)));
}

// All sites are tried at a time: as many rounds as the site with most alternatives has others.
TEST(Choices, TakesWhatCostsLeast) {
  FakeJudge judge({{100, 90, 80}, {100, 110}, {100, 98, 99}});
  EXPECT_EQ(choose(judge), (Taken{2, 0, 1}));
  EXPECT_EQ(judge.rounds, 2);
  EXPECT_EQ(choose(judge, {.doubt = 0.05}), (Taken{2, 0, 0}));
}

TEST(Choices, TellsTheModelsCosts) {
  FakeJudge judge({{100, 60}, {50, 70}});
  ChosenModel model = llvm::cantFail(chooseSites(judge.sites(), judge, {}));
  EXPECT_EQ(model.proposedCost, 150);
  EXPECT_EQ(model.takenCost, 110);
  EXPECT_EQ(model.made(), (std::vector<PlannedChoice>{{"0", "algorithm", "a1"}}));
  EXPECT_EQ(model.kept(), (std::vector<PlannedChoice>{{"1", "algorithm", "a0"}}));
}

// Those that gain least go first.
TEST(Choices, TakesBackUntilTheModelIsNoDearer) {
  FakeJudge judge({{100, 99}, {100, 98}, {100, 97}, {100, 50}}, 15);
  EXPECT_EQ(choose(judge), (Taken{0, 0, 1, 1}));
  FakeJudge dear({{100, 99}, {100, 98}, {100, 97}}, 10);
  EXPECT_EQ(choose(dear), (Taken{0, 0, 0}));
  EXPECT_LE(dear.comparisons, 3);
}

// Alternative 1 makes weights larger by 100 bytes, alternative 2 by 200.
TEST(Choices, LimitsTheGrowthOfWeights) {
  FakeJudge judge({{100, 90}, {100, 60}, {100, 70}});
  EXPECT_EQ(choose(judge, {.growth = 0}), (Taken{0, 0, 0}));
  EXPECT_EQ(choose(judge, {.growth = 100}), (Taken{0, 1, 0}));
  EXPECT_EQ(choose(judge, {.growth = 250}), (Taken{0, 1, 1}));
}

// Also a site's second best alternative, where the best is too large.
TEST(Choices, TakesWhatFits) {
  FakeJudge judge({{100, 90, 10}});
  EXPECT_EQ(choose(judge, {.growth = 150}), Taken{1});
  EXPECT_EQ(choose(judge, {.growth = 200}), Taken{2});
}

TEST(Choices, EndsWhenTimeIsOver) {
  FakeJudge judge({{100, 90}});
  EXPECT_EQ(choose(judge, {.isOver = [] { return true; }}), Taken{0});
  EXPECT_EQ(judge.rounds, 0);
}

TEST(Choices, PassesErrorsOn) {
  FakeJudge judge({{100, 90}});
  judge.fails = true;
  auto model = chooseSites(judge.sites(), judge, {});
  EXPECT_FALSE(bool(model));
  llvm::consumeError(model.takeError());
}

// Where one plan has several kernels for another one's, all of these are compared together.
class FusedJudge final : public ChoiceJudge {
public:
  explicit FusedJudge(double behind) : behind(behind) {}
  llvm::Expected<std::array<JudgedPlan, 2>> kernels(const Taken &, const Taken &) override {
    return std::array{JudgedPlan{{{"conv", "relu"}, {"other"}}, {100, 1}},
                      JudgedPlan{{{"conv"}, {"relu"}, {"other"}}, {80, behind, 100}}};
  }
  llvm::Expected<std::array<double, 2>> models(const Taken &, const Taken &) override { return std::array{1.0, 1.0}; }

private:
  double behind;
};

TEST(Choices, ComparesRegions) {
  std::vector<Site> sites{{SiteKind::Algorithm, "conv", {{"a"}, {"b"}}}};
  FusedJudge cheap(10), dear(30);
  EXPECT_EQ(takenOf(llvm::cantFail(chooseSites(sites, cheap, {}))), Taken{1});
  EXPECT_EQ(takenOf(llvm::cantFail(chooseSites(sites, dear, {}))), Taken{0});
}

} // namespace
} // namespace fathom::tune
