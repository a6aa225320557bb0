// Files and bytes that are no ONNX model, and the limits of parsing.
#include "TestModel.h"
#include <sys/stat.h>

using namespace fathom;
using namespace fathom::test;

namespace {
using FileTest = ImportTest;

TestModel identity() {
  TestModel model;
  model.input("x", {2, 3});
  model.output("y");
  model.node("Identity", {"x"}, {"y"});
  return model;
}

TEST_F(FileTest, ImportsAFile) {
  TemporaryFolder folder;
  folder.write("model.onnx", identity().bytes());
  importFile(folder.path("model.onnx"));
  EXPECT_EQ(ops(), "Identity");
  EXPECT_EQ(resultType(), "tensor<2x3xf32>");
}

TEST_F(FileTest, RefusesMissingFile) {
  importFile("/nonexistent/model.onnx");
  expectFirst(ErrorCode::FileUnreadable, "/nonexistent/model.onnx");
}

TEST_F(FileTest, RefusesFolder) {
  TemporaryFolder folder;
  importFile(folder.path());
  expectFirst(ErrorCode::FileUnreadable, "regular file");
}

TEST_F(FileTest, RefusesFifoWithoutBlocking) {
  TemporaryFolder folder;
  ASSERT_EQ(mkfifo(folder.path("model.onnx").c_str(), 0600), 0);
  importFile(folder.path("model.onnx"));
  expectFirst(ErrorCode::FileUnreadable, "regular file");
}

TEST_F(FileTest, RefusesEmptyFile) {
  TemporaryFolder folder;
  folder.write("model.onnx", "");
  importFile(folder.path("model.onnx"));
  expectFirst(ErrorCode::NotOnnx, "empty");
}

TEST_F(FileTest, RefusesText) {
  importBytes("This is not a model but a text.\n");
  expectFirst(ErrorCode::NotOnnx);
}

TEST_F(FileTest, TellsWhatElseTheFileIs) {
  importBytes("version https://git-lfs.github.com/spec/v1\noid sha256:1\n");
  expectFirst(ErrorCode::NotOnnx);
  importBytes(std::string("PK\x03\x04 zip", 8));
  expectFirst(ErrorCode::NotOnnx);
}

TEST_F(FileTest, RefusesEveryTruncation) {
  std::string bytes = identity().bytes();
  for (size_t size = 0; size < bytes.size(); ++size) {
    importBytes(bytes.substr(0, size));
    // Cut between fields, what is left may parse but lacks its graph or its operator set.
    EXPECT_FALSE(module) << size << " of " << bytes.size() << " bytes";
    ASSERT_FALSE(errors.empty());
  }
}

TEST_F(FileTest, SurvivesFlippedBytes) {
  std::string bytes = identity().bytes();
  for (size_t i = 0; i < bytes.size(); ++i)
    for (int bit = 0; bit < 8; ++bit) {
      std::string wrong = bytes;
      wrong[i] ^= 1 << bit;
      importBytes(wrong);
    }
}

TEST_F(FileTest, RefusesWrongTypedField) {
  // Field 7 (the graph) as a number.
  importBytes(std::string("\x08\x08\x38\x01", 4));
  expectFirst(ErrorCode::NotOnnx);
}

TEST_F(FileTest, RefusesMissingIrVersion) {
  TestModel model = identity();
  model.proto.clear_ir_version();
  expectError(model, ErrorCode::NotOnnx, "ir_version");
}

TEST_F(FileTest, RefusesLargeModel) {
  ImportOptions options;
  options.limits.protoBytes = 16;
  import(identity(), "", options);
  expectFirst(ErrorCode::Limit, "16");
}

TEST_F(FileTest, RefusesDeepNesting) {
  auto nested = [&](int branches) {
    TestModel model = identity();
    onnx::GraphProto *graph = &model.graph();
    for (int depth = 0; depth < branches; ++depth) {
      auto *attribute = graph->add_node()->add_attribute();
      attribute->set_name("then_branch");
      attribute->set_type(onnx::AttributeProto::GRAPH);
      graph = attribute->mutable_g();
    }
    return model;
  };
  for (int branches : {22, 100, 1000})
    expectError(nested(branches), ErrorCode::Limit, "nested more than 64 deep");
  expectError(nested(3000), ErrorCode::NotOnnx, "nested too deeply");
}

TEST_F(FileTest, HashIsThatOfTheBytes) {
  import(identity());
  auto first = (*module)->getAttrOfType<mlir::StringAttr>("graph.model_hash").str();
  EXPECT_EQ(first.size(), 64u);
  TestModel other = identity();
  other.graph().set_name("other");
  import(other);
  EXPECT_NE((*module)->getAttrOfType<mlir::StringAttr>("graph.model_hash").str(), first);
  EXPECT_EQ((*module)->getAttrOfType<mlir::StringAttr>("graph.producer").str(), "test");
  EXPECT_EQ((*module)->getAttrOfType<mlir::IntegerAttr>("graph.opset").getInt(), 21);
}

} // namespace
