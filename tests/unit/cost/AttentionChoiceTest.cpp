// One kernel or three: both happen, for the reasons that the estimates have.
#include "compiler/plan/AttentionChoice.h"
#include "compiler/driver/Compile.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/FormatVariadic.h"
#include <gtest/gtest.h>

using namespace mlir;

namespace fathom {
namespace {

class AttentionChoice : public testing::Test {
protected:
  std::unique_ptr<MLIRContext> context = createContext();
  OwningOpRef<ModuleOp> module;
  Target target = llvm::cantFail(parseTarget("neoverse-v1"));

  // 12 heads of 64.
  Attention attention(int64_t rows, int64_t keys) {
    module = parseSourceString<ModuleOp>(
        llvm::formatv(
            R"(func.func @main(%q: tensor<12x{0}x64xf32>, %k: tensor<12x64x{1}xf32>, %v: tensor<12x{1}x64xf32>) -> tensor<12x{0}x64xf32> {{
      %0 = graph.MatMul(%q, %k) : (tensor<12x{0}x64xf32>, tensor<12x64x{1}xf32>) -> tensor<12x{0}x{1}xf32>
      %1 = graph.Softmax(%0) {{axis = 2 : i64} : (tensor<12x{0}x{1}xf32>) -> tensor<12x{0}x{1}xf32>
      %2 = graph.MatMul(%1, %v) : (tensor<12x{0}x{1}xf32>, tensor<12x{1}x64xf32>) -> tensor<12x{0}x64xf32>
      return %2 : tensor<12x{0}x64xf32> })",
            rows, keys)
            .str(),
        ParserConfig(context.get()));
    func::FuncOp main = *module->getOps<func::FuncOp>().begin();
    return *attentionOf(main.getBody().front().getTerminator()->getOperand(0).getDefiningOp());
  }
  bool isFused(int64_t rows, int64_t keys) { return attentionCosts(attention(rows, keys), target).isFused(); }
};

TEST_F(AttentionChoice, ManyRowsAreOneKernel) {
  for (int64_t rows : {32, 64, 128, 197, 512}) {
    EXPECT_TRUE(isFused(rows, rows)) << rows;
    EXPECT_TRUE(isFused(rows, 512)) << rows;
  }
}

TEST_F(AttentionChoice, AFewRowsAreThree) {
  for (int64_t rows : {1, 4}) {
    EXPECT_FALSE(isFused(rows, rows)) << rows;
    EXPECT_FALSE(isFused(rows, 512)) << rows;
  }
}

// A machine on which scores that leave the caches are dearer gains more from one kernel.
TEST_F(AttentionChoice, MemoryThatIsSlowSpeaksForOneKernel) {
  Attention large = attention(2048, 2048);
  auto ratio = [&] {
    AttentionCosts costs = attentionCosts(large, target);
    return double(costs.fused) / double(costs.apart);
  };
  double before = ratio();
  target.memoryBytesPerCycle /= 4;
  EXPECT_LT(ratio(), before);
}

TEST_F(AttentionChoice, IsNotedAtItsParts) {
  Attention noted = attention(4, 4);
  EXPECT_TRUE(isWorthFusing(noted));
  noteCosts(noted, {.fused = 3, .apart = 2});
  EXPECT_FALSE(isWorthFusing(noted));
  EXPECT_EQ(notedCosts(noted.softmax)->fused, 3);
  EXPECT_EQ(notedCosts(noted.scores)->apart, 2);
  noteCosts(noted, {.fused = 2, .apart = 2});
  EXPECT_TRUE(isWorthFusing(noted));
}

} // namespace
} // namespace fathom
