// What a database has to give to other models.
#include "compiler/tune/Verdicts.h"
#include "tests/unit/tune/TestDatabase.h"
#include "tests/unit/tune/TestProgram.h"
#include <cmath>

using namespace mlir;

namespace fathom::tune {
namespace {

TEST(OpClass, IsTheSequenceOfOps) {
  EXPECT_EQ(opClassOf("contract\nfunc.func private @kernel(%a: tensor<1xf32, #graph.enc<order = [0]>>) {\n"
                      "  %n = graph.None\n  %0 = graph.Conv(%a) {graph.name = \"x\"} : ()\n"
                      "  %1:2 = graph.Relu(%0)\n  return %1#0\n}"),
            "contract: Conv Relu");
  EXPECT_EQ(opClassOf("map"), "map:");
}

class PoolTest : public ProgramTest {
protected:
  void SetUp() override { build(smallNetwork, "x86-64-v3"); }

  Entry entryOf(const KernelTask &task, StringRef model, double nanoseconds) {
    Entry entry;
    entry.kernel = task.key().str(), entry.kernelClass = task.kernelClass().name.str();
    entry.target = target.spelling(), entry.generator = generatorVersion.str();
    entry.schedule = task.planned(), entry.found = Found::Measured;
    entry.samples = 9, entry.nanoseconds = nanoseconds;
    entry.provenance = provenanceOf(task.name(), model);
    return entry;
  }
  Pool read() { return llvm::cantFail(Pool::read(*database, generatorVersion, FloatMode::Fast)); }

  TestFolder folder;
  std::unique_ptr<ScheduleDatabase> database = llvm::cantFail(ScheduleDatabase::open(folder.file(), Access::Write));
};

TEST_F(PoolTest, HasTheBestOfEachKernel) {
  Entry slow = entryOf(task("b"), "one", 20), fast = entryOf(task("b"), "one", 10);
  fast.schedule.set("task_m", fast.schedule.value("task_m") * 2);
  Entry verdict = entryOf(task("b"), "one", 1);
  verdict.kernel = keyInModel("0", verdict.kernel);
  llvm::cantFail(database->insert({slow, fast, verdict, entryOf(task("g"), "two", 5)}));
  Pool pool = read();
  ASSERT_EQ(pool.entries().size(), 2u);
  EXPECT_EQ(pool.models(), (std::vector<std::string>{"one", "two"}));
  for (const PoolEntry &entry : pool.entries())
    if (entry.model == "one") {
      EXPECT_EQ(printSchedule(entry.entry.schedule), printSchedule(fast.schedule));
      EXPECT_EQ(entry.kernel, "b");
    }
}

// The sum over classes of the share's square times the root of how many kernels there are.
TEST_F(PoolTest, ScoresSourcesByEquation) {
  Entry other = entryOf(task("b"), "one", 10);
  other.kernel += "\n// of another size";
  llvm::cantFail(database->insert({entryOf(task("b"), "one", 10), other, entryOf(task("g"), "two", 5)}));
  ClassShares shares;
  shares[opClassOf(task("b").key())] = 0.5, shares[opClassOf(task("g").key())] = 0.4;
  std::vector<SourceScore> scores = scoreSources(read(), shares, "three");
  ASSERT_EQ(scores.size(), 2u);
  EXPECT_EQ(scores[0].model, "one");
  EXPECT_NEAR(scores[0].score, 0.25 * std::sqrt(2.0), 1e-12);
  EXPECT_NEAR(scores[1].score, 0.16, 1e-12);
  // A model is no source of its own.
  EXPECT_EQ(scoreSources(read(), shares, "one").size(), 1u);
}

// A kernel of the same class takes its schedule, one of another class does not, and its own is no candidate.
TEST_F(PoolTest, CarriesToKernelsOfTheClass) {
  Entry entry = entryOf(task("b"), "one", 10);
  llvm::cantFail(database->insert({entry}));
  Carrier carrier(context.get());
  EXPECT_TRUE(carrier.candidates(task("b"), read(), "").empty());
  EXPECT_TRUE(carrier.candidates(task("g"), read(), "").empty());
  Entry changed = entry;
  changed.schedule.set("task_m", entry.schedule.value("tile_m"));
  changed.nanoseconds = 1;
  llvm::cantFail(database->insert({changed}));
  std::vector<Carried> carried = carrier.candidates(task("b"), read(), "one");
  ASSERT_EQ(carried.size(), 1u);
  EXPECT_EQ(carried[0].schedule, changed.schedule);
  EXPECT_EQ(carried[0].from, "one:b");
  EXPECT_TRUE(carrier.candidates(task("b"), read(), "two").empty());
}

// What cannot be read or is not legal is passed over.
TEST_F(PoolTest, PassesOverWhatMakesNoSense) {
  Entry garbled = entryOf(task("b"), "one", 10), illegal = entryOf(task("b"), "two", 10), foreign = garbled;
  garbled.kernel = "contract\nno function at all, = graph.Conv = graph.Relu";
  illegal.schedule.set("tile_m", 31), illegal.schedule.set("task_m", 31);
  foreign.target = "no-such-machine";
  llvm::cantFail(database->insert({garbled, illegal, foreign}));
  Carrier carrier(context.get());
  EXPECT_TRUE(carrier.candidates(task("b"), read(), "").empty());
}

} // namespace
} // namespace fathom::tune
