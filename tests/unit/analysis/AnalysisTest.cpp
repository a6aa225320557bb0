// Kernels of small networks, analysed: counts against what must be computed, and code against loops.
#include "compiler/analysis/CodeParts.h"
#include "compiler/analysis/PreciseEstimate.h"
#include "compiler/analysis/RecordCode.h"
#include "compiler/analysis/Score.h"
#include "compiler/driver/Compilation.h"
#include "compiler/driver/DefaultPasses.h"
#include "compiler/plan/Program.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Object/ObjectFile.h"
#include <gtest/gtest.h>
#include <random>

using namespace mlir;

namespace fathom {
namespace {

constexpr const char *product = R"(
func.func @main(%a: tensor<120x512xf32>) -> tensor<120x192xf32> {
  %b = graph.Constant dense<2.0> : tensor<512x192xf32> as tensor<512x192xf32>
  %0 = graph.MatMul(%a, %b) {graph.name = "y"} : (tensor<120x512xf32>, tensor<512x192xf32>) -> tensor<120x192xf32>
  return %0 : tensor<120x192xf32>
})";

constexpr const char *convolution = R"(
func.func @main(%x: tensor<1x32x28x28xf32>) -> tensor<1x64x28x28xf32> {
  %n = graph.None
  %w = graph.Constant dense<2.0> : tensor<64x32x3x3xf32> as tensor<64x32x3x3xf32>
  %0 = graph.Conv(%x, %w, %n) {graph.name = "y", pads = array<i64: 1, 1, 1, 1>} : (tensor<1x32x28x28xf32>, tensor<64x32x3x3xf32>, none) -> tensor<1x64x28x28xf32>
  %1 = graph.Relu(%0) {graph.name = "z"} : (tensor<1x64x28x28xf32>) -> tensor<1x64x28x28xf32>
  return %1 : tensor<1x64x28x28xf32>
})";

constexpr const char *others = R"(
func.func @main(%x: tensor<4x33x65xf32>, %i: tensor<7xi64>) -> (tensor<4x33x65xf32>, tensor<4x65x33xf32>, tensor<4x33x1xf32>, tensor<7x33x65xf32>) {
  %axes = graph.Constant dense<2> : tensor<1xi64> as tensor<1xi64>
  %0 = graph.Softmax(%x) {graph.name = "s"} : (tensor<4x33x65xf32>) -> tensor<4x33x65xf32>
  %1 = graph.Transpose(%x) {graph.name = "t", perm = array<i64: 0, 2, 1>} : (tensor<4x33x65xf32>) -> tensor<4x65x33xf32>
  %2 = graph.ReduceMean(%x, %axes) {graph.name = "r"} : (tensor<4x33x65xf32>, tensor<1xi64>) -> tensor<4x33x1xf32>
  %3 = graph.Gather(%x, %i) {graph.name = "g"} : (tensor<4x33x65xf32>, tensor<7xi64>) -> tensor<7x33x65xf32>
  return %0, %1, %2, %3 : tensor<4x33x65xf32>, tensor<4x65x33xf32>, tensor<4x33x1xf32>, tensor<7x33x65xf32>
})";

class AnalysisTest : public testing::TestWithParam<const char *> {
protected:
  void SetUp() override {
    auto parsed = parseTarget(GetParam());
    ASSERT_TRUE(bool(parsed));
    target = *parsed;
  }

  void build(const char *text) {
    module = parseSourceString<ModuleOp>(text, ParserConfig(context.get()));
    ASSERT_TRUE(module);
    options.target = target;
    auto compilation = Compilation::begin(options, module->getLoc());
    ASSERT_TRUE(succeeded(compilation));
    ASSERT_TRUE(succeeded((*compilation)->run(*module, kernelPasses())));
    program = std::move((*compilation)->program);
  }

  PreciseEstimate estimate(KernelCode code) {
    auto found = analyze(*program->backend, code.function, *code.kernelClass, code.schedule, target);
    EXPECT_TRUE(succeeded(found));
    return succeeded(found) ? std::move(*found) : PreciseEstimate();
  }

  const KernelCode &code(const KernelClass &klass) {
    for (KernelCode &code : program->codes)
      if (code.kernelClass == &klass)
        return code;
    ADD_FAILURE() << "no kernel of class " << klass.name.str();
    return program->codes[0];
  }

  // The machine code of a kernel, made with lines or without.
  std::string machineCode(KernelCode code, bool hasLines) {
    OwningOpRef<ModuleOp> loops = ModuleOp::create(code.function.getLoc());
    auto grid =
        program->backend->emitKernel(code.function, *code.kernelClass, code.schedule, "kernel", 0, {target}, *loops);
    EXPECT_TRUE(succeeded(grid));
    if (hasLines)
      CodeParts(loops->lookupSymbol<func::FuncOp>("kernel")).setLines();
    auto made = program->backend->generate(*loops, {target}, CodeForm::Object, [](llvm::Module &) {});
    EXPECT_TRUE(succeeded(made));
    StringRef bytes(made->object.data(), made->object.size());
    auto object = llvm::object::ObjectFile::createObjectFile(llvm::MemoryBufferRef(bytes, "kernel"));
    std::string text;
    if (!object)
      return llvm::toString(object.takeError());
    for (const llvm::object::SectionRef &section : (*object)->sections())
      if (section.isText())
        text += llvm::cantFail(section.getContents()).str();
    return text;
  }

  std::unique_ptr<MLIRContext> context = createContext();
  OwningOpRef<ModuleOp> module;
  std::optional<Program> program;
  CompileOptions options;
  Target target;
};

TEST_P(AnalysisTest, AProductHasItsMultiplyAdds) {
  ASSERT_NO_FATAL_FAILURE(build(product));
  PreciseEstimate found = estimate(code(contractClass));
  double needed = 120.0 * 192 * 512 / double(target.lanes(32));
  EXPECT_GE(found.instructions.multiplyAdds, needed);
  EXPECT_LE(found.instructions.multiplyAdds, 1.1 * needed); // rows or columns beyond the end of a tile
  EXPECT_TRUE(found.isExact);
  // In cycles, not faster than the units and not far from them.
  EXPECT_GE(found.cycles, needed / target.fmaPerCycle);
  EXPECT_LE(found.cycles, 1.6 * needed / target.fmaPerCycle);
}

TEST_P(AnalysisTest, AConvolutionHasItsMultiplyAddsAndItsBytes) {
  ASSERT_NO_FATAL_FAILURE(build(convolution));
  PreciseEstimate found = estimate(code(contractClass));
  double needed = 28.0 * 28 * 64 * 32 * 9 / double(target.lanes(32));
  EXPECT_GE(found.instructions.multiplyAdds, needed);
  EXPECT_LE(found.instructions.multiplyAdds, 1.1 * needed);
  // The last level holds all: what comes into it is what there is.
  double bytes = 4.0 * (30 * 30 * 32 + 64 * 32 * 9 + 28 * 28 * 64);
  EXPECT_NEAR(found.levels.back().filled(), bytes, 0.1 * bytes);
  EXPECT_GE(found.levels[0].filled(), found.levels[1].filled());
}

TEST_P(AnalysisTest, EveryLoopOfTheCodeIsKnown) {
  for (const char *text : {product, convolution, others}) {
    ASSERT_NO_FATAL_FAILURE(build(text));
    for (KernelCode &code : program->codes) {
      SCOPED_TRACE(code.symbol);
      PreciseEstimate found = estimate(code);
      EXPECT_EQ(found.unknownLoops, 0u);
      EXPECT_GT(found.instructions.all(), 0);
    }
  }
}

TEST_P(AnalysisTest, LinesDoNotChangeCode) {
  for (const char *text : {product, convolution, others}) {
    ASSERT_NO_FATAL_FAILURE(build(text));
    for (KernelCode &code : program->codes)
      EXPECT_EQ(machineCode(code, true), machineCode(code, false)) << code.symbol;
  }
}

// Of any schedule, not only of those that are chosen.
TEST_P(AnalysisTest, SampledSchedulesAreAnalysed) {
  unsigned seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  ASSERT_NO_FATAL_FAILURE(build(convolution));
  KernelCode kernel = code(contractClass);
  double needed = 28.0 * 28 * 64 * 32 * 9 / double(target.lanes(32));
  const Family &family = kernel.kernelClass->family;
  std::unique_ptr<Space> space = family.spaceOf(anchorOf(kernel.function), target);
  BlockTimer timer(target);
  constexpr size_t wanted = 12;
  size_t analysed = 0;
  int64_t panel = family.panelWidth(kernel.schedule);
  for (const Schedule &schedule : sampleSchedules(*space, 4000, seed)) {
    // The weights have their panels.
    if (family.panelWidth(schedule) != panel || analysed == wanted)
      continue;
    ++analysed;
    auto found = analyze(*program->backend, kernel.function, *kernel.kernelClass, schedule, target, timer);
    ASSERT_TRUE(succeeded(found));
    EXPECT_EQ(found->unknownLoops, 0u);
    EXPECT_EQ(found->copiedLoops, 0u);
    EXPECT_GE(found->instructions.multiplyAdds, needed);
    EXPECT_LE(found->instructions.multiplyAdds, 2 * needed); // one column in four may be none
  }
  EXPECT_GT(analysed, 0u);
}

// What is recorded are the instructions that an assembly file has.
TEST_P(AnalysisTest, RecordedCodeIsThatOfArtifacts) {
  for (const char *text : {product, convolution, others}) {
    ASSERT_NO_FATAL_FAILURE(build(text));
    for (KernelCode &code : program->codes) {
      auto emitted = [&] {
        OwningOpRef<ModuleOp> loops = ModuleOp::create(code.function->getLoc());
        EXPECT_TRUE(succeeded(program->backend->emitKernel(code.function, *code.kernelClass, code.schedule, "kernel", 0,
                                                           {target}, *loops)));
        return loops;
      };
      OwningOpRef<ModuleOp> loops = emitted();
      CodeParts parts(loops->lookupSymbol<func::FuncOp>("kernel"));
      parts.setLines();
      size_t recorded = 0;
      EXPECT_TRUE(succeeded(
          program->backend->lookAtModule(*loops, {target}, [&](llvm::Module &module, llvm::TargetMachine &machine) {
            for (const CodeBlock &block : recordCode(module, machine, parts).blocks)
              recorded += block.instructions.size();
          })));
      loops = emitted();
      auto assembly = program->backend->generate(*loops, {target}, CodeForm::Assembly, [](llvm::Module &) {});
      ASSERT_TRUE(succeeded(assembly));
      StringRef kernel = StringRef(assembly->text).split("\nkernel:").second.split("func_end").first;
      size_t printed = 0;
      SmallVector<StringRef> lines;
      kernel.split(lines, '\n');
      for (StringRef line : lines)
        if (StringRef word = line.trim();
            line.starts_with("\t") && !word.empty() && !llvm::is_contained(".#/", word[0]))
          printed += 1;
      EXPECT_EQ(recorded, printed) << code.symbol;
    }
  }
}

TEST_P(AnalysisTest, EqualBlocksAreAnalysedOnce) {
  ASSERT_NO_FATAL_FAILURE(build(convolution));
  const KernelCode &kernel = code(contractClass);
  BlockTimer timer(target);
  auto again = [&] {
    return analyze(*program->backend, kernel.function, *kernel.kernelClass, kernel.schedule, target, timer)->cycles;
  };
  double first = again();
  size_t analysed = timer.analysed();
  EXPECT_EQ(again(), first);
  EXPECT_EQ(timer.analysed(), analysed);
}

TEST_P(AnalysisTest, ASmallerTileIsSlower) {
  ASSERT_NO_FATAL_FAILURE(build(convolution));
  KernelCode kernel = code(contractClass);
  double chosen = score(estimate(kernel), target);
  kernel.schedule.set("tile_m", 1);
  EXPECT_GT(score(estimate(kernel), target), 1.2 * chosen);
}

INSTANTIATE_TEST_SUITE_P(Targets, AnalysisTest, testing::Values("neoverse-v1", "x86-64-v3"),
                         [](const auto &info) { return std::string(info.index == 0 ? "aarch64" : "x86_64"); });

} // namespace
} // namespace fathom
