// Searches over the whole space, by a judge that is known: they stay within their trials, ask for legal schedules only,
// and find more than chance does.
#include "compiler/tune/judge/Judges.h"
#include "tests/unit/tune/TestProgram.h"
#include "llvm/ADT/StringSet.h"
#include <map>
#include <set>

namespace fathom::tune {
namespace {

class SearchTest : public ProgramTest {};

class CountingJudge final : public Judge {
public:
  CountingJudge(const SearchSpace &space, Judge &other) : space(space), other(other) {}

  std::vector<double> costs(llvm::ArrayRef<Schedule> schedules) override {
    for (const Schedule &schedule : schedules) {
      EXPECT_TRUE(space.isLegal(schedule));
      std::string text;
      for (const auto &[name, value] : schedule.knobs)
        text += name + "=" + std::to_string(value) + " ";
      EXPECT_TRUE(asked.insert(text).second) << "asked twice: " << text;
    }
    return other.costs(schedules);
  }

private:
  const SearchSpace &space;
  Judge &other;
  llvm::StringSet<> asked;
};

double bestOf(const Search &search, const KernelTask &task, size_t limit, uint64_t seed, const Schedule &start) {
  SearchSpace space(task);
  std::unique_ptr<Judge> draft = draftJudge(task);
  CountingJudge counting(space, *draft);
  Trials trials(space, counting, limit);
  search.run(trials, start, seed);
  EXPECT_LE(trials.judged.size(), limit);
  EXPECT_FALSE(trials.judged.empty());
  std::vector<Judged> best = trials.best(2);
  EXPECT_LE(best.front().cost, best.back().cost);
  return best.front().cost;
}

// Whether it spends a second and more on learning whenever it has asked for 64 schedules.
bool learns(const Search &search) {
  return search.name().starts_with("autotvm") || search.name().starts_with("chameleon");
}

// Those that make code of what they look at take seconds for a kernel: they have a test of their own.
std::vector<const Search *> quickSearches() {
  std::vector<const Search *> quick;
  for (const Search *search : allSearches()) {
    llvm::Error problem = search->problem();
    EXPECT_FALSE(bool(problem)) << llvm::toString(std::move(problem));
    if (!learns(*search) || search->name().ends_with(":knobs"))
      quick.push_back(search);
  }
  return quick;
}

TEST_P(SearchTest, AskForLegalSchedulesOnceAndNoMoreThanTheyMay) {
  build(smallNetwork, GetParam());
  uint64_t seed = testSeed();
  Random chance(seed);
  for (const Search *search : quickSearches())
    for (const TaskUse &use : uses)
      for (size_t limit : {1, 7, 100})
        if ((limit == 7 ? !learns(*search) : !search->name().contains(':')) && chance() % testPart() == 0)
          bestOf(*search, *use.task, limit, seed, use.task->planned());
}

// From a start by chance, so that nothing is found because it was given. A part of the test is one that does not learn.
TEST_P(SearchTest, FindCheaperSchedulesThanChance) {
  build(smallNetwork, GetParam());
  uint64_t seed = 11;
  std::vector<llvm::StringRef> names{"descent", "evolution", "genetic"};
  if (testPart() == 1)
    names.insert(names.end(), {"autotvm:knobs", "chameleon:knobs"});
  else
    names = {names[testSeed() % names.size()]};
  for (llvm::StringRef name : names) {
    const Search *search = findSearch(name);
    ASSERT_TRUE(search);
    double found = 0, byChance = 0;
    for (uint64_t round = 0; round < (learns(*search) ? 2 : 5); ++round) {
      SearchSpace space(task("b"));
      Random random(seed + round);
      Schedule start = space.scheduleAt(*space.any(random));
      found += std::log(bestOf(*search, task("b"), 256, seed + round, start));
      byChance += std::log(bestOf(*findSearch("random"), task("b"), 256, seed + round, start));
    }
    EXPECT_LT(found, byChance) << name.str();
  }
}

TEST_P(SearchTest, GiveTheSameForTheSameSeed) {
  build(smallNetwork, GetParam());
  std::vector<const Search *> searches = quickSearches();
  llvm::erase_if(searches, [](const Search *search) { return search->name().starts_with("construct:"); });
  if (testPart() > 1)
    searches = {searches[testSeed() % searches.size()]};
  for (const Search *search : searches)
    EXPECT_EQ(bestOf(*search, task("b"), 80, 3, task("b").planned()),
              bestOf(*search, task("b"), 80, 3, task("b").planned()))
        << search->name().str();
}

// The points of the planned schedules are these themselves: the space has what the compiler chooses.
TEST_P(SearchTest, SpacesHoldWhatTheCompilerChooses) {
  build(smallNetwork, GetParam());
  for (const TaskUse &use : uses) {
    SearchSpace space(*use.task);
    EXPECT_TRUE(space.scheduleAt(space.nearest(use.task->planned())) == use.task->planned()) << use.task->name().str();
  }
}

// The least cost of all legal points, where these are few.
std::optional<double> leastOf(const KernelTask &task) {
  SearchSpace space(task);
  if (space.points() > 20000)
    return std::nullopt;
  double least = noCost;
  SearchSpace::Point point(space.dimensions(), 0);
  for (size_t i = 0; i < point.size();) {
    Schedule schedule = space.scheduleAt(point);
    if (space.isLegal(schedule))
      least = std::min(least, task.space().score(schedule));
    for (i = 0; i < point.size() && ++point[i] == space.valuesOf(i); ++i)
      point[i] = 0;
  }
  return least;
}

TEST_P(SearchTest, ConstructionReachesTheLeastOfSmallSpaces) {
  build(smallNetwork, GetParam());
  size_t small = 0;
  for (const TaskUse &use : uses)
    if (std::optional<double> least = leastOf(*use.task)) {
      ++small;
      EXPECT_LE(bestOf(*findSearch("construct"), *use.task, 16, 1, use.task->planned()), *least * 1.0001)
          << use.task->name().str();
    }
  EXPECT_GE(small, 2u);
}

// Than which the draft has nothing cheaper among all that the compiler looks at.
TEST_P(SearchTest, ConstructionIsAsGoodAsTheCompilersChoice) {
  build(smallNetwork, GetParam());
  for (const TaskUse &use : uses) {
    const Space &space = use.task->space();
    double built = bestOf(*findSearch("construct"), *use.task, 8, 1, use.task->planned());
    EXPECT_LE(built, 1.02 * space.score(space.best())) << use.task->name().str();
  }
}

TEST_P(SearchTest, ConstructionTellsWhatItVisits) {
  build(smallNetwork, GetParam());
  std::set<std::string> levels;
  size_t visits = 0;
  std::unique_ptr<Judge> draft = draftJudge(task("b"));
  SearchSpace space(task("b"));
  for (llvm::StringRef name : {"construct", "construct:no-l1"}) {
    Trials trials(space, *draft, 4);
    levels.clear(), visits = 0;
    trials.told = [&](llvm::StringRef line) { levels.insert(line.split(':').first.str()), ++visits; };
    findSearch(name)->run(trials, task("b").planned(), 1);
    EXPECT_EQ(levels.count("cache"), name == "construct" ? 1u : 0u);
    EXPECT_TRUE(levels.count("registers") && levels.count("tasks") && levels.count("manner"));
    EXPECT_LE(visits, 16000u);
  }
}

// The names that decide, and fields that state another level than their names'.
TEST(Levels, AreOfNamesOrStated) {
  std::map<std::string, Level> levels;
  for (const KernelClass *klass : allKernelClasses())
    for (const Knob &knob : klass->family.knobs()) {
      auto [known, isNew] = levels.try_emplace(knob.name.str(), knob.level());
      EXPECT_EQ(known->second, knob.level()) << knob.name.str() << " of " << klass->name.str();
    }
  const std::pair<const char *, Level> expected[] = {
      {"tile_m", Level::Registers}, {"lanes", Level::Registers},   {"item_n", Level::Registers},
      {"block_k", Level::Cache},    {"stages", Level::Cache},      {"task_m", Level::Tasks},
      {"grain", Level::Tasks},      {"pack_a", Level::Form},       {"load_ahead", Level::Registers},
      {"row_apart", Level::Manner}, {"fetch_ahead", Level::Manner}};
  for (const auto &[name, level] : expected)
    EXPECT_EQ(levels.at(name), level) << name;
}

INSTANTIATE_TEST_SUITE_P(Machines, SearchTest, testing::Values("neoverse-n1", "sapphirerapids"));

} // namespace
} // namespace fathom::tune
