// Tensors in all their encodings, and those whose sizes and data disagree.
#include "TestModel.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/DialectResourceBlobManager.h"

using namespace fathom;
using namespace fathom::test;
using onnx::TensorProto;

namespace {
class TensorTest : public ImportTest {
protected:
  // A model that hands out one initializer.
  static TestModel model(TensorProto **tensor, int type, std::vector<int64_t> sizes) {
    TestModel model;
    model.output("w");
    auto &added = model.floats("w", sizes, {});
    added.set_data_type(type);
    *tensor = &added;
    return model;
  }
  mlir::ElementsAttr value() { return llvm::cast<graph::ConstantOp>(op("Constant")).getValue(); }
};

TEST_F(TensorTest, RawAndTypedDataAgree) {
  TensorProto *tensor;
  TestModel raw = model(&tensor, TensorProto::FLOAT, {2});
  float values[] = {1.5f, -2};
  tensor->set_raw_data(values, sizeof(values));
  import(raw);
  mlir::Attribute first = value();
  TestModel typed = model(&tensor, TensorProto::FLOAT, {2});
  tensor->add_float_data(1.5f);
  tensor->add_float_data(-2);
  import(typed);
  EXPECT_EQ(value(), first);
}

TEST_F(TensorTest, ReadsEveryType) {
  struct {
    int type;
    size_t bytes;
    const char *expected;
  } cases[] = {{TensorProto::FLOAT, 4, "tensor<3xf32>"},    {TensorProto::UINT8, 1, "tensor<3xui8>"},
               {TensorProto::INT8, 1, "tensor<3xi8>"},      {TensorProto::UINT16, 2, "tensor<3xui16>"},
               {TensorProto::INT16, 2, "tensor<3xi16>"},    {TensorProto::INT32, 4, "tensor<3xi32>"},
               {TensorProto::INT64, 8, "tensor<3xi64>"},    {TensorProto::BOOL, 1, "tensor<3xi1>"},
               {TensorProto::FLOAT16, 2, "tensor<3xf16>"},  {TensorProto::DOUBLE, 8, "tensor<3xf64>"},
               {TensorProto::UINT32, 4, "tensor<3xui32>"},  {TensorProto::UINT64, 8, "tensor<3xui64>"},
               {TensorProto::BFLOAT16, 2, "tensor<3xbf16>"}};
  for (auto &entry : cases) {
    TensorProto *tensor;
    TestModel raw = model(&tensor, entry.type, {3});
    tensor->set_raw_data(std::string(3 * entry.bytes, '\x01'));
    import(raw);
    EXPECT_EQ(resultType(), entry.expected);
    tensor->set_raw_data(std::string(3 * entry.bytes - 1, '\x01'));
    expectError(raw, ErrorCode::BadTensor, "bytes of data");
    // Narrow types are stored in wider fields.
    TestModel typed = model(&tensor, entry.type, {3});
    for (int i = 0; i < 3; ++i) {
      if (entry.type == TensorProto::FLOAT)
        tensor->add_float_data(1);
      else if (entry.type == TensorProto::DOUBLE)
        tensor->add_double_data(1);
      else if (entry.type == TensorProto::INT64)
        tensor->add_int64_data(1);
      else if (entry.type == TensorProto::UINT32 || entry.type == TensorProto::UINT64)
        tensor->add_uint64_data(1);
      else
        tensor->add_int32_data(1);
    }
    import(typed);
    EXPECT_EQ(resultType(), entry.expected);
  }
}

TEST_F(TensorTest, RefusesUnsupportedTypes) {
  TensorProto *tensor;
  for (int type : {TensorProto::COMPLEX128, TensorProto::COMPLEX64})
    expectError(model(&tensor, type, {1}), ErrorCode::UnsupportedType,
                TensorProto::DataType_Name(TensorProto::DataType(type)));
  expectError(model(&tensor, TensorProto::UNDEFINED, {1}), ErrorCode::BadType);
  expectError(model(&tensor, 77, {1}), ErrorCode::BadType, "77");
}

TEST_F(TensorTest, SmallTypesHaveAByteEach) {
  TensorProto *tensor;
  TestModel nibbles = model(&tensor, TensorProto::INT4, {3});
  tensor->set_raw_data(std::string("\x21\x0f", 2));
  import(nibbles);
  EXPECT_EQ(resultType(), "tensor<3xui8>");
  EXPECT_EQ(intsOf(op("Constant")->getResult(0)), (std::vector<int64_t>{1, 2, 15}));
  TestModel pairs = model(&tensor, TensorProto::UINT2, {5});
  tensor->add_int32_data(0xe4), tensor->add_int32_data(2);
  import(pairs);
  EXPECT_EQ(intsOf(op("Constant")->getResult(0)), (std::vector<int64_t>{0, 1, 2, 3, 2}));
  tensor->add_int32_data(0);
  expectError(pairs, ErrorCode::BadTensor, "3 bytes of data where its shape needs 2");
  TestModel bytes = model(&tensor, TensorProto::FLOAT8E4M3FN, {2});
  tensor->set_raw_data(std::string("\x38\x80", 2));
  import(bytes);
  EXPECT_EQ(intsOf(op("Constant")->getResult(0)), (std::vector<int64_t>{0x38, 0x80}));
}

TEST_F(TensorTest, StringsAreNumbered) {
  TensorProto *tensor;
  TestModel strings = model(&tensor, TensorProto::STRING, {4});
  for (const char *text : {"b", "a", "b", ""})
    tensor->add_string_data(text);
  import(strings);
  EXPECT_EQ(resultType(), "tensor<4xsi64>");
  EXPECT_EQ(intsOf(op("Constant")->getResult(0)), (std::vector<int64_t>{0, 1, 0, 2}));
  tensor->add_string_data("c");
  expectError(strings, ErrorCode::BadTensor, "5 strings where its shape needs 4");
}

TEST_F(TensorTest, BoolsAreBits) {
  TensorProto *tensor;
  TestModel bools = model(&tensor, TensorProto::BOOL, {4});
  tensor->set_raw_data(std::string("\x00\x01\x02\x00", 4));
  import(bools);
  EXPECT_EQ(intsOf(op("Constant")->getResult(0)), (std::vector<int64_t>{0, 1, 1, 0}));
}

TEST_F(TensorTest, EmptyAndScalarTensors) {
  TensorProto *tensor;
  import(model(&tensor, TensorProto::FLOAT, {0, 3}));
  EXPECT_EQ(resultType(), "tensor<0x3xf32>");
  TestModel scalar = model(&tensor, TensorProto::FLOAT, {});
  tensor->add_float_data(1);
  import(scalar);
  EXPECT_EQ(resultType(), "tensor<f32>");
}

TEST_F(TensorTest, LargeTensorsAreNotCopiedOrFolded) {
  TensorProto *tensor;
  TestModel large = model(&tensor, TensorProto::FLOAT, {64, 64});
  std::string bytes(64 * 64 * 4, '\0');
  for (size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = char(i * 7);
  tensor->set_raw_data(bytes);
  import(large);
  auto resource = llvm::dyn_cast<mlir::DenseResourceElementsAttr>(value());
  ASSERT_TRUE(resource);
  llvm::ArrayRef<char> data = resource.getRawHandle().getBlob()->getData();
  EXPECT_EQ(llvm::StringRef(data.data(), data.size()), bytes);
}

TEST_F(TensorTest, RefusesDisagreeingSizes) {
  TensorProto *tensor;
  TestModel few = model(&tensor, TensorProto::FLOAT, {3});
  tensor->add_float_data(1);
  expectError(few, ErrorCode::BadTensor, "4 bytes of data where its shape needs 12");
  expectError(model(&tensor, TensorProto::FLOAT, {3}), ErrorCode::BadTensor, "0 bytes");
  expectError(model(&tensor, TensorProto::FLOAT, {-3}), ErrorCode::BadTensor, "negative");
  int64_t huge = int64_t(1) << 40;
  expectError(model(&tensor, TensorProto::FLOAT, {huge, huge}), ErrorCode::BadTensor, "multiply");
  expectError(model(&tensor, TensorProto::FLOAT, {0, huge, huge}), ErrorCode::BadTensor, "multiply");
  expectError(model(&tensor, TensorProto::FLOAT, {huge}), ErrorCode::Limit);
  expectError(model(&tensor, TensorProto::FLOAT, std::vector<int64_t>(17, 1)), ErrorCode::Limit, "rank");
}

TEST_F(TensorTest, RefusesDisagreeingFields) {
  TensorProto *tensor;
  TestModel twice = model(&tensor, TensorProto::FLOAT, {1});
  tensor->add_float_data(1);
  tensor->set_raw_data("abcd");
  expectError(twice, ErrorCode::BadTensor, "more than one field");

  TestModel wrongField = model(&tensor, TensorProto::FLOAT, {1});
  tensor->add_int64_data(1);
  expectError(wrongField, ErrorCode::BadTensor);

  TestModel tooLarge = model(&tensor, TensorProto::INT8, {1});
  tensor->add_int32_data(1000);
  expectError(tooLarge, ErrorCode::BadTensor, "INT8");

  TestModel negative = model(&tensor, TensorProto::UINT8, {1});
  tensor->add_int32_data(-1);
  expectError(negative, ErrorCode::BadTensor, "UINT8");

  TestModel segment = model(&tensor, TensorProto::FLOAT, {1});
  tensor->mutable_segment()->set_begin(0);
  expectError(segment, ErrorCode::BadTensor, "segment");
}

TEST_F(TensorTest, RefusesSparseTensors) {
  TestModel model;
  model.input("x", {2});
  model.output("x");
  model.graph().add_sparse_initializer();
  expectError(model, ErrorCode::UnsupportedType, "sparse");

  TestModel node;
  node.output("y");
  auto *attribute = node.node("Constant", {}, {"y"}).add_attribute();
  attribute->set_name("sparse_value");
  attribute->set_type(onnx::AttributeProto::SPARSE_TENSOR);
  expectError(node, ErrorCode::UnsupportedType, "sparse");
}

TEST_F(TensorTest, ConstantsInEveryForm) {
  auto imported = [&](auto fill) {
    TestModel model;
    model.output("y");
    fill(model.node("Constant", {}, {"y"}));
    import(model);
    return resultType();
  };
  EXPECT_EQ(imported([](auto &node) { setAttr(node, "value_int", int64_t(3)); }), "tensor<i64>");
  EXPECT_EQ(imported([](auto &node) { setAttr(node, "value_float", 3.f); }), "tensor<f32>");
  EXPECT_EQ(imported([](auto &node) { setAttr(node, "value_ints", std::vector<int64_t>{1, 2}); }), "tensor<2xi64>");
  EXPECT_EQ(imported([](auto &node) { setAttr(node, "value_ints", std::vector<int64_t>{}); }), "tensor<0xi64>");
  EXPECT_EQ(imported([](auto &node) { setAttr(node, "value_floats", std::vector<float>{1, 2}); }), "tensor<2xf32>");
  imported([](auto &node) { setAttr(node, "value_string", "text"); });
  expectFirst(ErrorCode::UnsupportedType, "string");
  imported([](auto &) {});
  expectFirst(ErrorCode::BadAttribute, "no value");
}

TEST_F(TensorTest, RefusesBadInputTypes) {
  TestModel noRank;
  noRank.input("x", {}).mutable_type()->mutable_tensor_type()->clear_shape();
  noRank.output("x");
  expectError(noRank, ErrorCode::UnsupportedShape, "how many dimensions");

  TestModel negative;
  negative.input("x", {1}).mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim(0)->set_dim_value(-5);
  negative.output("x");
  expectError(negative, ErrorCode::BadShape, "-5");

  TestModel complex;
  complex.input("x", {1}, TensorProto::COMPLEX64);
  complex.output("x");
  expectError(complex, ErrorCode::UnsupportedType, "COMPLEX64");

  TestModel sequence;
  sequence.input("x", {1}).mutable_type()->mutable_sequence_type();
  sequence.output("x");
  expectError(sequence, ErrorCode::UnsupportedType, "sequence");
}

// The limit is about bytes, of which an empty tensor has none.
TEST_F(TensorTest, TakesEmptyTensorsOfAnyShape) {
  TestModel model;
  model.output("w");
  model.floats("w", {0, int64_t(1) << 40}, {});
  EXPECT_TRUE(import(model));
  TestModel full;
  full.output("w");
  full.floats("w", {1, int64_t(1) << 40}, {});
  expectError(full, ErrorCode::Limit, "the limit is");
}

} // namespace
