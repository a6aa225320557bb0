// Builds small ONNX models in memory and imports them with their diagnostics captured.
#include "TestModel.h"
#include "mlir/IR/Verifier.h"
#include "llvm/Support/FileSystem.h"
#include <filesystem>
#include <fstream>

using namespace mlir;

namespace fathom::test {

TestModel::TestModel(int64_t opset) {
  proto.set_ir_version(8);
  proto.set_producer_name("test");
  proto.mutable_graph()->set_name("test");
  auto *import = proto.add_opset_import();
  import->set_domain("");
  import->set_version(opset);
}

onnx::ValueInfoProto &TestModel::input(const std::string &name, std::vector<int64_t> sizes, int type) {
  auto *input = graph().add_input();
  input->set_name(name);
  auto *tensor = input->mutable_type()->mutable_tensor_type();
  tensor->set_elem_type(type);
  tensor->mutable_shape();
  for (int64_t size : sizes) {
    auto *dim = tensor->mutable_shape()->add_dim();
    if (size >= 0)
      dim->set_dim_value(size);
  }
  return *input;
}

onnx::ValueInfoProto &TestModel::output(const std::string &name) {
  auto *output = graph().add_output();
  output->set_name(name);
  return *output;
}

onnx::NodeProto &addNode(google::protobuf::RepeatedPtrField<onnx::NodeProto> &nodes, const std::string &op,
                         std::vector<std::string> inputs, std::vector<std::string> outputs) {
  auto *node = nodes.Add();
  node->set_op_type(op);
  for (const std::string &name : inputs)
    node->add_input(name);
  for (const std::string &name : outputs)
    node->add_output(name);
  return *node;
}

onnx::NodeProto &TestModel::node(const std::string &op, std::vector<std::string> inputs,
                                 std::vector<std::string> outputs) {
  return addNode(*graph().mutable_node(), op, inputs, outputs);
}

static onnx::TensorProto &addTensor(onnx::GraphProto &graph, const std::string &name, const std::vector<int64_t> &sizes,
                                    int type) {
  auto *tensor = graph.add_initializer();
  tensor->set_name(name);
  tensor->set_data_type(type);
  for (int64_t size : sizes)
    tensor->add_dims(size);
  return *tensor;
}

onnx::TensorProto &TestModel::floats(const std::string &name, std::vector<int64_t> sizes, std::vector<float> values) {
  auto &tensor = addTensor(graph(), name, sizes, onnx::TensorProto::FLOAT);
  for (float value : values)
    tensor.add_float_data(value);
  return tensor;
}

onnx::TensorProto &TestModel::ints(const std::string &name, std::vector<int64_t> sizes, std::vector<int64_t> values) {
  auto &tensor = addTensor(graph(), name, sizes, onnx::TensorProto::INT64);
  for (int64_t value : values)
    tensor.add_int64_data(value);
  return tensor;
}

onnx::TensorProto &TestModel::external(const std::string &name, std::vector<int64_t> sizes,
                                       const std::string &location) {
  auto &tensor = addTensor(graph(), name, sizes, onnx::TensorProto::FLOAT);
  tensor.set_data_location(onnx::TensorProto::EXTERNAL);
  addEntry(tensor, "location", location);
  return tensor;
}

void addEntry(onnx::TensorProto &tensor, const std::string &key, const std::string &value) {
  auto *entry = tensor.add_external_data();
  entry->set_key(key);
  entry->set_value(value);
}

static onnx::AttributeProto &addAttr(onnx::NodeProto &node, const std::string &name,
                                     onnx::AttributeProto::AttributeType type) {
  auto *attribute = node.add_attribute();
  attribute->set_name(name);
  attribute->set_type(type);
  return *attribute;
}

onnx::AttributeProto &setAttr(onnx::NodeProto &node, const std::string &name, int64_t value) {
  auto &attribute = addAttr(node, name, onnx::AttributeProto::INT);
  attribute.set_i(value);
  return attribute;
}

onnx::AttributeProto &setAttr(onnx::NodeProto &node, const std::string &name, float value) {
  auto &attribute = addAttr(node, name, onnx::AttributeProto::FLOAT);
  attribute.set_f(value);
  return attribute;
}

onnx::AttributeProto &setAttr(onnx::NodeProto &node, const std::string &name, const char *value) {
  auto &attribute = addAttr(node, name, onnx::AttributeProto::STRING);
  attribute.set_s(value);
  return attribute;
}

onnx::AttributeProto &setAttr(onnx::NodeProto &node, const std::string &name, std::vector<int64_t> values) {
  auto &attribute = addAttr(node, name, onnx::AttributeProto::INTS);
  for (int64_t value : values)
    attribute.add_ints(value);
  return attribute;
}

onnx::AttributeProto &setAttr(onnx::NodeProto &node, const std::string &name, std::vector<float> values) {
  auto &attribute = addAttr(node, name, onnx::AttributeProto::FLOATS);
  for (float value : values)
    attribute.add_floats(value);
  return attribute;
}

// Collects errors and warnings while `import` runs; an imported module must verify.
template <typename Import>
static OwningOpRef<ModuleOp> capture(MLIRContext &context, std::vector<std::string> &errors,
                                     std::vector<std::string> &warnings, Import import) {
  errors.clear();
  warnings.clear();
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    (diagnostic.getSeverity() == DiagnosticSeverity::Error ? errors : warnings).push_back(diagnostic.str());
    return success();
  });
  OwningOpRef<ModuleOp> module = import();
  EXPECT_EQ(bool(module), errors.empty()) << (errors.empty() ? "refused without a reason" : errors.front());
  if (module)
    EXPECT_TRUE(succeeded(verify(*module))) << (errors.empty() ? "" : errors.front());
  return module;
}

ModuleOp ImportTest::importBytes(const std::string &bytes, const std::string &folder, const ImportOptions &options) {
  module = capture(context, errors, warnings,
                   [&] { return importOnnx(ModelSource::memory(bytes, folder), context, options); });
  return module ? *module : ModuleOp();
}

ModuleOp ImportTest::import(const TestModel &model, const std::string &folder, const ImportOptions &options) {
  return importBytes(model.bytes(), folder, options);
}

ModuleOp ImportTest::importFile(const std::string &path) {
  module = capture(context, errors, warnings, [&] { return importOnnx(ModelSource::file(path), context); });
  return module ? *module : ModuleOp();
}

void ImportTest::expectFirst(ErrorCode code, const std::string &text) {
  EXPECT_FALSE(module) << "the model was accepted";
  ASSERT_FALSE(errors.empty());
  std::string prefix = "[F" + std::to_string(unsigned(code)) + "]";
  EXPECT_TRUE(StringRef(errors.front()).starts_with(prefix)) << errors.front() << ", expected " << prefix;
  EXPECT_TRUE(StringRef(errors.front()).contains(text)) << errors.front() << ", expected " << text;
}

void ImportTest::expectError(const TestModel &model, ErrorCode code, const std::string &text,
                             const std::string &folder) {
  import(model, folder);
  expectFirst(code, text);
}

static Block *bodyOf(ModuleOp module) {
  auto main = module.lookupSymbol<func::FuncOp>("main");
  return &main.getBody().front();
}

std::string ImportTest::ops() {
  if (!module)
    return "nothing: " + (errors.empty() ? std::string() : errors.front());
  std::string names;
  for (Operation &op : *bodyOf(*module))
    if (!isa<graph::ConstantOp, graph::NoneOp, func::ReturnOp>(op))
      names += (names.empty() ? "" : " ") + op.getName().stripDialect().str();
  return names;
}

Operation *ImportTest::op(const std::string &name, unsigned occurrence) {
  for (Operation &op : *bodyOf(*module))
    if (op.getName().stripDialect() == name && occurrence-- == 0)
      return &op;
  return nullptr;
}

std::string ImportTest::resultType(unsigned index) {
  if (!module)
    return "nothing: " + (errors.empty() ? std::string() : errors.front());
  std::string text;
  llvm::raw_string_ostream(text) << bodyOf(*module)->getTerminator()->getOperand(index).getType();
  return text;
}

std::vector<int64_t> ImportTest::intsOf(Value value) {
  auto elements = graph::constantElementsOf(value);
  return elements ? std::vector<int64_t>(elements->begin(), elements->end()) : std::vector<int64_t>{-12345};
}

TemporaryFolder::TemporaryFolder() {
  llvm::SmallString<64> path;
  llvm::sys::fs::createUniqueDirectory("fathom-import-test", path);
  folder = path.str().str();
}

// LLVM's function for this stops at what is neither file nor folder, such as a pipe.
TemporaryFolder::~TemporaryFolder() {
  std::error_code code;
  std::filesystem::remove_all(folder, code);
  EXPECT_FALSE(code) << code.message();
  EXPECT_FALSE(std::filesystem::exists(folder, code));
}

void TemporaryFolder::write(const std::string &name, const std::string &bytes) const {
  std::ofstream(path(name), std::ios::binary) << bytes;
}

} // namespace fathom::test
