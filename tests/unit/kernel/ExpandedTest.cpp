// What code generation expands into polynomials is what costs take for that: both sides are asked for every op.
#include "compiler/codegen/common/MathLowering.h"
#include "compiler/driver/Compilation.h"
#include "compiler/driver/EmitLoops.h"
#include "compiler/graph/Graph.h"
#include "compiler/kernel/VectorWork.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace fathom::graph;

namespace fathom {
namespace {

class ExpandedTest : public testing::Test {
protected:
  // A model of this op alone, with operands of floats as far as it takes them. Null for ops on integers and bools.
  OwningOpRef<ModuleOp> modelOf(RegisteredOperationName name) {
    static const llvm::StringSet<> onIntegers = {"And",       "Or",         "Xor",        "Not",     "BitwiseAnd",
                                                 "BitwiseOr", "BitwiseXor", "BitwiseNot", "BitShift"};
    if (onIntegers.contains(name.stripDialect()))
      return {};
    OpBuilder b(context.get());
    Location loc = b.getUnknownLoc();
    auto tensor = [](Type element) { return RankedTensorType::get({1024}, element); };
    unsigned count = name.hasTrait<OpTrait::OneOperand>() ? 1 : name.hasTrait<OpTrait::NOperands<2>::Impl>() ? 2 : 3;
    SmallVector<Type> types(count, tensor(b.getF32Type()));
    StringRef op = name.stripDialect();
    if (op == "Where")
      types[0] = tensor(b.getI1Type());
    if (op == "QuantizeLinear")
      types[2] = tensor(b.getIntegerType(8, /*isSigned=*/false));
    if (op == "DequantizeLinear")
      types[0] = types[2] = tensor(b.getIntegerType(8, /*isSigned=*/false));
    if (op == "Clip")
      types[1] = types[2] = RankedTensorType::get({}, b.getF32Type());

    OwningOpRef<ModuleOp> module = ModuleOp::create(loc);
    b.setInsertionPointToEnd(module->getBody());
    auto main = func::FuncOp::create(b, loc, "main", b.getFunctionType(types, {}));
    b.setInsertionPointToStart(main.addEntryBlock());
    OperationState state(loc, name);
    state.addOperands(main.getArguments());
    if (op == "Cast" || op == "BitCast")
      state.addAttribute("to", TypeAttr::get(op == "Cast" ? Type(b.getF64Type()) : b.getI32Type()));
    state.addTypes(types[0]);
    Operation *made = b.create(state);
    EXPECT_TRUE(succeeded(inferResultTypes(made))) << op.str();
    func::ReturnOp::create(b, loc, made->getResults());
    main.setFunctionType(b.getFunctionType(types, made->getResultTypes()));
    EXPECT_TRUE(succeeded(verify(*module))) << op.str();
    return module;
  }

  static llvm::StringMap<unsigned> functionsIn(ModuleOp module) {
    llvm::StringMap<unsigned> counts;
    module.walk([&](Operation *op) {
      if (isa<math::MathDialect>(op->getDialect()) || isa<arith::RemFOp>(op))
        ++counts[op->getName().getStringRef()];
    });
    return counts;
  }

  bool isExpandedByCode(ModuleOp module) {
    CompileOptions options;
    options.target = llvm::cantFail(parseTarget("neoverse-v1"));
    auto compilation = Compilation::begin(options, module.getLoc());
    EXPECT_TRUE(succeeded(compilation) && succeeded((*compilation)->run(module, "emit-loops")));
    auto before = functionsIn(module);
    RewritePatternSet patterns(context.get());
    populateMathLowering(patterns, MathOptions());
    EXPECT_TRUE(succeeded(applyPatternsGreedily(module, std::move(patterns))));
    auto after = functionsIn(module);
    return llvm::any_of(before, [&](auto &entry) { return after.lookup(entry.first()) < entry.second; });
  }

  std::unique_ptr<MLIRContext> context = createContext();
};

TEST_F(ExpandedTest, EveryElementwiseOp) {
  registerEmitLoopsPass();
  unsigned count = 0, expanded = 0;
  for (RegisteredOperationName name : context->getRegisteredOperationsByDialect("graph")) {
    OwningOpRef<ModuleOp> module = name.hasTrait<Elementwise>() ? modelOf(name) : OwningOpRef<ModuleOp>();
    if (!module)
      continue;
    auto main = *module->getOps<func::FuncOp>().begin();
    double instructions = opWork(&main.front().front()).instructions;
    bool isExpanded = isExpandedByCode(*module);
    EXPECT_EQ(instructions >= 32, isExpanded) << name.getStringRef().str() << " costs " << instructions;
    ++count, expanded += isExpanded;
  }
  // It would be a pity if nothing had been asked.
  EXPECT_GE(count, 50u);
  EXPECT_GE(expanded, 25u);
}

} // namespace
} // namespace fathom
