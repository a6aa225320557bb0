// Builds small ONNX models in memory and imports them with their diagnostics captured.
#pragma once

#include "compiler/graph/Graph.h"
#include "compiler/import/Import.h"
#include "onnx.pb.h"
#include "gtest/gtest.h"
#include <string>
#include <vector>

namespace fathom::test {

// A model with one graph; sizes below zero are dynamic and unnamed.
class TestModel {
public:
  explicit TestModel(int64_t opset = 21);

  onnx::ValueInfoProto &input(const std::string &name, std::vector<int64_t> sizes, int type = onnx::TensorProto::FLOAT);
  onnx::ValueInfoProto &output(const std::string &name);
  onnx::NodeProto &node(const std::string &op, std::vector<std::string> inputs, std::vector<std::string> outputs);
  onnx::TensorProto &floats(const std::string &name, std::vector<int64_t> sizes, std::vector<float> values);
  onnx::TensorProto &ints(const std::string &name, std::vector<int64_t> sizes, std::vector<int64_t> values);
  // An initializer whose data lies in a file beside the model.
  onnx::TensorProto &external(const std::string &name, std::vector<int64_t> sizes, const std::string &location);

  onnx::GraphProto &graph() { return *proto.mutable_graph(); }
  std::string bytes() const { return proto.SerializeAsString(); }

  onnx::ModelProto proto;
};

onnx::AttributeProto &setAttr(onnx::NodeProto &node, const std::string &name, int64_t value);
onnx::AttributeProto &setAttr(onnx::NodeProto &node, const std::string &name, float value);
onnx::AttributeProto &setAttr(onnx::NodeProto &node, const std::string &name, const char *value);
onnx::AttributeProto &setAttr(onnx::NodeProto &node, const std::string &name, std::vector<int64_t> values);
onnx::AttributeProto &setAttr(onnx::NodeProto &node, const std::string &name, std::vector<float> values);
onnx::NodeProto &addNode(google::protobuf::RepeatedPtrField<onnx::NodeProto> &nodes, const std::string &op,
                         std::vector<std::string> inputs, std::vector<std::string> outputs);
void addEntry(onnx::TensorProto &tensor, const std::string &key, const std::string &value);

class ImportTest : public ::testing::Test {
protected:
  ImportTest() : context(mlir::MLIRContext::Threading::DISABLED) {}

  // Imports and keeps module and errors.
  mlir::ModuleOp import(const TestModel &model, const std::string &folder = "", const ImportOptions &options = {});
  mlir::ModuleOp importBytes(const std::string &bytes, const std::string &folder = "",
                             const ImportOptions &options = {});
  mlir::ModuleOp importFile(const std::string &path);
  // The model is refused, first of all with this code, and its message contains `text`.
  void expectError(const TestModel &model, ErrorCode code, const std::string &text = "",
                   const std::string &folder = "");
  void expectFirst(ErrorCode code, const std::string &text = "");

  // The ops of @main but for constants, None and the return, in order: "Flatten Softmax Reshape".
  std::string ops();
  mlir::Operation *op(const std::string &name, unsigned occurrence = 0);
  // The type of a result of @main: "tensor<2x3xf32>".
  std::string resultType(unsigned index = 0);
  // The elements of an integer constant that is an operand.
  std::vector<int64_t> intsOf(mlir::Value value);

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::vector<std::string> errors, warnings;
};

// A folder that is removed with all that lies in it.
class TemporaryFolder {
public:
  TemporaryFolder();
  ~TemporaryFolder();
  std::string path(const std::string &name = "") const { return name.empty() ? folder : folder + "/" + name; }
  void write(const std::string &name, const std::string &bytes) const;

private:
  std::string folder;
};

} // namespace fathom::test
