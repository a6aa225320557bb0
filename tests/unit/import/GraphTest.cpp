// The structure of graphs: names, order, operator sets, limits.
#include "TestModel.h"

using namespace fathom;
using namespace fathom::test;

namespace {
using GraphTest = ImportTest;

TEST_F(GraphTest, NamesOpsAndLocations) {
  TestModel model;
  model.input("x", {2});
  model.output("z");
  model.node("Relu", {"x"}, {"y"}).set_name("first");
  model.node("Neg", {"y"}, {"z"});
  import(model);
  ASSERT_EQ(ops(), "Relu Neg");
  EXPECT_EQ(nodeName(op("Relu")->getLoc()), "first");
  EXPECT_EQ(nodeName(op("Neg")->getLoc()), "Neg_z");
  EXPECT_EQ(op("Relu")->getAttrOfType<mlir::StringAttr>("graph.name").str(), "y");
  auto main = (*module).lookupSymbol<mlir::func::FuncOp>("main");
  EXPECT_EQ(main.getArgAttrOfType<mlir::StringAttr>(0, "graph.name").str(), "x");
  EXPECT_EQ(main.getResultAttrOfType<mlir::StringAttr>(0, "graph.name").str(), "z");
}

TEST_F(GraphTest, SortsNodes) {
  TestModel model;
  model.input("x", {2});
  model.output("z");
  model.node("Neg", {"y"}, {"z"});
  model.node("Relu", {"x"}, {"y"});
  import(model);
  EXPECT_EQ(ops(), "Relu Neg");
}

TEST_F(GraphTest, RefusesCycleAndNamesIt) {
  TestModel model;
  model.input("x", {2});
  model.output("d");
  model.node("Add", {"x", "c"}, {"a"}).set_name("A");
  model.node("Relu", {"a"}, {"b"}).set_name("B");
  model.node("Neg", {"b"}, {"c"}).set_name("C");
  model.node("Neg", {"c"}, {"d"}).set_name("D");
  import(model);
  expectFirst(ErrorCode::BadGraph, "cycle");
  for (const char *name : {"A", "B", "C"})
    EXPECT_NE(errors.front().find(name), std::string::npos) << errors.front();
  EXPECT_EQ(errors.front().find("D "), std::string::npos) << errors.front();
}

TEST_F(GraphTest, RefusesSelfLoop) {
  TestModel model;
  model.input("x", {2});
  model.output("y");
  model.node("Add", {"x", "y"}, {"y"});
  expectError(model, ErrorCode::BadGraph, "cycle");
}

TEST_F(GraphTest, RefusesDuplicateNames) {
  TestModel nodes;
  nodes.input("x", {2});
  nodes.output("y");
  nodes.node("Relu", {"x"}, {"y"});
  nodes.node("Neg", {"x"}, {"y"});
  expectError(nodes, ErrorCode::BadGraph, "'y' is defined twice");

  TestModel input;
  input.input("x", {2});
  input.output("x");
  input.node("Relu", {"x"}, {"x"});
  expectError(input, ErrorCode::BadGraph, "'x' is defined twice");

  TestModel inputs;
  inputs.input("x", {2});
  inputs.input("x", {3});
  inputs.output("x");
  expectError(inputs, ErrorCode::BadGraph, "'x' is empty or used twice");

  TestModel tensors;
  tensors.floats("w", {1}, {1});
  tensors.floats("w", {1}, {1});
  tensors.output("w");
  expectError(tensors, ErrorCode::BadGraph, "'w' is empty or used twice");

  TestModel outputs;
  outputs.input("x", {2});
  outputs.output("x");
  outputs.output("x");
  expectError(outputs, ErrorCode::BadGraph, "'x' is empty or used twice");
}

TEST_F(GraphTest, RefusesMissingNames) {
  TestModel input;
  input.input("x", {2});
  input.output("y");
  input.node("Add", {"x", "nowhere"}, {"y"}).set_name("sum");
  import(input);
  expectFirst(ErrorCode::BadGraph, "'nowhere'");

  TestModel output;
  output.input("x", {2});
  output.output("y");
  expectError(output, ErrorCode::BadGraph, "output 'y'");

  TestModel none;
  none.input("x", {2});
  expectError(none, ErrorCode::BadGraph, "no outputs");
}

TEST_F(GraphTest, RefusesMissingOpset) {
  TestModel model;
  model.proto.clear_opset_import();
  model.input("x", {2});
  model.output("y");
  model.node("Relu", {"x"}, {"y"});
  expectError(model, ErrorCode::BadGraph, "opset_import");
  auto *other = model.proto.add_opset_import();
  other->set_domain("elsewhere");
  other->set_version(1);
  expectError(model, ErrorCode::BadGraph, "opset_import");
}

TEST_F(GraphTest, TakesTheSameOpsetTwice) {
  TestModel model;
  model.input("x", {2});
  model.output("y");
  model.node("Relu", {"x"}, {"y"});
  auto *again = model.proto.add_opset_import();
  *again = model.proto.opset_import(0);
  import(model);
  ASSERT_TRUE(module);
  again->set_version(again->version() - 1);
  expectError(model, ErrorCode::BadGraph, "is imported in versions");
}

TEST_F(GraphTest, RefusesOtherOpsets) {
  for (auto [version, code] : {std::pair(int64_t(0), ErrorCode::BadGraph),
                               {int64_t(-1), ErrorCode::BadGraph},
                               {int64_t(9999), ErrorCode::UnsupportedOp}}) {
    TestModel model(version);
    model.input("x", {2});
    model.output("y");
    model.node("Relu", {"x"}, {"y"});
    expectError(model, code, std::to_string(version));
  }
}

TEST_F(GraphTest, RefusesUnknownOperators) {
  TestModel model;
  model.input("x", {2});
  model.output("y");
  auto &node = model.node("Frobnicate", {"x"}, {"y"});
  expectError(model, ErrorCode::UnsupportedOp, "Frobnicate");
  node.set_op_type("Relu");
  node.set_domain("com.example");
  expectError(model, ErrorCode::UnsupportedOp, "com.example");
  // What the dialect needs for itself is not an operator of ONNX.
  node.set_domain("");
  node.set_op_type("None");
  expectError(model, ErrorCode::UnsupportedOp, "None");
}

TEST_F(GraphTest, RefusesTooManyInputsAndOutputs) {
  TestModel model;
  model.input("x", {2});
  model.output("y");
  auto &node = model.node("Relu", {"x", "x"}, {"y"});
  expectError(model, ErrorCode::BadGraph, "inputs");
  node.mutable_input()->RemoveLast();
  node.add_output("z");
  expectError(model, ErrorCode::UnsupportedAttribute, "output 1");
}

TEST_F(GraphTest, RefusesMissingRequiredInput) {
  TestModel model;
  model.input("x", {2});
  model.output("y");
  model.node("Add", {"x"}, {"y"});
  expectError(model, ErrorCode::BadGraph);
}

TEST_F(GraphTest, RefusesBadNames) {
  TestModel model;
  model.input("x", {2});
  model.output("y");
  auto &node = model.node("Relu", {"x"}, {"y"});
  node.set_name("\xff\xfe");
  expectError(model, ErrorCode::BadGraph, "UTF-8");
  node.set_name(std::string(5000, 'a'));
  expectError(model, ErrorCode::Limit, "5000");
}

TEST_F(GraphTest, RefusesTooManyNodes) {
  TestModel model;
  model.input("x", {2});
  model.output("x");
  for (int i = 0; i < 10; ++i)
    model.node("Relu", {"x"}, {"y" + std::to_string(i)});
  ImportOptions options;
  options.limits.nodes = 9;
  import(model, "", options);
  expectFirst(ErrorCode::Limit, "nodes");
}

TEST_F(GraphTest, ImportsLongChains) {
  TestModel model;
  model.input("x0", {2});
  for (int i = 0; i < 20000; ++i)
    model.node("Relu", {"x" + std::to_string(i)}, {"x" + std::to_string(i + 1)});
  std::reverse(model.graph().mutable_node()->begin(), model.graph().mutable_node()->end());
  model.output("x20000");
  EXPECT_TRUE(import(model));
}

TEST_F(GraphTest, InputsWithInitializersAreConstants) {
  TestModel model;
  model.input("x", {2});
  model.input("w", {2});
  model.floats("w", {2}, {1, 2});
  model.output("y");
  model.node("Add", {"x", "w"}, {"y"});
  import(model);
  ASSERT_EQ(ops(), "Add");
  EXPECT_EQ((*module).lookupSymbol<mlir::func::FuncOp>("main").getNumArguments(), 1u);
}

TEST_F(GraphTest, ComparesDeclaredTypes) {
  TestModel model;
  model.input("x", {2});
  auto *tensor = model.output("z").mutable_type()->mutable_tensor_type();
  tensor->set_elem_type(onnx::TensorProto::FLOAT);
  tensor->mutable_shape()->add_dim()->set_dim_value(2);
  auto *info = model.graph().add_value_info();
  info->set_name("y");
  info->mutable_type()->mutable_tensor_type()->set_elem_type(onnx::TensorProto::FLOAT);
  info->mutable_type()->mutable_tensor_type()->mutable_shape()->add_dim()->set_dim_value(7);
  model.node("Relu", {"x"}, {"y"});
  model.node("Neg", {"y"}, {"z"});
  EXPECT_TRUE(import(model));
  EXPECT_EQ(warnings.size(), 1u);
  // A stale size of an output is as harmless; another element type is not.
  tensor->mutable_shape()->mutable_dim(0)->set_dim_value(3);
  EXPECT_TRUE(import(model));
  EXPECT_EQ(warnings.size(), 2u);
  tensor->mutable_shape()->mutable_dim(0)->set_dim_value(2);
  tensor->set_elem_type(onnx::TensorProto::DOUBLE);
  expectError(model, ErrorCode::BadShape, "output 'z'");
}

TEST_F(GraphTest, RefusesNamesThatCannotBeKept) {
  for (std::string name : {std::string("n\0m", 3), std::string("\xff\xfe")}) {
    const char *text = name[0] == 'n' ? "null character" : "UTF-8";
    TestModel inNode;
    inNode.input("x", {2});
    inNode.output("y");
    inNode.node("Relu", {"x"}, {"y"}).set_name(name);
    expectError(inNode, ErrorCode::BadGraph, text);
    TestModel inDim;
    inDim.input("x", {2}).mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim(0)->set_dim_param(name);
    inDim.output("y");
    inDim.node("Relu", {"x"}, {"y"});
    expectError(inDim, ErrorCode::BadGraph, text);
  }
}

TEST_F(GraphTest, SpeaksOfOnnxNotOfOps) {
  TestModel missing;
  missing.input("x", {1, 3, 5, 5});
  missing.output("y");
  missing.node("Conv", {"x"}, {"y"});
  expectError(missing, ErrorCode::BadGraph, "input 1 of Conv is missing");
  TestModel attribute;
  attribute.input("x", {2, 3});
  attribute.output("y");
  setAttr(attribute.node("Softmax", {"x"}, {"y"}), "axis", "first");
  expectError(attribute, ErrorCode::BadAttribute, "attribute 'axis' of Softmax must be an integer");
}

TEST_F(GraphTest, CollectsAllProblems) {
  TestModel model;
  model.input("x", {2});
  model.output("e");
  model.node("Frobnicate", {"x"}, {"a"}).set_name("one");
  model.node("Relu", {"a"}, {"b"}).set_name("two");
  model.node("Gobble", {"b"}, {"c"}).set_name("three");
  setAttr(model.node("Relu", {"x"}, {"d"}), "strange", int64_t(1));
  model.node("Neg", {"x"}, {"e"});
  TemporaryFolder folder;
  folder.write("model.onnx", model.bytes());
  std::vector<Problem> problems = collectUnsupported(ModelSource::file(folder.path("model.onnx")), context);
  ASSERT_EQ(problems.size(), 3u);
  EXPECT_EQ(problems[0].code, ErrorCode::UnsupportedOp);
  EXPECT_EQ(problems[0].node, "one");
  EXPECT_EQ(problems[1].node, "three");
  EXPECT_EQ(problems[2].code, ErrorCode::UnsupportedAttribute);
  EXPECT_EQ(problems[2].node, "Relu_d");
}

} // namespace
