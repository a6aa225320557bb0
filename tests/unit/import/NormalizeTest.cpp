// Old versions of operators, and operators that become several: which ops they become and what those say.
#include "TestModel.h"

using namespace fathom;
using namespace fathom::test;
using onnx::TensorProto;

namespace {
class NormalizeTest : public ImportTest {
protected:
  // A model of one node on inputs "x" of this shape and more; returns its ops.
  template <typename Fill>
  std::string one(int64_t opset, const std::string &type, std::vector<std::string> inputs, Fill fill,
                  std::vector<int64_t> sizes = {2, 3, 4, 5}, std::vector<std::string> outputs = {"y"}) {
    TestModel model(opset);
    model.input("x", sizes);
    for (const auto &name : outputs)
      model.output(name);
    fill(model, model.node(type, inputs, outputs));
    import(model);
    return ops();
  }
  std::string one(int64_t opset, const std::string &type, std::vector<std::string> inputs) {
    return one(opset, type, inputs, [](auto &, auto &) {});
  }
  mlir::Value operand(const std::string &name, unsigned index) { return op(name)->getOperand(index); }
  bool isNone(mlir::Value value) { return llvm::isa<mlir::NoneType>(value.getType()); }
};

using Ints = std::vector<int64_t>;

TEST_F(NormalizeTest, AxesBecomeInputs) {
  one(11, "Unsqueeze", {"x"}, [](auto &, auto &node) { setAttr(node, "axes", Ints{0, 5}); });
  EXPECT_EQ(intsOf(operand("Unsqueeze", 1)), (Ints{0, 5}));
  EXPECT_EQ(resultType(), "tensor<1x2x3x4x5x1xf32>");
  one(11, "Squeeze", {"x"}, [](auto &, auto &node) { setAttr(node, "axes", Ints{1}); }, {2, 1, 3});
  EXPECT_EQ(resultType(), "tensor<2x3xf32>");
  one(11, "Squeeze", {"x"}, [](auto &, auto &) {}, {2, 1, 3});
  EXPECT_EQ(intsOf(operand("Squeeze", 1)), (Ints{1}));
  EXPECT_EQ(resultType(), "tensor<2x3xf32>");
  one(11, "Unsqueeze", {"x"});
  expectFirst(ErrorCode::BadAttribute, "axes");
}

TEST_F(NormalizeTest, Reductions) {
  for (int64_t opset : {11, 17}) {
    one(opset, "ReduceMean", {"x"}, [](auto &, auto &node) {
      setAttr(node, "axes", Ints{2, 3});
      setAttr(node, "keepdims", int64_t(0));
    });
    EXPECT_EQ(resultType(), "tensor<2x3xf32>");
  }
  one(13, "ReduceMax", {"x"});
  EXPECT_EQ(resultType(), "tensor<1x1x1x1xf32>");
  one(13, "ReduceSum", {"x", "a"}, [](auto &model, auto &) { model.ints("a", {1}, {-1}); });
  EXPECT_EQ(resultType(), "tensor<2x3x4x1xf32>");
  one(13, "ReduceSum", {"x"}, [](auto &, auto &node) { setAttr(node, "noop_with_empty_axes", int64_t(1)); });
  EXPECT_EQ(resultType(), "tensor<2x3x4x5xf32>");
}

TEST_F(NormalizeTest, OldSoftmaxIsOverAMatrix) {
  EXPECT_EQ(one(11, "Softmax", {"x"}), "Flatten Softmax Shape Reshape");
  EXPECT_EQ(resultType(), "tensor<2x3x4x5xf32>");
  EXPECT_EQ(one(11, "LogSoftmax", {"x"}, [](auto &, auto &node) { setAttr(node, "axis", int64_t(3)); }), "LogSoftmax");
  EXPECT_EQ(one(11, "Hardmax", {"x"}, [](auto &, auto &) {}, {2, 3}), "Hardmax");
  EXPECT_EQ(one(13, "Softmax", {"x"}), "Softmax");
  one(11, "Softmax", {"x"}, [](auto &, auto &node) { setAttr(node, "axis", int64_t(9)); });
  expectFirst(ErrorCode::BadAttribute, "axis 9");
}

TEST_F(NormalizeTest, ClipLimits) {
  one(6, "Clip", {"x"}, [](auto &, auto &node) { setAttr(node, "max", 6.f); });
  EXPECT_TRUE(isNone(operand("Clip", 1)));
  EXPECT_EQ(graph::constantFloatsOf(operand("Clip", 2))->front(), 6);
  one(13, "Clip", {"x", "", "high"}, [](auto &model, auto &) { model.floats("high", {}, {6}); });
  EXPECT_TRUE(isNone(operand("Clip", 1)));
  EXPECT_FALSE(isNone(operand("Clip", 2)));
}

TEST_F(NormalizeTest, VariadicOperators) {
  EXPECT_EQ(one(13, "Max", {"x", "x", "x"}), "Max Max");
  EXPECT_EQ(one(13, "Sum", {"x", "x", "x", "x"}), "Add Add Add");
  EXPECT_EQ(one(13, "Sum", {"x"}), "Identity");
  EXPECT_EQ(one(13, "Mean", {"x", "x"}), "Add Mul");
  one(13, "Max", {});
  expectFirst(ErrorCode::BadGraph, "input 0");
}

TEST_F(NormalizeTest, Dropout) {
  EXPECT_EQ(one(7, "Dropout", {"x"}, [](auto &, auto &node) { setAttr(node, "ratio", 0.3f); }), "Identity");
  auto none = [](auto &, auto &) {};
  EXPECT_EQ(one(13, "Dropout", {"x"}, none, {2}, {"y", "mask"}), "Identity Shape ConstantOfShape");
  EXPECT_EQ(resultType(1), "tensor<2xi1>");
  one(7, "Dropout", {"x"}, none, {2}, {"y", "mask"});
  EXPECT_EQ(resultType(1), "tensor<2xf32>");
  auto training = [](auto &model, auto &) {
    auto &flag = model.ints("on", {}, {});
    flag.set_data_type(TensorProto::BOOL);
    flag.add_int32_data(1);
  };
  one(13, "Dropout", {"x", "", "on"}, training);
  expectFirst(ErrorCode::UnsupportedAttribute, "training");
}

TEST_F(NormalizeTest, MovementAttributesBecomeInputs) {
  one(9, "Slice", {"x"}, [](auto &, auto &node) {
    setAttr(node, "starts", Ints{1});
    setAttr(node, "ends", Ints{3});
    setAttr(node, "axes", Ints{2});
  });
  EXPECT_EQ(resultType(), "tensor<2x3x2x5xf32>");
  one(9, "Pad", {"x"}, [](auto &, auto &node) { setAttr(node, "pads", Ints{0, 0, 1, 1, 0, 0, 2, 2}); });
  EXPECT_EQ(resultType(), "tensor<2x3x7x8xf32>");
  one(11, "Split", {"x"},
      [](auto &, auto &node) {
        setAttr(node, "split", Ints{1, 2});
        setAttr(node, "axis", int64_t(1));
      },
      {2, 3}, {"a", "b"});
  EXPECT_EQ(resultType(1), "tensor<2x2xf32>");
  one(11, "Split", {"x"}, [](auto &, auto &) {}, {4, 3}, {"a", "b"});
  EXPECT_EQ(resultType(0), "tensor<2x3xf32>");
  one(9, "TopK", {"x"}, [](auto &, auto &node) { setAttr(node, "k", int64_t(2)); }, {4, 3}, {"a", "b"});
  EXPECT_EQ(resultType(1), "tensor<4x2xi64>");
  EXPECT_EQ(one(9, "Scatter", {"x", "i", "x"}, [](auto &model, auto &) { model.ints("i", {2}, {0, 1}); }, {2}),
            "ScatterElements");
}

TEST_F(NormalizeTest, Upsample) {
  auto scales = [](auto &, auto &node) { setAttr(node, "scales", std::vector<float>{1, 1, 2, 2}); };
  EXPECT_EQ(one(8, "Upsample", {"x"}, scales), "Resize");
  EXPECT_EQ(resultType(), "tensor<2x3x8x10xf32>");
  auto word = [&](const char *name) { return op("Resize")->getAttrOfType<mlir::StringAttr>(name).str(); };
  EXPECT_EQ(word("coordinate_transformation_mode"), "asymmetric");
  EXPECT_EQ(word("nearest_mode"), "floor");
  auto shrink = [](auto &model, auto &) { model.floats("s", {4}, {1, 1, 0.5, 0.5}); };
  one(10, "Resize", {"x", "s"}, shrink);
  EXPECT_EQ(word("nearest_mode"), "ceil");
  auto mixed = [](auto &model, auto &) { model.floats("s", {4}, {1, 1, 2, 0.5}); };
  one(10, "Resize", {"x", "s"}, mixed);
  expectFirst(ErrorCode::UnsupportedAttribute, "shrinks");
  // Empty tensors stand for absent inputs.
  one(11, "Resize", {"x", "none", "none", "sizes"}, [](auto &model, auto &) {
    model.floats("none", {0}, {});
    model.ints("sizes", {4}, {2, 3, 8, 8});
  });
  EXPECT_EQ(resultType(), "tensor<2x3x8x8xf32>");
  EXPECT_TRUE(isNone(operand("Resize", 2)));
}

TEST_F(NormalizeTest, Normalizations) {
  auto four = [](auto &model, auto &) { model.floats("w", {3}, {1, 1, 1}); };
  EXPECT_EQ(one(8, "BatchNormalization", {"x", "w", "w", "w", "w"}, four), "BatchNormalization");
  one(8, "BatchNormalization", {"x", "w", "w", "w", "w"}, [&](auto &model, auto &node) {
    four(model, node);
    setAttr(node, "spatial", int64_t(0));
  });
  expectFirst(ErrorCode::UnsupportedAttribute, "spatial");
  one(15, "BatchNormalization", {"x", "w", "w", "w", "w"}, [&](auto &model, auto &node) {
    four(model, node);
    setAttr(node, "training_mode", int64_t(1));
  });
  EXPECT_EQ(op("BatchNormalization")->getNumResults(), 3u);
  auto groups = [](auto &model, auto &node) {
    model.floats("w", {2}, {1, 2});
    setAttr(node, "num_groups", int64_t(2));
  };
  EXPECT_EQ(one(18, "GroupNormalization", {"x", "w", "w"}, groups, {1, 4, 2, 2}),
            "Reshape Expand Reshape Reshape Expand Reshape GroupNormalization");
  EXPECT_EQ(one(13, "MeanVarianceNormalization", {"x"}), "ReduceMean Sub Mul ReduceMean Sqrt Add Div");
  EXPECT_EQ(one(13, "LpNormalization", {"x"}), "ReduceL2 Equal Where Div");
}

TEST_F(NormalizeTest, Casts) {
  one(13, "Cast", {"x"}, [](auto &, auto &node) { setAttr(node, "to", int64_t(TensorProto::FLOAT16)); }, {2});
  EXPECT_EQ(resultType(), "tensor<2xf16>");
  EXPECT_EQ(one(15, "CastLike", {"x", "i"}, [](auto &model, auto &) { model.ints("i", {}, {1}); }, {2}), "Cast");
  EXPECT_EQ(resultType(), "tensor<2xi64>");
  for (auto [type, code] : {std::pair(int64_t(TensorProto::STRING), ErrorCode::UnsupportedType),
                            {int64_t(1000), ErrorCode::BadType},
                            {int64_t(1) << 40, ErrorCode::BadType}}) {
    one(13, "Cast", {"x"}, [type = type](auto &, auto &node) { setAttr(node, "to", type); });
    expectFirst(code);
  }
  one(13, "Cast", {"x"});
  expectFirst(ErrorCode::BadAttribute, "to");
}

TEST_F(NormalizeTest, Quantization) {
  auto perAxis = [](auto &model, auto &node) {
    model.floats("s", {3}, {1, 2, 3});
    setAttr(node, "axis", int64_t(1));
  };
  EXPECT_EQ(one(13, "QuantizeLinear", {"x", "s"}, perAxis), "Reshape QuantizeLinear");
  EXPECT_EQ(resultType(), "tensor<2x3x4x5xui8>");
  auto scalar = [](auto &model, auto &) { model.floats("s", {}, {1}); };
  EXPECT_EQ(one(13, "QuantizeLinear", {"x", "s"}, scalar, {4}), "QuantizeLinear");
  one(21, "QuantizeLinear", {"x", "s"}, [&](auto &model, auto &node) {
    scalar(model, node);
    setAttr(node, "output_dtype", int64_t(TensorProto::INT8));
  });
  EXPECT_EQ(resultType(), "tensor<2x3x4x5xi8>");
  one(21, "QuantizeLinear", {"x", "s"}, [&](auto &model, auto &node) {
    scalar(model, node);
    setAttr(node, "block_size", int64_t(2));
  });
  expectFirst(ErrorCode::BadAttribute, "block_size 2");
  one(13, "DynamicQuantizeLinear", {"x"}, [](auto &, auto &) {}, {4}, {"y", "scale", "zero"});
  EXPECT_EQ(resultType(2), "tensor<ui8>");
}

TEST_F(NormalizeTest, IntegerProducts) {
  auto integer = [](int64_t channels, std::vector<int64_t> weight) {
    TestModel model;
    model.input("x", {1, channels, 5, 5}, TensorProto::UINT8);
    model.input("w", weight, TensorProto::UINT8);
    model.output("y");
    model.node("ConvInteger", {"x", "w"}, {"y"});
    return model;
  };
  import(integer(2, {4, 2, 3, 3}));
  EXPECT_EQ(resultType(), "tensor<1x4x3x3xi32>");
  // Kernels may take it whole: passes decompose it.
  EXPECT_TRUE(op("ConvInteger"));
  import(integer(2, {}));
  EXPECT_FALSE(module);
}

TEST_F(NormalizeTest, Losses) {
  auto labels = [](auto &model, auto &node) {
    model.ints("t", {2}, {0, 1});
    setAttr(node, "ignore_index", int64_t(1));
  };
  EXPECT_EQ(one(13, "NegativeLogLikelihoodLoss", {"x", "t"}, [](auto &model, auto &) { model.ints("t", {2}, {0, 1}); },
                {2, 3}),
            "Unsqueeze GatherElements Squeeze Neg ReduceMean");
  one(13, "SoftmaxCrossEntropyLoss", {"x", "t"}, labels, {2, 3}, {"loss", "logs"});
  EXPECT_EQ(resultType(0), "tensor<f32>");
  EXPECT_EQ(resultType(1), "tensor<2x3xf32>");
}

TEST_F(NormalizeTest, Windows) {
  TestModel model(17);
  model.ints("n", {}, {4});
  model.output("w");
  model.node("HannWindow", {"n"}, {"w"});
  import(model);
  ASSERT_EQ(resultType(), "tensor<4xf32>");
  model.graph().mutable_initializer(0)->set_int64_data(0, int64_t(1) << 50);
  expectError(model, ErrorCode::Limit, "HannWindow");
}

TEST_F(NormalizeTest, LegacyBroadcasting) {
  auto fill = [](auto &model, auto &node) {
    model.floats("b", {3}, {1, 2, 3});
    setAttr(node, "broadcast", int64_t(1));
    setAttr(node, "axis", int64_t(1));
  };
  EXPECT_EQ(one(6, "Add", {"x", "b"}, fill), "Unsqueeze Add");
  EXPECT_EQ(resultType(), "tensor<2x3x4x5xf32>");
  one(6, "Add", {"", "b"}, fill);
  expectFirst(ErrorCode::BadGraph);
  one(1, "Reshape", {"x"});
  expectFirst(ErrorCode::UnsupportedOp, "from 5");
}

TEST_F(NormalizeTest, RefusesBadAttributes) {
  one(13, "Flatten", {"x"}, [](auto &, auto &node) { setAttr(node, "axis", 1.f); });
  expectFirst(ErrorCode::BadAttribute, "axis");
  one(13, "Transpose", {"x"}, [](auto &, auto &node) { setAttr(node, "perm", int64_t(1)); });
  expectFirst(ErrorCode::BadAttribute, "perm");
  one(11, "Unsqueeze", {"x"}, [](auto &, auto &node) { setAttr(node, "axes", "text"); });
  expectFirst(ErrorCode::BadAttribute, "axes");
  one(13, "Relu", {"x"}, [](auto &, auto &node) { setAttr(node, "alpha", 1.f); });
  expectFirst(ErrorCode::UnsupportedAttribute, "alpha");
  one(13, "Concat", {"x", "x"});
  expectFirst(ErrorCode::BadAttribute, "axis");
  one(13, "Flatten", {"x"}, [](auto &, auto &node) {
    setAttr(node, "axis", int64_t(1));
    setAttr(node, "axis", int64_t(2));
  });
  expectFirst(ErrorCode::BadAttribute, "twice");
  one(13, "Flatten", {"x"}, [](auto &, auto &node) { setAttr(node, "axis", int64_t(1)).clear_type(); });
  expectFirst(ErrorCode::BadAttribute, "type");
  one(13, "Concat", {"x", "x"}, [](auto &, auto &node) {
    auto *graph = node.add_attribute();
    graph->set_name("axis");
    graph->set_type(onnx::AttributeProto::GRAPH);
  });
  expectFirst(ErrorCode::UnsupportedAttribute, "GRAPH");
}

} // namespace
