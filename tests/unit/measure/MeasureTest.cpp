// Tests of measuring on this machine: what comes back of kernels that are sound, and of those that are not.
#include "Kernels.h"

#include "compiler/support/Cancellation.h"
#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>

using namespace fathom;
using namespace fathom::tune;

namespace {

using Words = std::vector<std::string>;

class Measure : public testing::Test {
protected:
  void SetUp() override { ASSERT_TRUE(started.measurer) << started.said; }
  std::vector<Measurement> measure(llvm::ArrayRef<MeasuredKernel> group, const MeasureOptions &options) {
    return started.measurer->measure(group, options);
  }

  Started started{programHere()};
};

// What differs by a factor of 100 is told apart in one of some tries, whatever else the machine does.
TEST_F(Measure, TellsMoreWorkFromLess) {
  for (int threads : {1, 2})
    for (bool cold : {false, true}) {
      MeasureOptions options = quick();
      options.threads = threads, options.cold = cold;
      bool isOrdered = false;
      for (int tries = 0; tries < 5 && !isOrdered; ++tries) {
        auto results = measure({kernelOf("copy", 3000), kernelOf("copy", 30), kernelOf("copy", 300000, 16)}, options);
        ASSERT_EQ(spell(results), (Words{"ok", "ok", "ok"}));
        for (const Measurement &result : results) {
          EXPECT_GE(result.runs, 1);
          EXPECT_LE(result.runs, options.mostRuns);
          EXPECT_LE(result.minimumNs, result.lowerQuartileNs);
          EXPECT_LE(result.lowerQuartileNs, result.medianNs);
          EXPECT_LE(result.medianNs, result.upperQuartileNs);
          EXPECT_LE(result.outliers, result.runs);
        }
        isOrdered = results[1].medianNs < results[0].medianNs && results[1].medianNs < results[2].medianNs;
      }
      EXPECT_TRUE(isOrdered) << threads << " threads" << (cold ? ", cold" : "");
    }
}

TEST_F(Measure, NamesWhoFailsAndMeasuresTheOthers) {
  MeasuredKernel good = kernelOf("copy"), noObject = good, empty = good, noSymbol = good, nonsense = good;
  noObject.object = "int main() {}";
  empty.object = "";
  noSymbol.symbol = "nobody";
  nonsense.tasks = 0;
  MeasureOptions options = quick();
  options.hangSeconds = 2;
  options.tolerance = 1e-4;
  auto results =
      measure({kernelOf("crash"), kernelOf("copy"), kernelOf("hang"), noObject, kernelOf("wrong"), empty,
               kernelOf("leave"), noSymbol, kernelOf("fault"), nonsense, kernelOf("overrun"), kernelOf("scratch")},
              options);
  EXPECT_EQ(spell(results), (Words{"crashed", "ok", "hung", "refused", "wrong", "refused", "crashed", "refused",
                                   "refused", "refused", "crashed", "ok"}));
  EXPECT_EQ(results[0].note, "signal 11 (Segmentation fault)");
  EXPECT_EQ(results[2].note, "it ran longer than 2 s");
  EXPECT_TRUE(llvm::StringRef(results[3].note).starts_with("cannot be loaded: ")) << results[3].note;
  EXPECT_TRUE(llvm::StringRef(results[4].note).starts_with("output 0: element 10 is ")) << results[4].note;
  EXPECT_TRUE(llvm::StringRef(results[5].note).starts_with("cannot be loaded: ")) << results[5].note;
  EXPECT_EQ(results[7].note, "the object has no symbol 'nobody'");
  EXPECT_EQ(results[8].note, "it tells a fault, number 1");
  EXPECT_EQ(results[9].note, "its tasks, scratch or buffers make no sense");
  // None of them ended the program.
  EXPECT_EQ(started.measurer->starts(), 1);
}

TEST_F(Measure, ComparesOnlyWhenAsked) {
  EXPECT_EQ(spell(measure({kernelOf("copy"), kernelOf("wrong")}, quick())), (Words{"ok", "ok"}));
}

TEST_F(Measure, ComparesWithTheFirstThatRuns) {
  MeasureOptions options = quick();
  options.tolerance = 1e-4;
  MeasuredKernel other = kernelOf("copy");
  other.buffers[1].bytes *= 2;
  auto results = measure({kernelOf("crash"), kernelOf("wrong"), kernelOf("copy"), other}, options);
  EXPECT_EQ(spell(results), (Words{"crashed", "ok", "wrong", "wrong"}));
  EXPECT_EQ(results[3].note, "output 0 is not of the first candidate's kind");
}

// A kernel that takes its weights in panels of so many columns, and is told that they are of others.
MeasuredKernel kernelOfPanels(int64_t takes, int64_t told) {
  MeasuredKernel kernel = kernelOf("panels", takes);
  int64_t width = std::max(takes, told), panels = (16 + width - 1) / width;
  kernel.buffers[0] = {
      4 * 16 * panels * width, FATHOM_ABI_F32, BufferUse::Constant, {0, 1, told, 16 * told, 2, 16, told, 16, 1}};
  return kernel;
}

TEST_F(Measure, ComparesKernelsWithPanelsOfTheirOwn) {
  MeasureOptions options = quick();
  options.tolerance = 1e-4;
  EXPECT_EQ(spell(measure({kernelOfPanels(4, 4), kernelOfPanels(5, 5), kernelOfPanels(16, 16), kernelOfPanels(8, 4)},
                          options)),
            (Words{"ok", "ok", "ok", "wrong"}));
}

TEST_F(Measure, BelievesNoPanelsThatLeaveTheBuffer) {
  for (std::vector<int64_t> panels : {std::vector<int64_t>{0, 1, 4, 65, 2, 16, 4, 16, 1},
                                      {1, 1, 4, 64, 2, 16, 4, 16, 1},
                                      {0, 1, 0, 64, 2, 16, 4, 16, 1},
                                      {0, 2, 4, 64, 2, 16, 4, 16, 1},
                                      {0, -1, 0, 0, 1, INT64_MAX, 1},
                                      {0, -1, 0, 0, 2, 16, INT64_MAX, 16, 1},
                                      {0, -1, 0, 0, INT64_MAX, 1, 1},
                                      {0, -1, 0, 0, 1, 0, 1}}) {
    MeasuredKernel kernel = kernelOfPanels(4, 4);
    kernel.buffers[0].panels = panels;
    EXPECT_EQ(spell(measure({kernel}, quick())), (Words{"lost"}));
  }
  EXPECT_EQ(spell(measure({kernelOf("copy")}, quick())), (Words{"ok"}));
}

TEST_F(Measure, GivesWhatIsChangedInPlaceAsItWas) {
  MeasuredKernel kernel = kernelOf("in_place");
  kernel.buffers[1].use = BufferUse::Both;
  EXPECT_EQ(spell(measure({kernel, kernelOf("copy")}, quick())), (Words{"ok", "ok"}));
}

// Each is run twice before it is timed, and then after another one.
TEST_F(Measure, RunsCandidatesInTurns) {
  MeasureOptions options = quick();
  options.settled = 0;
  options.cold = true; // so that a timed run is one call
  options.mostRuns = 6;
  options.seconds = 1000;
  auto results = measure({kernelOf("take_turns", 1, 1), kernelOf("take_turns", 2, 1)}, options);
  EXPECT_EQ(spell(results), (Words{"ok", "ok"})) << results[0].note;
  EXPECT_EQ(results[0].runs, results[1].runs);
}

TEST_F(Measure, RunsThreadsAsToldOrAll) {
  MeasureOptions options = quick();
  for (int threads : {0, 1, 3}) {
    options.threads = threads;
    EXPECT_EQ(spell(measure({kernelOf("scratch"), kernelOf("copy")}, options)), (Words{"ok", "ok"})) << threads;
  }
}

TEST_F(Measure, CountsRunsThatAreFarOff) {
  MeasureOptions options = quick();
  options.mostRuns = 24;
  options.settled = 0;
  options.seconds = 1000;
  // In a cold state a timed run is one call; one in eight sleeps much longer than what the others take.
  options.cold = true;
  auto results = measure({kernelOf("unsteady", 1000)}, options);
  ASSERT_EQ(spell(results), (Words{"ok"}));
  EXPECT_GE(results[0].outliers, 1);
  EXPECT_LE(results[0].outliers, results[0].runs / 2);
}

TEST_F(Measure, StopsWhenMediansHaveSettled) {
  MeasureOptions options;
  options.settled = 10;
  options.seconds = 1000;
  auto results = measure({kernelOf("copy"), kernelOf("scratch")}, options);
  ASSERT_EQ(spell(results), (Words{"ok", "ok"}));
  EXPECT_LT(results[0].runs, options.mostRuns);
  EXPECT_GE(results[0].runs, 6);
}

TEST_F(Measure, MeasuresManyGroupsInOneProgram) {
  MeasureOptions options = quick();
  options.mostRuns = 2;
  for (int i = 0; i < 40; ++i)
    ASSERT_EQ(spell(measure({kernelOf("copy"), kernelOf("crash")}, options)), (Words{"ok", "crashed"})) << i;
  EXPECT_TRUE(measure({}, options).empty());
  EXPECT_EQ(started.measurer->starts(), 1);
}

TEST_F(Measure, StartsAgainWhenTheProgramEnds) {
  auto results = measure({kernelOf("copy"), kernelOf("end_machine"), kernelOf("copy")}, quick());
  EXPECT_EQ(spell(results), (Words{"ok", "crashed", "ok"}));
  EXPECT_EQ(results[1].note, "this machine went away when it was run");
  EXPECT_EQ(started.measurer->starts(), 2);
  EXPECT_EQ(started.measurer->problem(), "");
}

TEST(Measurer, StartsAgainWhenTheProgramIsSilent) {
  MeasurerOptions options = programHere();
  options.silentSeconds = 5;
  Started started(options);
  ASSERT_TRUE(started.measurer) << started.said;
  auto results = started.measurer->measure({kernelOf("freeze_machine"), kernelOf("copy")}, quick());
  EXPECT_EQ(spell(results), (Words{"hung", "ok"}));
  EXPECT_EQ(results[0].note, "this machine gave no sign of life when it was run");
  EXPECT_EQ(started.measurer->starts(), 2);
}

TEST_F(Measure, IsCancelled) {
  Cancellation cancellation;
  Cancellation::Scope scope(&cancellation);
  MeasureOptions options = quick();
  options.hangSeconds = 1000;
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    cancellation.cancel();
  });
  // It would not end for a quarter of an hour.
  auto results = measure({kernelOf("copy"), kernelOf("hang")}, options);
  other.join();
  EXPECT_EQ(spell(results), (Words{"lost", "lost"}));
  EXPECT_EQ(results[0].note, "cancelled");
}

TEST(Measurer, SaysWhereItLookedForTheProgram) {
  MeasurerOptions options;
  options.programFolder = "/nowhere";
  Started started(options);
  EXPECT_FALSE(started.measurer);
  EXPECT_NE(started.said.find("[F5001] there is no fathom-measure for "), std::string::npos) << started.said;
  EXPECT_NE(started.said.find("in /nowhere\nhint: `./dev foreign`"), std::string::npos) << started.said;
}

// A program for a folder: what lies there under the name of the one that measures, and is none.
TEST(Measurer, RefusesAProgramThatDoesNotSpeak) {
  auto folder = std::filesystem::path(testing::TempDir()) / ("fathom-measure-" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  std::filesystem::copy_file("/bin/true", folder / "fathom-measure");
  MeasurerOptions options;
  options.programFolder = folder.string();
  Started started(options);
  std::filesystem::remove_all(folder);
  EXPECT_FALSE(started.measurer);
  EXPECT_NE(started.said.find("[F5001] fathom-measure does not run on 'this machine': it ended with exit code 0"),
            std::string::npos)
      << started.said;
}

} // namespace
