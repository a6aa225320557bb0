// Operations and bytes of kernels written as text.
#include "compiler/explain/KernelCost.h"

#include "compiler/driver/Compile.h"
#include "compiler/graph/SizeMath.h"
#include "mlir/Parser/Parser.h"
#include <gtest/gtest.h>

using namespace mlir;

namespace fathom {
namespace {

class KernelCostTest : public testing::Test {
protected:
  // The cost of a function with this text; `values` are those of its symbols.
  std::pair<int64_t, int64_t> cost(const std::string &text, ArrayRef<int64_t> values = {}) {
    module = parseSourceString<ModuleOp>(text, ParserConfig(context.get()));
    EXPECT_TRUE(module);
    KernelCost cost = costOf(*module->getOps<func::FuncOp>().begin());
    return {graph::size::evaluate(cost.flop, values).value_or(-1),
            graph::size::evaluate(cost.bytes, values).value_or(-1)};
  }

  std::unique_ptr<MLIRContext> context = createContext();
  OwningOpRef<ModuleOp> module;
};

using Pair = std::pair<int64_t, int64_t>;

TEST_F(KernelCostTest, MultiplyAddsAreTwoOperations) {
  EXPECT_EQ(cost(R"(func.func @k(%a: tensor<3x5xf32>, %b: tensor<5x7xf32>) -> tensor<3x7xf32> {
    %0 = graph.MatMul(%a, %b) : (tensor<3x5xf32>, tensor<5x7xf32>) -> tensor<3x7xf32>
    return %0 : tensor<3x7xf32> })"),
            Pair(2 * 3 * 5 * 7, 4 * (15 + 35 + 21)));
}

TEST_F(KernelCostTest, FusedOpsMoveNoBytes) {
  EXPECT_EQ(cost(R"(func.func @k(%a: tensor<3x5xf32>, %b: tensor<5x7xf32>) -> tensor<3x7xf32> {
    %0 = graph.MatMul(%a, %b) : (tensor<3x5xf32>, tensor<5x7xf32>) -> tensor<3x7xf32>
    %1 = graph.Relu(%0) : (tensor<3x7xf32>) -> tensor<3x7xf32>
    return %1 : tensor<3x7xf32> })"),
            Pair(2 * 3 * 5 * 7 + 21, 4 * (15 + 35 + 21)));
}

TEST_F(KernelCostTest, GroupsOfAConvolutionSeeFewerChannels) {
  EXPECT_EQ(cost(R"(func.func @k(%x: tensor<2x4x8x8xf32>, %w: tensor<6x2x3x3xf32>) -> tensor<2x6x6x6xf32> {
    %none = graph.None
    %0 = graph.Conv(%x, %w, %none) {group = 2 : i64} : (tensor<2x4x8x8xf32>, tensor<6x2x3x3xf32>, none) -> tensor<2x6x6x6xf32>
    return %0 : tensor<2x6x6x6xf32> })"),
            Pair(2 * (2 * 6 * 36) * (2 * 9), 4 * (2 * 4 * 64 + 6 * 2 * 9 + 2 * 6 * 36)));
}

TEST_F(KernelCostTest, IntegersAndMovementAreNoOperations) {
  EXPECT_EQ(cost(R"(func.func @k(%a: tensor<3x5xi64>) -> tensor<5x3xf32> {
    %0 = graph.Add(%a, %a) : (tensor<3x5xi64>, tensor<3x5xi64>) -> tensor<3x5xi64>
    %1 = graph.Cast(%0) {to = f32} : (tensor<3x5xi64>) -> tensor<3x5xf32>
    %2 = graph.Transpose(%1) : (tensor<3x5xf32>) -> tensor<5x3xf32>
    return %2 : tensor<5x3xf32> })"),
            Pair(0, 15 * 8 + 15 * 4));
}

TEST_F(KernelCostTest, ASelectionReadsOnlyWhatItSelects) {
  EXPECT_EQ(cost(R"(func.func @k(%table: tensor<30000x64xf32>, %i: tensor<7xi64>) -> tensor<7x64xf32> {
    %0 = graph.Gather(%table, %i) : (tensor<30000x64xf32>, tensor<7xi64>) -> tensor<7x64xf32>
    return %0 : tensor<7x64xf32> })"),
            Pair(0, 7 * 64 * 4 + 7 * 8 + 7 * 64 * 4));
}

TEST_F(KernelCostTest, SymbolicSizesGiveExpressions) {
  std::string text = R"(#rows = #graph.enc<shape = ()[s0] -> (s0, 5)>
    #result = #graph.enc<shape = ()[s0] -> (s0)>
    module { func.func @k(%a: tensor<?x5xf32, #rows>) -> tensor<?xf32, #result> {
      %axes = graph.Constant dense<1> : tensor<1xi64> as tensor<1xi64>
      %0 = graph.ReduceSum(%a, %axes) {keepdims = 0 : i64} : (tensor<?x5xf32, #rows>, tensor<1xi64>) -> tensor<?xf32, #result>
      return %0 : tensor<?xf32, #result> } })";
  EXPECT_EQ(cost(text, {11}), Pair(55, 4 * (55 + 11)));
  EXPECT_EQ(cost(text, {1}), Pair(5, 4 * (5 + 1)));
}

} // namespace
} // namespace fathom
