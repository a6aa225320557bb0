// Kernels apart from their model: the same code as in it, and code for every schedule that is legal.
#include "compiler/tune/search/SearchSpace.h"
#include "compiler/tune/task/KernelObject.h"
#include "tests/unit/tune/TestProgram.h"
#include "llvm/IR/Module.h"

using namespace mlir;

namespace fathom::tune {
namespace {

class TaskTest : public ProgramTest {};

// Apart from the names of symbols, which say where a kernel is.
TEST_P(TaskTest, HasTheCodeOfTheModel) {
  build(smallNetwork, GetParam());
  for (const TaskUse &use : uses) {
    FailureOr<TaskCode> apart = use.task->generate(use.task->planned(), CodeForm::Llvm);
    ASSERT_TRUE(succeeded(apart)) << use.task->name().str();
    const KernelCode &inside = program.codes[program.kernels[use.kernels.front()].code];
    OwningOpRef<ModuleOp> loops = ModuleOp::create(module->getLoc());
    auto grid = program.backend->emitKernel(inside.function, *inside.kernelClass, inside.schedule, KernelTask::symbol,
                                            graph::symbolsOf(inside.function).size(), {target}, *loops);
    ASSERT_TRUE(succeeded(grid));
    auto code = program.backend->generate(*loops, {target}, CodeForm::Llvm, [](llvm::Module &module) {
      for (llvm::Function &function : module)
        if (function.getName() == KernelTask::symbol)
          function.setVisibility(llvm::GlobalValue::HiddenVisibility);
    });
    ASSERT_TRUE(succeeded(code));
    EXPECT_EQ(apart->code.text, code->text) << use.task->name().str();
    EXPECT_EQ(apart->grid.tasks, grid->tasks);
    EXPECT_EQ(apart->grid.scratchBytes, grid->scratchBytes);
  }
}

// Also where panels get another width, and knobs values that no candidate of the compiler's has.
TEST_P(TaskTest, HasCodeForEveryLegalSchedule) {
  build(smallNetwork, GetParam());
  Random random(testSeed());
  for (const TaskUse &use : uses) {
    SearchSpace space(*use.task);
    for (int i = 0; i < 6; ++i) {
      std::optional<SearchSpace::Point> point = space.any(random);
      ASSERT_TRUE(point) << use.task->name().str();
      Schedule schedule = space.scheduleAt(*point);
      FailureOr<TaskCode> made = use.task->generate(schedule, CodeForm::Object);
      ASSERT_TRUE(succeeded(made)) << use.task->name().str();
      EXPECT_GT(use.task->tasks(made->grid), 0);
    }
  }
}

// The width of panels is the schedule's business, and no part of what a kernel is.
TEST_P(TaskTest, HasOneKeyWhateverThePanels) {
  build(smallNetwork, GetParam());
  std::string key = task("b").key().str();
  Plan changed = program.plan;
  for (PlannedKernel &kernel : changed.kernels)
    if (kernel.name == "b") {
      int64_t other = kernel.schedule.value("tile_n") == 8 ? 16 : 8;
      kernel.schedule.set("tile_n", other);
      kernel.schedule.set("tile_m", 1);
      kernel.schedule.set("load_ahead", 0);
      kernel.schedule.set("pack_a", 0);
      kernel.schedule.set("row_apart", 0);
      kernel.schedule.set("fetch_ahead", 0);
    }
  plan(smallNetwork, std::move(changed));
  EXPECT_EQ(task("b").key().str(), key);
  EXPECT_EQ(task("b").planned().value("tile_m"), 1);
}

TEST_P(TaskTest, LinksASharedObjectOfOneKernel) {
  build(smallNetwork, GetParam());
  llvm::Expected<KernelObject> object = objectOf(task("b"), task("b").planned());
  ASSERT_TRUE(bool(object)) << llvm::toString(object.takeError());
  EXPECT_TRUE(llvm::StringRef(object->bytes)
                  .starts_with("\x7f"
                               "ELF"));
  EXPECT_EQ(object->symbol, "kernel.task");
  EXPECT_GT(object->tasks, 0);
  // The image, the weights, and the result, which has the halo that the next kernel needs.
  ASSERT_EQ(object->buffers.size(), 3u);
  EXPECT_FALSE(object->buffers[1].isResult);
  EXPECT_GE(object->buffers[1].bytes, 24 * 12 * 9 * 4);
  EXPECT_TRUE(object->buffers[2].isResult);
  EXPECT_GE(object->buffers[2].bytes, 24 * 19 * 17 * 4);
  EXPECT_TRUE(object->sizes.empty());
}

INSTANTIATE_TEST_SUITE_P(Machines, TaskTest, testing::Values("neoverse-v1", "x86-64-v3", "sapphirerapids"));

} // namespace
} // namespace fathom::tune
