// Schedules said relatively: the same again on the same problem and machine, and of use on others.
#include "compiler/kernel/FixedSchedule.h"
#include "compiler/tune/search/SearchSpace.h"
#include "tests/unit/tune/TestProgram.h"

using namespace mlir;

namespace fathom::tune {
namespace {

TEST(Relative, HasAText) {
  StringRef text = "tile_m: 4, tile_n: 2 vectors, block_k: 3/8 cache1, task_m: 1/16 rows";
  std::optional<RelativeSchedule> schedule = parseRelative(text);
  ASSERT_TRUE(schedule);
  EXPECT_EQ(print(*schedule), text);
  EXPECT_EQ(schedule->knobs[2].second, (RelativeSize{3, 8, "cache1"}));
  for (StringRef wrong : {"tile_m", "tile_m: x", "tile_m: -1", "tile_m: 1/0 rows", "tile_m: 1/2", ": 4",
                          "tile_m: 4 of rows", "tile_m: 99999999999999999999"})
    EXPECT_FALSE(parseRelative(wrong)) << wrong.str();
}

TEST(Relative, IsRoundedUpToWholeUnits) {
  std::vector<Knob> knobs = contractClass.family.knobs();
  Scale scale{8, {32 << 10}, [](const Schedule &s) { return Extents{{"rows", 100}, {"depth", 100}}; }};
  Schedule resolved =
      resolve(*parseRelative("tile_m: 6, tile_n: 2 vectors, block_k: 1/2 cache1, task_m: 1/3 rows"), knobs, scale);
  EXPECT_EQ(resolved.value("tile_n"), 16);
  EXPECT_EQ(resolved.value("block_k"), 256); // of 16 columns of 4 bytes each
  EXPECT_EQ(resolved.value("task_m"), 36);
  // No value leaves its range.
  resolved = resolve(*parseRelative("tile_m: 1000, task_m: 9000000000000000000 rows"), knobs, scale);
  EXPECT_EQ(resolved.value("tile_m"), 32);
  EXPECT_LE(resolved.value("task_m"), mostPerTask);
}

class CarriedTest : public ProgramTest {};

// Random schedules of the whole space.
TEST_P(CarriedTest, IsTheSameOnTheSameProblem) {
  build(smallNetwork, GetParam());
  Random random(testSeed());
  size_t relatives = 0;
  for (const TaskUse &use : uses) {
    const KernelTask &task = *use.task;
    SearchSpace space(task);
    std::vector<Knob> knobs = task.kernelClass().family.knobs();
    Scale scale = scaleOf(task.space(), target);
    for (int i = 0; i < 200; ++i) {
      std::optional<SearchSpace::Point> point = space.any(random);
      ASSERT_TRUE(point) << task.name().str();
      Schedule schedule = space.scheduleAt(*point);
      RelativeSchedule relative = relativeTo(schedule, knobs, scale);
      EXPECT_EQ(resolve(relative, knobs, scale), schedule) << task.name().str() << ": " << print(relative);
      EXPECT_EQ(parseRelative(print(relative)), relative) << print(relative);
      relatives += llvm::any_of(relative.knobs, [](const auto &knob) { return !knob.second.unit.empty(); });
    }
  }
  EXPECT_GT(relatives, 0u);
}

// Also those of another machine and of another size.
TEST_P(CarriedTest, IsLegalOnOthers) {
  ProgramTest::build(smallNetwork, "neoverse-v1");
  std::vector<std::pair<const KernelClass *, RelativeSchedule>> carried;
  for (const TaskUse &use : uses) {
    const KernelClass &klass = use.task->kernelClass();
    carried.emplace_back(&klass,
                         relativeTo(use.task->planned(), klass.family.knobs(), scaleOf(use.task->space(), target)));
  }
  std::string larger = smallNetwork;
  for (auto [from, to] :
       {std::pair("24x", "56x"), std::pair("x24", "x56"), std::pair("x40x", "x72x"), std::pair("x40>", "x72>"),
        std::pair("x40xf", "x72xf"), std::pair("group = 24", "group = 56")})
    for (size_t at = 0; (at = larger.find(from, at)) != std::string::npos; at += strlen(to))
      larger.replace(at, strlen(from), to);
  build(larger.c_str(), GetParam());
  size_t met = 0;
  for (const TaskUse &use : uses)
    for (const auto &[klass, relative] : carried) {
      if (klass != &use.task->kernelClass())
        continue;
      const Space &space = use.task->space();
      Schedule schedule = resolve(relative, klass->family.knobs(), scaleOf(space, target));
      Schedule legal = legalNear(schedule, *klass, space, space);
      llvm::Error error = checkSchedule(*klass, legal, space);
      EXPECT_FALSE(bool(error)) << llvm::toString(std::move(error));
      ++met;
    }
  EXPECT_GE(met, 3u);
}

INSTANTIATE_TEST_SUITE_P(Machines, CarriedTest, testing::Values("neoverse-v1", "x86-64-v3", "sapphirerapids"));

} // namespace
} // namespace fathom::tune
