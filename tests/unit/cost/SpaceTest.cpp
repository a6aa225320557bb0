// Every schedule of a space is legal, whatever the sizes: over 100,000 of them, for four machines.
#include "compiler/driver/Compile.h"
#include "compiler/graph/Layout.h"
#include "compiler/kernel/Backend.h"
#include "compiler/kernel/Choices.h"
#include "compiler/kernel/ConvAlgorithm.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FormatVariadic.h"
#include <cstdlib>
#include <gtest/gtest.h>
#include <random>

using namespace mlir;
using llvm::isAlnum;

namespace fathom {
namespace {

// One schedule in so many is looked at (FATHOM_TEST_PART), where not each of them matters but the code that looks.
size_t part() {
  const char *text = std::getenv("FATHOM_TEST_PART");
  return text ? std::max<size_t>(1, std::strtoull(text, nullptr, 0)) : 1;
}

class SpaceTest : public testing::TestWithParam<const char *> {
protected:
  std::mt19937 random{20};
  std::unique_ptr<MLIRContext> context = createContext();
  OwningOpRef<ModuleOp> module;

  int64_t size() {
    constexpr int64_t sizes[] = {1, 2, 3, 4, 5, 7, 8, 13, 16, 31, 48, 64, 100, 131, 256, 768, 1000, 3072};
    return sizes[random() % std::size(sizes)];
  }

  // The op that a kernel is scheduled by: its anchor, or its end.
  Operation *parse(const std::string &text) {
    module = parseSourceString<ModuleOp>(text, ParserConfig(context.get()));
    EXPECT_TRUE(module) << text;
    func::FuncOp kernel = *module->getOps<func::FuncOp>().begin();
    Operation *anchor = anchorOf(kernel);
    return anchor ? anchor : kernel.getBody().front().getTerminator();
  }

  // A kernel on images of any size.
  Operation *images(StringRef form) {
    int64_t sizes[] = {int64_t(1 + random() % 3), size(), int64_t(3 + random() % 30), int64_t(3 + random() % 30)};
    std::string text = form.str(), type = "tensor<{0}x{1}x{2}x{3}xf32>";
    for (size_t at = 0; (at = text.find('T', at)) != std::string::npos;) {
      bool isType = !isAlnum(text[at + 1]) && !isAlnum(text[at - 1]);
      text.replace(at, 1, isType ? type : "T");
      at += isType ? type.size() : 1;
    }
    return parse(llvm::formatv(false, text.c_str(), sizes[0], sizes[1], sizes[2], sizes[3], 2 * sizes[1]).str());
  }

  Operation *product() {
    int64_t m = size(), n = size(), k = size();
    return parse(
        llvm::formatv(R"(func.func @main(%a: tensor<{0}x{2}xf32>, %b: tensor<{2}x{1}xf32>) -> tensor<{0}x{1}xf32> {{
      %0 = graph.MatMul(%a, %b) : (tensor<{0}x{2}xf32>, tensor<{2}x{1}xf32>) -> tensor<{0}x{1}xf32>
      return %0 : tensor<{0}x{1}xf32> })",
                      m, n, k));
  }

  Operation *convolution() { return convolutionOf(1 + random() % 4, size(), size()); }

  // Of so many channels a group.
  Operation *convolutionOf(int64_t groups, int64_t c, int64_t k) {
    int64_t pixels = 3 + random() % 30;
    return parse(llvm::formatv(
        R"(func.func @main(%x: tensor<1x{0}x{3}x{3}xf32>, %w: tensor<{1}x{2}x3x3xf32>) -> tensor<1x{1}x{4}x{4}xf32> {{
      %n = graph.None
      %0 = graph.Conv(%x, %w, %n) {{group = {5} : i64} : (tensor<1x{0}x{3}x{3}xf32>, tensor<{1}x{2}x3x3xf32>, none) -> tensor<1x{1}x{4}x{4}xf32>
      return %0 : tensor<1x{1}x{4}x{4}xf32> })",
        c * groups, k * groups, c, pixels, pixels - 2, groups));
  }
};

// Kernels of the other families; T stands for the images, of {0} x {1} x {2} x {3}; {4} is twice {1}.
constexpr const char *forms[] = {
    R"(func.func private @kernel(%x: T) -> T {{
      %0 = graph.Sigmoid(%x) : (T) -> T
      return %0 : T })",
    R"(func.func private @kernel(%x: T) -> tensor<{0}x{1}x{2}x{3}xf32, #graph.enc<order = [0, 2, 3, 1]>> {{
      %0 = graph.Relayout(%x) : (T) -> tensor<{0}x{1}x{2}x{3}xf32, #graph.enc<order = [0, 2, 3, 1]>>
      return %0 : tensor<{0}x{1}x{2}x{3}xf32, #graph.enc<order = [0, 2, 3, 1]>> })",
    R"(func.func private @kernel(%x: T) -> T {{
      %0 = graph.Softmax(%x) {{axis = 3 : i64} : (T) -> T
      return %0 : T })",
    R"(func.func private @kernel(%x: T) -> T {{
      %0 = graph.Softmax(%x) {{axis = 1 : i64} : (T) -> T
      return %0 : T })",
    R"(func.func private @kernel(%x: T) -> T {{
      %0 = graph.Concat(%x) {{axis = 1 : i64} : (T) -> T
      return %0 : T })",
    R"(func.func private @kernel(%x: T) -> tensor<{0}x{1}x1x1xf32> {{
      %axes = graph.Constant dense<[2, 3]> : tensor<2xi64> as tensor<2xi64>
      %0 = graph.ReduceMean(%x, %axes) : (T, tensor<2xi64>) -> tensor<{0}x{1}x1x1xf32>
      return %0 : tensor<{0}x{1}x1x1xf32> })",
    R"(func.func private @kernel(%x: T) -> T {{
      %0:2 = graph.MaxPool(%x) {{kernel_shape = array<i64: 3, 3>, pads = array<i64: 1, 1, 1, 1>} : (T) -> (T, tensor<{0}x{1}x{2}x{3}xi64>)
      return %0#0 : T })",
    R"(func.func private @kernel(%x: T, %w: tensor<{1}x1x3x3xf32>) -> T {{
      %n = graph.None
      %0 = graph.Conv(%x, %w, %n) {{group = {1} : i64, pads = array<i64: 1, 1, 1, 1>} : (T, tensor<{1}x1x3x3xf32>, none) -> T
      return %0 : T })",
    R"(func.func private @kernel(%x: T, %u: tensor<16x{1}x{1}xf32>) -> T {{
      %n = graph.None
      %0 = graph.WinogradConv(%x, %u, %n) {{pads = array<i64: 1, 1, 1, 1>, tile = 2 : i64} : (T, tensor<16x{1}x{1}xf32>, none) -> T
      return %0 : T })",
    R"(func.func private @kernel(%x: tensor<{0}x{4}x{2}x{3}xf32>, %u: tensor<36x{1}x{4}xf32>) -> tensor<{0}x{4}x{2}x{3}xf32> {{
      %n = graph.None
      %0 = graph.WinogradConv(%x, %u, %n) {{pads = array<i64: 1, 1, 1, 1>, tile = 4 : i64, group = 2 : i64} : (tensor<{0}x{4}x{2}x{3}xf32>, tensor<36x{1}x{4}xf32>, none) -> tensor<{0}x{4}x{2}x{3}xf32>
      return %0 : tensor<{0}x{4}x{2}x{3}xf32> })",
    R"(func.func private @kernel(%x: tensor<{0}x{2}x32xf32>, %u: tensor<7x16x{1}xf32>) -> tensor<{0}x{2}x{4}xf32> {{
      %n = graph.None
      %0 = graph.Strassen(%x, %u, %n) {{axis = 2 : i64} : (tensor<{0}x{2}x32xf32>, tensor<7x16x{1}xf32>, none) -> tensor<{0}x{2}x{4}xf32>
      return %0 : tensor<{0}x{2}x{4}xf32> })",
    R"(func.func private @kernel(%x: tensor<{0}x{2}x{1}xf32>, %w: tensor<{2}x{3}x4xf32>) -> tensor<{0}x{3}x{4}xf32> {{
      %n = graph.None
      %0 = graph.ConvTranspose(%x, %w, %n) {{pads = array<i64: 1, 1>, strides = array<i64: 2>} : (tensor<{0}x{2}x{1}xf32>, tensor<{2}x{3}x4xf32>, none) -> tensor<{0}x{3}x{4}xf32>
      return %0 : tensor<{0}x{3}x{4}xf32> })",
    R"(func.func private @kernel(%x: tensor<{0}x{2}x{1}xf32>, %w: tensor<{2}x1x4xf32>) -> tensor<{0}x{2}x{4}xf32> {{
      %n = graph.None
      %0 = graph.ConvTranspose(%x, %w, %n) {{group = {2} : i64, pads = array<i64: 1, 1>, strides = array<i64: 2>} : (tensor<{0}x{2}x{1}xf32>, tensor<{2}x1x4xf32>, none) -> tensor<{0}x{2}x{4}xf32>
      return %0 : tensor<{0}x{2}x{4}xf32> })",
    R"(func.func private @kernel(%x: T) -> T {{
      %axis = graph.Constant dense<3> : tensor<i64> as tensor<i64>
      %0 = graph.CumSum(%x, %axis) : (T, tensor<i64>) -> T
      return %0 : T })",
    R"(func.func private @kernel(%x: T, %axis: tensor<i64>) -> T {{
      %0 = graph.CumSum(%x, %axis) : (T, tensor<i64>) -> T
      return %0 : T })",
    R"(func.func private @kernel(%x: T, %u: tensor<{0}x{1}x1x{3}xf32>, %i: tensor<{0}xi64>) -> T {{
      %0 = graph.TensorScatter(%x, %u, %i) : (T, tensor<{0}x{1}x1x{3}xf32>, tensor<{0}xi64>) -> T
      return %0 : T })",
    R"(func.func private @kernel(%x: tensor<{0}x{2}x64xf32>, %w: tensor<{1}x2x16xui8>, %s: tensor<{1}x2xf32>) -> tensor<{0}x{2}x{1}xf32> {{
      %n = graph.None
      %0 = graph.MatMulNBits(%x, %w, %s, %n) {{K = 64 : i64, N = {1} : i64, block_size = 32 : i64} : (tensor<{0}x{2}x64xf32>, tensor<{1}x2x16xui8>, tensor<{1}x2xf32>, none) -> tensor<{0}x{2}x{1}xf32>
      return %0 : tensor<{0}x{2}x{1}xf32> })",
    R"(func.func private @kernel(%x: tensor<{0}x{1}xf32>, %n: tensor<{4}x2xi32>, %t: tensor<{2}x4xi32>, %w: tensor<{4}x1xf32>) -> tensor<{0}x1xf32> {{
      %0 = graph.TreeEnsemble(%x, %n, %t, %w) {{targets = 1 : i64} : (tensor<{0}x{1}xf32>, tensor<{4}x2xi32>, tensor<{2}x4xi32>, tensor<{4}x1xf32>) -> tensor<{0}x1xf32>
      return %0 : tensor<{0}x1xf32> })",
    R"(func.func private @kernel(%q: T, %k: tensor<{0}x{1}x{3}x{2}xf32>, %v: T) -> T {{
      %0 = graph.MatMul(%q, %k) : (T, tensor<{0}x{1}x{3}x{2}xf32>) -> tensor<{0}x{1}x{2}x{2}xf32>
      %1 = graph.Softmax(%0) {{axis = 3 : i64} : (tensor<{0}x{1}x{2}x{2}xf32>) -> tensor<{0}x{1}x{2}x{2}xf32>
      %2 = graph.MatMul(%1, %v) : (tensor<{0}x{1}x{2}x{2}xf32>, T) -> T
      return %2 : T })"};

const KernelClass &classOf(Operation *op) {
  const Backend &cpu = backendOf(Target());
  return isa<func::ReturnOp>(op) ? kernelClassOf(op->getParentOfType<func::FuncOp>(), cpu) : kernelClassOf(op, cpu);
}

TEST_P(SpaceTest, HoldsOnlyLegalSchedules) {
  Target target = llvm::cantFail(parseTarget(GetParam()));
  llvm::StringSet<> families;
  size_t seen = 0;
  for (size_t round = 0; seen < 30000 || round < 10 * std::size(forms); ++round) {
    size_t form = round % (std::size(forms) + 2);
    Operation *op = form == 0 ? product() : form == 1 ? convolution() : images(forms[form - 2]);
    const KernelClass &klass = classOf(op);
    families.insert(klass.name);
    size_t before = seen;
    std::unique_ptr<Space> space = klass.family.spaceOf(op, target);
    space->enumerate([&](const Schedule &schedule) {
      if (++seen % part())
        return;
      std::string problem = llvm::toString(checkSchedule(klass, schedule, op, target));
      ASSERT_EQ(problem, "") << klass.name.str();
      ASSERT_GT(space->score(schedule), 0);
    });
    ASSERT_GT(seen, before) << "an empty space of class " << klass.name.str();
  }
  // Two classes of rows share their space with softmaxes; spatial packing has a test of its own.
  EXPECT_EQ(families.size(), backendOf(target).kernelClasses().size() - 3);
}

TEST_P(SpaceTest, NothingOfItIsBetterThanTheBest) {
  Target target = llvm::cantFail(parseTarget(GetParam()));
  for (const char *form : forms) {
    Operation *op = images(form);
    std::unique_ptr<Space> space = classOf(op).family.spaceOf(op, target);
    double best = space->score(space->best());
    for (const Schedule &schedule : sampleSchedules(*space, 500, random()))
      EXPECT_LE(best, space->score(schedule) * (1 + 1e-9));
  }
}

// The width of panels is that of the best schedule; what is left open is decided with it, and need not be searched.
TEST_P(SpaceTest, TheBestStaysSoWhenPanelsAreDecided) {
  Target target = llvm::cantFail(parseTarget(GetParam()));
  for (int round = 0; round < 20; ++round) {
    Operation *op = product();
    const Family &family = classOf(op).family;
    std::unique_ptr<Space> open = family.spaceOf(op, target);
    Schedule best = open->best();
    Value right = op->getOperand(1);
    auto pack = [&](int64_t panel) {
      auto type = graph::withoutLayout(cast<RankedTensorType>(right.getType()));
      right.setType(withLayout(type, {1, 0, 1}, panel));
      return family.spaceOf(op, target);
    };
    int64_t panel = family.panelWidth(best);
    std::unique_ptr<Space> decided = pack(panel), otherwise = pack(2 * panel);
    EXPECT_TRUE(decided->isWithin(*open));
    EXPECT_FALSE(open->isWithin(*decided));
    EXPECT_EQ(decided->violation(best), "");
    EXPECT_EQ(decided->best(), best);
    EXPECT_NE(otherwise->violation(best), "");
    std::unique_ptr<Space> image = family.spaceOf(convolutionOf(1, 5, 17), target);
    EXPECT_FALSE(image->isWithin(*open));
  }
}

// Every estimate says where its time goes, and forgets none of it.
TEST_P(SpaceTest, PartsAddUpToTheTotal) {
  Target target = llvm::cantFail(parseTarget(GetParam()));
  for (size_t form = 0; form < std::size(forms) + 2; ++form) {
    Operation *op = form == 0 ? product() : form == 1 ? convolution() : images(forms[form - 2]);
    std::unique_ptr<Space> space = classOf(op).family.spaceOf(op, target);
    for (const Schedule &schedule : sampleSchedules(*space, 200, random())) {
      cost::Estimate estimate = space->estimate(schedule);
      for (int64_t threads : {int64_t(1), target.cores}) {
        cost::Parts parts = estimate.parts(threads, target.slowestCore);
        double total = estimate.total(threads, target.slowestCore), least = -1e-9 * total;
        ASSERT_NEAR(parts.sum(), total, 1e-9 * total) << classOf(op).name.str();
        for (double part : {parts.arithmetic, parts.tails, parts.packing, parts.results, parts.tasks, parts.imbalance,
                            parts.exchange, parts.spreading})
          ASSERT_GE(part, least) << classOf(op).name.str();
        ASSERT_GE(*llvm::min_element(parts.movement), least) << classOf(op).name.str();
      }
    }
  }
}

TEST_P(SpaceTest, SamplesAreOfTheSpaceAndDiffer) {
  Target target = llvm::cantFail(parseTarget(GetParam()));
  Operation *op = product();
  std::unique_ptr<Space> space = classOf(op).family.spaceOf(op, target);
  std::vector<Schedule> all, some = sampleSchedules(*space, 50, 1);
  space->enumerate([&](const Schedule &schedule) { all.push_back(schedule); });
  EXPECT_EQ(some.size(), std::min<size_t>(50, all.size()));
  for (const Schedule &schedule : some)
    EXPECT_TRUE(llvm::is_contained(all, schedule));
  EXPECT_EQ(some, sampleSchedules(*space, 50, 1));
  if (all.size() > 1000)
    EXPECT_NE(some, sampleSchedules(*space, 50, 2));
}

TEST_P(SpaceTest, HoldsOnlyLegalSchedulesOfSpatialPacking) {
  Target target = llvm::cantFail(parseTarget(GetParam()));
  size_t seen = 0;
  for (int round = 0; seen < 11 * 30000 || round < 40; ++round) {
    Operation *op = convolution();
    if (isDepthwise(op))
      continue;
    setAlgorithm(op, spatialPackName(op));
    ASSERT_EQ(classOf(op).name, "spatial_pack");
    size_t before = seen;
    classOf(op).family.spaceOf(op, target)->enumerate([&](const Schedule &schedule) {
      // One of eleven: there are millions of them.
      if (++seen % (11 * part()))
        return;
      std::string problem = llvm::toString(checkSchedule(classOf(op), schedule, op, target));
      ASSERT_EQ(problem, "");
    });
    ASSERT_GT(seen, before) << "an empty space";
  }
}

// Tiles are of a group, not of all channels: what lies between the two is refused.
TEST_P(SpaceTest, RefusesTilesLargerThanAGroup) {
  Target target = llvm::cantFail(parseTarget(GetParam()));
  Operation *op = convolutionOf(/*groups=*/8, /*channels=*/4, /*filters=*/4);
  setAlgorithm(op, spatialPackName(op));
  Schedule legal = classOf(op).family.spaceOf(op, target)->best();
  ASSERT_EQ(llvm::toString(checkSchedule(classOf(op), legal, op, target)), "");
  for (StringRef knob : {"tile_o", "tile_i"}) {
    Schedule wrong = legal;
    wrong.set(knob, 8);
    EXPECT_NE(llvm::toString(checkSchedule(classOf(op), wrong, op, target)), "") << knob.str();
  }
  Schedule wrong = legal;
  wrong.set("groups", 9);
  EXPECT_NE(llvm::toString(checkSchedule(classOf(op), wrong, op, target)), "");
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
