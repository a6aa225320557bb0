// Model-local functions: inlining, attributes, recursion, and bombs.
#include "TestModel.h"

using namespace fathom;
using namespace fathom::test;

namespace {
class FunctionTest : public ImportTest {
protected:
  static onnx::FunctionProto &function(TestModel &model, const std::string &name, std::vector<std::string> inputs,
                                       std::vector<std::string> outputs) {
    auto *function = model.proto.add_functions();
    function->set_name(name);
    function->set_domain("local");
    for (const auto &input : inputs)
      function->add_input(input);
    for (const auto &output : outputs)
      function->add_output(output);
    auto *import = function->add_opset_import();
    import->set_domain("");
    import->set_version(21);
    return *function;
  }
  static onnx::NodeProto &call(onnx::NodeProto &node) {
    node.set_domain("local");
    return node;
  }
};

TEST_F(FunctionTest, InlinesTwice) {
  TestModel model;
  model.input("x", {2});
  model.output("z");
  auto &twice = function(model, "Twice", {"a"}, {"b"});
  addNode(*twice.mutable_node(), "Add", {"a", "a"}, {"b"}).set_name("sum");
  call(model.node("Twice", {"x"}, {"y"})).set_name("first");
  call(model.node("Twice", {"y"}, {"z"})).set_name("second");
  import(model);
  ASSERT_EQ(ops(), "Add Add");
  EXPECT_EQ(nodeName(op("Add", 1)->getLoc()), "second/sum");
  EXPECT_NE(op("Add", 0)->getAttr("graph.name"), op("Add", 1)->getAttr("graph.name"));
}

TEST_F(FunctionTest, ResolvesAttributes) {
  TestModel model;
  model.input("x", {2, 3});
  model.output("y");
  model.output("z");
  auto &body = function(model, "Flat", {"a"}, {"b"});
  body.add_attribute("where");
  auto *fallback = body.add_attribute_proto();
  fallback->set_name("unused");
  fallback->set_type(onnx::AttributeProto::INT);
  auto *reference = addNode(*body.mutable_node(), "Flatten", {"a"}, {"b"}).add_attribute();
  reference->set_name("axis");
  reference->set_type(onnx::AttributeProto::INT);
  reference->set_ref_attr_name("where");
  setAttr(call(model.node("Flat", {"x"}, {"y"})), "where", int64_t(0));
  call(model.node("Flat", {"x"}, {"z"}));
  import(model);
  ASSERT_EQ(ops(), "Flatten Flatten");
  EXPECT_EQ(resultType(0), "tensor<1x6xf32>");
  EXPECT_EQ(resultType(1), "tensor<2x3xf32>");
}

TEST_F(FunctionTest, AbsentInputs) {
  TestModel model;
  model.input("x", {2});
  model.output("y");
  auto &body = function(model, "Bound", {"a", "low", "high"}, {"b"});
  addNode(*body.mutable_node(), "Clip", {"a", "low", "high"}, {"b"});
  call(model.node("Bound", {"x"}, {"y"}));
  import(model);
  EXPECT_EQ(ops(), "Clip");
}

TEST_F(FunctionTest, RefusesRecursion) {
  TestModel model;
  model.input("x", {2});
  model.output("y");
  call(addNode(*function(model, "A", {"a"}, {"b"}).mutable_node(), "B", {"a"}, {"b"}));
  call(addNode(*function(model, "B", {"a"}, {"b"}).mutable_node(), "A", {"a"}, {"b"}));
  call(model.node("A", {"x"}, {"y"}));
  expectError(model, ErrorCode::BadGraph, "calls itself");
}

TEST_F(FunctionTest, RefusesRecursionThroughSubgraphs) {
  TestModel model;
  model.input("x", {2});
  model.output("x");
  auto *attribute = addNode(*function(model, "A", {"a"}, {"b"}).mutable_node(), "If", {"a"}, {"b"}).add_attribute();
  attribute->set_name("then_branch");
  attribute->set_type(onnx::AttributeProto::GRAPH);
  call(addNode(*attribute->mutable_g()->mutable_node(), "A", {"a"}, {"b"}));
  expectError(model, ErrorCode::BadGraph, "calls itself");
}

TEST_F(FunctionTest, RefusesDeepCallsInAnyOrder) {
  for (bool leafFirst : {true, false}) {
    TestModel model;
    model.input("x", {2});
    model.output("y");
    for (int i = 0; i < 5000; ++i) {
      int number = leafFirst ? i : 4999 - i;
      auto &body = function(model, "F" + std::to_string(number), {"a"}, {"b"});
      if (number == 0)
        addNode(*body.mutable_node(), "Relu", {"a"}, {"b"});
      else
        call(addNode(*body.mutable_node(), "F" + std::to_string(number - 1), {"a"}, {"b"}));
    }
    call(model.node("F4999", {"x"}, {"y"}));
    expectError(model, ErrorCode::Limit, "deep");
  }
}

TEST_F(FunctionTest, RefusesBombs) {
  TestModel model;
  model.input("x", {2});
  model.output("y");
  for (int i = 0; i < 40; ++i) {
    auto &body = function(model, "F" + std::to_string(i), {"a"}, {"c"});
    std::string inner = i == 0 ? "Relu" : "F" + std::to_string(i - 1);
    auto &first = addNode(*body.mutable_node(), inner, {"a"}, {"b"});
    auto &second = addNode(*body.mutable_node(), inner, {"b"}, {"c"});
    if (i > 0) {
      call(first);
      call(second);
    }
  }
  call(model.node("F39", {"x"}, {"y"}));
  ImportOptions options;
  options.limits.nodes = 1000;
  import(model, "", options);
  expectFirst(ErrorCode::Limit, "inlining");
}

TEST_F(FunctionTest, RefusesWrongCalls) {
  auto build = [](auto change) {
    TestModel model;
    model.input("x", {2});
    model.output("y");
    auto &body = function(model, "F", {"a"}, {"b"});
    addNode(*body.mutable_node(), "Relu", {"a"}, {"b"});
    change(model, body, call(model.node("F", {"x"}, {"y"})));
    return model;
  };
  expectError(build([](auto &, auto &, auto &node) { node.add_input("x"); }), ErrorCode::BadGraph, "more inputs");
  expectError(build([](auto &, auto &, auto &node) { setAttr(node, "unknown", int64_t(1)); }), ErrorCode::BadAttribute,
              "no attribute");
  expectError(build([](auto &, auto &body, auto &) { body.set_output(0, "none"); }), ErrorCode::BadGraph,
              "does not define");
  expectError(build([](auto &, auto &body, auto &) { body.mutable_opset_import(0)->set_version(9999); }),
              ErrorCode::UnsupportedOp, "9999");
  expectError(build([](auto &model, auto &body, auto &) { *model.proto.add_functions() = body; }), ErrorCode::BadGraph,
              "defined twice");
}

} // namespace
