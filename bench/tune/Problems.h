// Kernels to judge schedules of, of several families.
#pragma once

#include "compiler/driver/Compilation.h"
#include "compiler/driver/DefaultPasses.h"
#include "compiler/tune/task/KernelTask.h"
#include "mlir/Parser/Parser.h"

namespace fathom::tune {

struct Problem {
  const char *name, *text;
};

inline constexpr Problem problems[] = {
    {"convolution", R"(
func.func @main(%x: tensor<1x64x28x28xf32>) -> tensor<1x64x28x28xf32> {
  %w = graph.Constant dense<0.1> : tensor<64x64x3x3xf32> as tensor<64x64x3x3xf32>
  %none = graph.None
  %c = graph.Conv(%x, %w, %none) {pads = array<i64: 1, 1, 1, 1>, graph.name = "c"} : (tensor<1x64x28x28xf32>, tensor<64x64x3x3xf32>, none) -> tensor<1x64x28x28xf32>
  %y = graph.Relu(%c) {graph.name = "y"} : (tensor<1x64x28x28xf32>) -> tensor<1x64x28x28xf32>
  return %y : tensor<1x64x28x28xf32>
})"},
    {"depthwise", R"(
func.func @main(%x: tensor<1x96x28x28xf32>) -> tensor<1x96x28x28xf32> {
  %w = graph.Constant dense<0.1> : tensor<96x1x3x3xf32> as tensor<96x1x3x3xf32>
  %none = graph.None
  %c = graph.Conv(%x, %w, %none) {pads = array<i64: 1, 1, 1, 1>, group = 96 : i64, graph.name = "c"} : (tensor<1x96x28x28xf32>, tensor<96x1x3x3xf32>, none) -> tensor<1x96x28x28xf32>
  return %c : tensor<1x96x28x28xf32>
})"},
    {"product", R"(
func.func @main(%x: tensor<128x768xf32>) -> tensor<128x768xf32> {
  %w = graph.Constant dense<0.1> : tensor<768x768xf32> as tensor<768x768xf32>
  %c = graph.MatMul(%x, %w) {graph.name = "c"} : (tensor<128x768xf32>, tensor<768x768xf32>) -> tensor<128x768xf32>
  return %c : tensor<128x768xf32>
})"},
    {"grouped", R"(
func.func @main(%x: tensor<1x64x32x32xf32>) -> tensor<1x64x32x32xf32> {
  %w = graph.Constant dense<0.1> : tensor<64x8x3x3xf32> as tensor<64x8x3x3xf32>
  %none = graph.None
  %c = graph.Conv(%x, %w, %none) {pads = array<i64: 1, 1, 1, 1>, group = 8 : i64, graph.name = "c"} : (tensor<1x64x32x32xf32>, tensor<64x8x3x3xf32>, none) -> tensor<1x64x32x32xf32>
  return %c : tensor<1x64x32x32xf32>
})"},
    {"rows", R"(
func.func @main(%x: tensor<256x1000xf32>) -> tensor<256x1000xf32> {
  %c = graph.Softmax(%x) {axis = -1 : i64, graph.name = "c"} : (tensor<256x1000xf32>) -> tensor<256x1000xf32>
  return %c : tensor<256x1000xf32>
})"},
    {"prime", R"(
func.func @main(%x: tensor<127x509xf32>) -> tensor<127x251xf32> {
  %w = graph.Constant dense<0.1> : tensor<509x251xf32> as tensor<509x251xf32>
  %c = graph.MatMul(%x, %w) {graph.name = "c"} : (tensor<127x509xf32>, tensor<509x251xf32>) -> tensor<127x251xf32>
  return %c : tensor<127x251xf32>
})"},
};

// A problem's kernel for the machine that is named.
class ProblemKernel {
public:
  ProblemKernel(const Problem &problem, llvm::StringRef machine) {
    options.target = llvm::cantFail(parseTarget(machine));
    module = mlir::parseSourceString<mlir::ModuleOp>(problem.text, mlir::ParserConfig(context.get()));
    auto compilation = Compilation::begin(options, module->getLoc());
    if (failed(compilation) || failed((*compilation)->run(*module, "canonicalize-ops, " + kernelPasses().str())))
      llvm::report_fatal_error("the problem cannot be planned");
    for (TaskUse &use : tasksOf((*compilation)->program, {options.target}))
      if (anchorOf(mlir::cast<mlir::func::FuncOp>(use.task->site()->getParentOp())))
        task = std::move(use.task);
  }

private:
  std::unique_ptr<mlir::MLIRContext> context = createContext();
  CompileOptions options;
  mlir::OwningOpRef<mlir::ModuleOp> module;

public:
  std::unique_ptr<KernelTask> task;
};

} // namespace fathom::tune
