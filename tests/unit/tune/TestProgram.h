// Programs written as text, for tests of tuning.
#pragma once

#include "compiler/driver/Compilation.h"
#include "compiler/driver/DefaultPasses.h"
#include "compiler/tune/task/KernelTask.h"
#include "mlir/Parser/Parser.h"
#include <cstdlib>
#include <gtest/gtest.h>

namespace fathom::tune {

// A program of kernels of many classes: a convolution with a ReLU, a depthwise one, a pooling, a product and a softmax.
inline constexpr const char *smallNetwork = R"(
func.func @main(%image: tensor<1x12x19x17xf32>) -> tensor<1x40xf32> {
  %w0 = graph.Constant dense<0.1> : tensor<24x12x3x3xf32> as tensor<24x12x3x3xf32>
  %w1 = graph.Constant dense<0.2> : tensor<24x1x3x3xf32> as tensor<24x1x3x3xf32>
  %w2 = graph.Constant dense<0.3> : tensor<24x40xf32> as tensor<24x40xf32>
  %none = graph.None
  %a = graph.Conv(%image, %w0, %none) {pads = array<i64: 1, 1, 1, 1>, graph.name = "a"} : (tensor<1x12x19x17xf32>, tensor<24x12x3x3xf32>, none) -> tensor<1x24x19x17xf32>
  %b = graph.Relu(%a) {graph.name = "b"} : (tensor<1x24x19x17xf32>) -> tensor<1x24x19x17xf32>
  %c = graph.Conv(%b, %w1, %none) {pads = array<i64: 1, 1, 1, 1>, group = 24 : i64, graph.name = "c"} : (tensor<1x24x19x17xf32>, tensor<24x1x3x3xf32>, none) -> tensor<1x24x19x17xf32>
  %d = graph.GlobalAveragePool(%c) {graph.name = "d"} : (tensor<1x24x19x17xf32>) -> tensor<1x24x1x1xf32>
  %e = graph.Flatten(%d) {axis = 1 : i64, graph.name = "e"} : (tensor<1x24x1x1xf32>) -> tensor<1x24xf32>
  %f = graph.MatMul(%e, %w2) {graph.name = "f"} : (tensor<1x24xf32>, tensor<24x40xf32>) -> tensor<1x40xf32>
  %g = graph.Softmax(%f) {axis = -1 : i64, graph.name = "g"} : (tensor<1x40xf32>) -> tensor<1x40xf32>
  return %g : tensor<1x40xf32>
})";

class ProgramTest : public testing::TestWithParam<const char *> {
protected:
  void build(const char *text, const char *machine) {
    auto parsed = parseTarget(machine);
    ASSERT_TRUE(bool(parsed)) << llvm::toString(parsed.takeError());
    target = *parsed;
    plan(text, std::nullopt);
  }
  // As a plan says, or without one by cost.
  void plan(const char *text, std::optional<Plan> given) {
    module = mlir::parseSourceString<mlir::ModuleOp>(text, mlir::ParserConfig(context.get()));
    ASSERT_TRUE(module);
    CompileOptions options;
    options.target = target;
    options.plan = std::move(given);
    auto compilation = Compilation::begin(options, module->getLoc());
    ASSERT_TRUE(succeeded(compilation));
    ASSERT_TRUE(succeeded((*compilation)->run(*module, "canonicalize-ops, " + kernelPasses().str())));
    program = std::move((*compilation)->program);
    uses = tasksOf(program, {target});
  }

  const KernelTask &task(llvm::StringRef name) const {
    for (const TaskUse &use : uses)
      if (use.task->name() == name)
        return *use.task;
    ADD_FAILURE() << "no kernel " << name.str();
    return *uses.front().task;
  }

  std::unique_ptr<mlir::MLIRContext> context = createContext();
  mlir::OwningOpRef<mlir::ModuleOp> module;
  Target target;
  Program program;
  std::vector<TaskUse> uses;
};

// Fresh in every run; FATHOM_TEST_SEED repeats one.
inline uint64_t testSeed() {
  const char *text = std::getenv("FATHOM_TEST_SEED");
  uint64_t seed = text ? std::strtoull(text, nullptr, 0) : std::random_device{}();
  std::printf("repeat with FATHOM_TEST_SEED=%llu\n", static_cast<unsigned long long>(seed));
  return seed;
}

// Of searches one in so many is run (FATHOM_TEST_PART), others with every seed, where not what they find matters but
// their code.
inline size_t testPart() {
  const char *text = std::getenv("FATHOM_TEST_PART");
  return text ? std::max<size_t>(1, std::strtoull(text, nullptr, 0)) : 1;
}

} // namespace fathom::tune
