// Every schedule of a space is legal, whatever the sizes.
#include "compiler/driver/Compile.h"
#include "compiler/kernel/KernelClass.h"
#include "compiler/kernel/Spaces.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/FormatVariadic.h"
#include <gtest/gtest.h>
#include <random>

using namespace mlir;

namespace fathom {
namespace {

class SpaceTest : public testing::TestWithParam<const char *> {
protected:
  std::mt19937 random{20};
  std::unique_ptr<MLIRContext> context = createContext();
  OwningOpRef<ModuleOp> module;

  int64_t size() {
    constexpr int64_t sizes[] = {1, 2, 3, 4, 5, 7, 8, 13, 16, 31, 48, 64, 100, 131, 256, 768, 1000, 3072};
    return sizes[random() % std::size(sizes)];
  }

  Operation *parse(const std::string &text) {
    module = parseSourceString<ModuleOp>(text, ParserConfig(context.get()));
    EXPECT_TRUE(module) << text;
    return anchorOf(*module->getOps<func::FuncOp>().begin());
  }

  Operation *product() {
    int64_t m = size(), n = size(), k = size();
    return parse(
        llvm::formatv(R"(func.func @main(%a: tensor<{0}x{2}xf32>, %b: tensor<{2}x{1}xf32>) -> tensor<{0}x{1}xf32> {{
      %0 = graph.MatMul(%a, %b) : (tensor<{0}x{2}xf32>, tensor<{2}x{1}xf32>) -> tensor<{0}x{1}xf32>
      return %0 : tensor<{0}x{1}xf32> })",
                      m, n, k));
  }

  Operation *convolution() {
    int64_t groups = 1 + random() % 4, c = size(), k = size(), pixels = 3 + random() % 30;
    return parse(llvm::formatv(
        R"(func.func @main(%x: tensor<1x{0}x{3}x{3}xf32>, %w: tensor<{1}x{2}x3x3xf32>) -> tensor<1x{1}x{4}x{4}xf32> {{
      %n = graph.None
      %0 = graph.Conv(%x, %w, %n) {{group = {5} : i64} : (tensor<1x{0}x{3}x{3}xf32>, tensor<{1}x{2}x3x3xf32>, none) -> tensor<1x{1}x{4}x{4}xf32>
      return %0 : tensor<1x{1}x{4}x{4}xf32> })",
        c * groups, k * groups, c, pixels, pixels - 2, groups));
  }
};

TEST_P(SpaceTest, HoldsOnlyLegalSchedules) {
  Target target = llvm::cantFail(parseTarget(GetParam()));
  size_t seen = 0;
  for (int round = 0; seen < 100000 || round < 40; ++round) {
    Operation *op = round % 2 ? product() : convolution();
    if (isDepthwise(op))
      continue;
    size_t before = seen;
    overContractSpace(op, target, [&](const Schedule &schedule) {
      ++seen;
      std::string problem = llvm::toString(checkSchedule(kernelClassOf(op), schedule, op, target));
      ASSERT_EQ(problem, "");
    });
    ASSERT_GT(seen, before) << "an empty space";
  }
}

INSTANTIATE_TEST_SUITE_P(Machines, SpaceTest,
                         testing::Values("neoverse-v1", "cortex-a53", "sapphirerapids", "x86-64-v3"),
                         [](const auto &info) {
                           std::string name = info.param;
                           llvm::erase_if(name, [](char c) { return c == '-'; });
                           return name;
                         });

} // namespace
} // namespace fathom
