// Where tensors lie, for programs written as text.
#include "compiler/package/MemoryPlan.h"

#include "compiler/driver/Compilation.h"
#include "compiler/driver/DefaultPasses.h"
#include "compiler/graph/SizeMath.h"
#include "mlir/Parser/Parser.h"
#include <gtest/gtest.h>

using namespace mlir;

namespace fathom {
namespace {

class MemoryPlanTest : public testing::Test {
protected:
  void plan(const std::string &text) {
    module = parseSourceString<ModuleOp>(text, ParserConfig(context.get()));
    ASSERT_TRUE(module);
    auto target = parseTarget("neoverse-n1");
    ASSERT_TRUE(bool(target));
    options.target = *target;
    auto compilation = Compilation::begin(options, module->getLoc());
    ASSERT_TRUE(succeeded(compilation));
    ASSERT_TRUE(succeeded((*compilation)->run(*module, kernelPasses())));
    program = (*compilation)->program;
    memory = planMemory(program);
  }
  // The result of the kernel of this name, and where it lies.
  Value result(StringRef name) {
    Value found;
    program.main.walk([&](func::CallOp call) {
      if (program.kernels[call->getAttrOfType<IntegerAttr>("graph.kernel").getInt()].name == name)
        found = call.getResult(0);
    });
    return found;
  }
  Place place(StringRef name) { return memory.places.lookup(result(name)); }
  int64_t offset(StringRef name) {
    AffineExpr offset = memory.offsets.lookup(result(name));
    return offset ? graph::size::evaluate(offset, {}).value_or(-1) : 0;
  }

  std::unique_ptr<MLIRContext> context = createContext();
  OwningOpRef<ModuleOp> module;
  CompileOptions options;
  Program program;
  MemoryPlan memory;
};

// a and b lie in ab, which lies in abc with c; x is not in the arena.
TEST_F(MemoryPlanTest, PiecesLieInTheirWhole) {
  plan(R"(func.func @main(%x: tensor<3x16xf32>) -> tensor<3x1xf32> {
    %axes = graph.Constant dense<1> : tensor<1xi64> as tensor<1xi64>
    %a = graph.Exp(%x) {graph.name = "a"} : (tensor<3x16xf32>) -> tensor<3x16xf32>
    %b = graph.Neg(%x) {graph.name = "b"} : (tensor<3x16xf32>) -> tensor<3x16xf32>
    %ab = graph.Concat(%a, %b) {axis = 1, graph.name = "ab"} : (tensor<3x16xf32>, tensor<3x16xf32>) -> tensor<3x32xf32>
    %t = graph.Tanh(%ab) {graph.name = "t"} : (tensor<3x32xf32>) -> tensor<3x32xf32>
    %abc = graph.Concat(%ab, %t) {axis = 1, graph.name = "abc"} : (tensor<3x32xf32>, tensor<3x32xf32>) -> tensor<3x64xf32>
    %y = graph.ReduceMax(%abc, %axes) {keepdims = 1 : i64, graph.name = "y"} : (tensor<3x64xf32>, tensor<1xi64>) -> tensor<3x1xf32>
    return %y : tensor<3x1xf32> })");
  EXPECT_EQ(memory.fixedBytes, 3 * 64 * 4);
  for (StringRef name : {"a", "b", "t"}) {
    EXPECT_EQ(place(name).kind, Place::Fixed);
    EXPECT_EQ(place(name).at, 0);
  }
  EXPECT_EQ(offset("a"), 0);
  EXPECT_EQ(offset("b"), 16 * 4);
  EXPECT_EQ(offset("t"), 32 * 4);
}

TEST_F(MemoryPlanTest, PiecesOfAnOutputAreWrittenThere) {
  plan(R"(func.func @main(%x: tensor<2x4xf32>) -> tensor<4x4xf32> {
    %a = graph.Exp(%x) {graph.name = "a"} : (tensor<2x4xf32>) -> tensor<2x4xf32>
    %b = graph.Neg(%x) {graph.name = "b"} : (tensor<2x4xf32>) -> tensor<2x4xf32>
    %c = graph.Concat(%a, %b) {axis = 0, graph.name = "c"} : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<4x4xf32>
    return %c : tensor<4x4xf32> })");
  EXPECT_EQ(memory.fixedBytes, 0);
  EXPECT_EQ(place("b").kind, Place::Output);
  EXPECT_EQ(offset("b"), 2 * 4 * 4);
}

// The piece `a` is read after the last use of the whole: nothing else may lie there before.
TEST_F(MemoryPlanTest, AWholeLivesAsLongAsItsPieces) {
  plan(R"(func.func @main(%x: tensor<3x16xf32>) -> tensor<3x16xf32> {
    %axes = graph.Constant dense<1> : tensor<1xi64> as tensor<1xi64>
    %a = graph.Exp(%x) {graph.name = "a"} : (tensor<3x16xf32>) -> tensor<3x16xf32>
    %b = graph.Neg(%x) {graph.name = "b"} : (tensor<3x16xf32>) -> tensor<3x16xf32>
    %c = graph.Concat(%a, %b) {axis = 1, graph.name = "c"} : (tensor<3x16xf32>, tensor<3x16xf32>) -> tensor<3x32xf32>
    %m = graph.ReduceMax(%c, %axes) {keepdims = 1 : i64, graph.name = "m"} : (tensor<3x32xf32>, tensor<1xi64>) -> tensor<3x1xf32>
    %n = graph.ReduceMax(%m, %axes) {keepdims = 1 : i64, graph.name = "n"} : (tensor<3x1xf32>, tensor<1xi64>) -> tensor<3x1xf32>
    %y = graph.Add(%a, %n) {graph.name = "y"} : (tensor<3x16xf32>, tensor<3x1xf32>) -> tensor<3x16xf32>
    return %y : tensor<3x16xf32> })");
  EXPECT_EQ(offset("b"), 16 * 4);
  EXPECT_GE(place("m").at, 3 * 32 * 4);
  EXPECT_GE(place("n").at, 3 * 32 * 4);
}

// Kernels of a machine with a memory of its own; otherwise a CPU's.
class ElsewhereBackend final : public Backend {
public:
  StringRef name() const override { return "elsewhere"; }
  ArrayRef<const KernelClass *> kernelClasses() const override { return cpu.kernelClasses(); }
  const KernelClass *classOf(Operation *anchor) const override { return cpu.classOf(anchor); }
  const KernelClass *classOf(func::FuncOp kernel) const override { return cpu.classOf(kernel); }
  std::optional<AnchorLayouts> layoutsOf(Operation *anchor, const Target &target) const override {
    return cpu.layoutsOf(anchor, target);
  }
  void registerDialects(DialectRegistry &) const override {}
  FailureOr<Grid> emitKernel(func::FuncOp, const KernelClass &, const Schedule &, StringRef, unsigned,
                             const CodegenOptions &, ModuleOp) const override {
    return failure();
  }
  FailureOr<MachineCode> generate(ModuleOp, const CodegenOptions &, CodeForm,
                                  llvm::function_ref<void(llvm::Module &)>) const override {
    return failure();
  }
  MemorySpace memorySpace() const override { return MemorySpace(1); }

private:
  const Backend &cpu = backendOf(Target());
};

TEST_F(MemoryPlanTest, TensorsLiveWhereTheBackEndHasThem) {
  plan(R"(func.func @main(%x: tensor<2x4xf32>) -> tensor<2x1xf32> {
    %axes = graph.Constant dense<1> : tensor<1xi64> as tensor<1xi64>
    %a = graph.Exp(%x) {graph.name = "a"} : (tensor<2x4xf32>) -> tensor<2x4xf32>
    %b = graph.ReduceMax(%a, %axes) {keepdims = 1 : i64, graph.name = "b"} : (tensor<2x4xf32>, tensor<1xi64>) -> tensor<2x1xf32>
    return %b : tensor<2x1xf32> })");
  EXPECT_EQ(memory.space, MemorySpace::Host);
  EXPECT_EQ(place("b").space, MemorySpace::Host);
  ElsewhereBackend elsewhere;
  program.backend = &elsewhere;
  memory = planMemory(program);
  EXPECT_EQ(memory.space, MemorySpace(1));
  EXPECT_EQ(place("b").space, MemorySpace(1));
}

} // namespace
} // namespace fathom
