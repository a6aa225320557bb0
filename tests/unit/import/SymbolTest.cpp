// Dynamic dimensions: their names and ranges, and what options make of them.
#include "TestModel.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"

using namespace fathom;
using namespace fathom::test;

namespace {
class SymbolTest : public ImportTest {
protected:
  static TestModel model() {
    TestModel model;
    auto &x = model.input("x", {-1, -1, 4});
    x.mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim(0)->set_dim_param("batch");
    auto &z = model.input("z", {-1, 1, 4});
    z.mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim(0)->set_dim_param("batch");
    model.output("y");
    model.node("Add", {"x", "z"}, {"y"});
    return model;
  }
};

TEST_F(SymbolTest, NamesThem) {
  import(model());
  ASSERT_TRUE(module);
  auto symbols = graph::getSymbols(*module);
  ASSERT_EQ(symbols.size(), 2u);
  EXPECT_EQ(symbols[0].name, "batch");
  EXPECT_EQ(symbols[0].min, 1);
  EXPECT_EQ(symbols[0].max, INT32_MAX);
  EXPECT_EQ(symbols[1].name, "x.1");
}

TEST_F(SymbolTest, FixesThem) {
  ImportOptions options;
  options.dims["batch"] = {2, 2};
  options.dims["x.1"] = {3, 3};
  import(model(), "", options);
  EXPECT_EQ(resultType(), "tensor<2x3x4xf32>");
}

TEST_F(SymbolTest, BoundsThem) {
  ImportOptions options;
  options.dims["x.0"] = {1, 8}; // the same as "batch"
  import(model(), "", options);
  ASSERT_TRUE(module);
  EXPECT_EQ(graph::getSymbols(*module)[0].max, 8);
}

TEST_F(SymbolTest, RefusesBadOptions) {
  ImportOptions unknown;
  unknown.dims["nothing"] = {1, 8};
  import(model(), "", unknown);
  expectFirst(ErrorCode::BadInput, "'nothing'");
  ImportOptions reversed;
  reversed.dims["batch"] = {8, 1};
  import(model(), "", reversed);
  expectFirst(ErrorCode::BadInput, "range");
  ImportOptions two;
  two.dims["batch"] = {1, 8};
  two.dims["z.0"] = {1, 9};
  import(model(), "", two);
  expectFirst(ErrorCode::BadInput, "two ranges");
}

// Two inputs of one dynamic dimension each, which other nodes may follow.
static TestModel twoSizes() {
  TestModel model;
  model.input("x", {-1, 4});
  model.input("z", {-1, 4});
  model.output("y");
  model.node("Add", {"x", "z"}, {"y"});
  return model;
}

static unsigned countExpands(mlir::ModuleOp module) {
  unsigned count = 0;
  module.walk([&](graph::ExpandOp) { ++count; });
  return count;
}

TEST_F(SymbolTest, ExpandsWhatMayBeOne) {
  import(twoSizes());
  ASSERT_TRUE(module);
  // Which of the two is 1 shows at run time, so both may change.
  EXPECT_EQ(countExpands(*module), 2u);
  EXPECT_EQ(graph::getSymbols(*module).size(), 2u);
}

TEST_F(SymbolTest, ExpandsToWhatCannotBeOne) {
  ImportOptions options;
  options.dims["x.0"] = {2, 8};
  import(twoSizes(), "", options);
  ASSERT_TRUE(module);
  EXPECT_EQ(countExpands(*module), 1u);
  EXPECT_EQ(graph::getSymbols(*module).size(), 2u);
}

TEST_F(SymbolTest, TakesWhatCannotBeOneToBeTheSame) {
  ImportOptions options;
  options.dims["x.0"] = {2, 8};
  options.dims["z.0"] = {2, 8};
  import(twoSizes(), "", options);
  ASSERT_TRUE(module);
  EXPECT_EQ(countExpands(*module), 0u);
  EXPECT_EQ(graph::getSymbols(*module).size(), 1u);
}

TEST_F(SymbolTest, ForgetsExpansionsBetweenEqualSizes) {
  TestModel model = twoSizes();
  model.output("joined");
  auto &axis = *model.node("Concat", {"x", "z"}, {"joined"}).add_attribute();
  axis.set_name("axis");
  axis.set_type(onnx::AttributeProto::INT);
  axis.set_i(1);
  import(model);
  ASSERT_TRUE(module);
  // Joining them needs equal sizes, so they are one symbol, and the sum has that size.
  ASSERT_EQ(graph::getSymbols(*module).size(), 1u);
  module->walk([&](graph::ExpandOp op) { EXPECT_EQ(op.getInput().getType(), op.getType()); });
}

TEST_F(SymbolTest, ComputesSizesThatMayBeZero) {
  ImportOptions options;
  options.dims["x.0"] = {0, 8};
  import(twoSizes(), "", options);
  ASSERT_TRUE(module);
  auto symbols = graph::getSymbols(*module);
  ASSERT_EQ(symbols.size(), 3u);
  EXPECT_TRUE(symbols[2].isComputed);
}

// Every op may add a symbol or narrow one: neither copies what the others are.
TEST_F(SymbolTest, ListsShareWhatIsTheSame) {
  graph::SymbolList list;
  for (int i = 0; i < 1000; ++i)
    list.push_back(graph::Symbol{"s" + std::to_string(i), i, i + 1});
  ASSERT_EQ(list.size(), 1000u);
  for (auto [i, symbol] : llvm::enumerate(list))
    EXPECT_EQ(symbol.name, "s" + std::to_string(i));
  graph::SymbolList longer = list, narrowed = list;
  longer.push_back(graph::Symbol{"more"});
  narrowed.set(500, graph::Symbol{"other", 7, 8});
  EXPECT_EQ(list.size(), 1000u);
  EXPECT_EQ(list[500].name, "s500");
  EXPECT_EQ(narrowed[500].min, 7);
  EXPECT_EQ(narrowed[499].name, "s499");
  EXPECT_EQ(longer[1000].name, "more");
  auto changed = [&](const graph::SymbolList &other) {
    unsigned count = other.getBlocks().size() - list.getBlocks().size();
    for (auto [a, b] : llvm::zip(list.getBlocks(), other.getBlocks()))
      count += a != b;
    return count;
  };
  EXPECT_EQ(changed(longer), 1u);
  EXPECT_EQ(changed(narrowed), 1u);
}

TEST_F(SymbolTest, AttributesShareWhatIsTheSame) {
  import(model());
  ASSERT_TRUE(module);
  auto attribute = [&] { return (*module)->getAttrOfType<mlir::ArrayAttr>(graph::symbolsAttrName); };
  EXPECT_TRUE(llvm::isa<mlir::DictionaryAttr>(attribute()[0]));
  for (int i = 0; i < 500; ++i) {
    mlir::ArrayAttr before = attribute();
    EXPECT_EQ(graph::addComputedSymbol(*module, "made" + std::to_string(i)),
              mlir::getAffineSymbolExpr(2 + i, &context));
    unsigned same = 0;
    for (auto [a, b] : llvm::zip(before, attribute()))
      same += a == b;
    // The first list of lists has nothing of the list before.
    if (llvm::isa<mlir::DictionaryAttr>(before[0]) == llvm::isa<mlir::DictionaryAttr>(attribute()[0]))
      EXPECT_GE(same + 1, before.size());
    // Of 512 symbols, 16 lists of 32.
    EXPECT_LE(attribute().size(), 32u);
  }
  graph::SymbolList symbols = graph::getSymbols(*module);
  ASSERT_EQ(symbols.size(), 502u);
  EXPECT_EQ(symbols[0].name, "batch");
  EXPECT_EQ(symbols[501].name, "made499");
  EXPECT_TRUE(symbols[501].isComputed);
  EXPECT_TRUE(succeeded(mlir::verify(*module)));
  // As text and back.
  std::string text;
  llvm::raw_string_ostream(text) << **module;
  auto again = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  ASSERT_TRUE(again);
  EXPECT_EQ(graph::getSymbols(*again).size(), 502u);
  EXPECT_EQ((*again)->getAttr(graph::symbolsAttrName), attribute());
}

} // namespace
