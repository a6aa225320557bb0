// Dynamic dimensions: their names and ranges, and what options make of them.
#include "TestModel.h"

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

} // namespace
