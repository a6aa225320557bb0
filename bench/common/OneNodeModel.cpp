// ONNX in memory, through the compiler's library and the runtime's C interface. A benchmark that cannot start ends.
#include "bench/common/OneNodeModel.h"

#include "compiler/driver/Compile.h"
#include "onnx.pb.h"
#include <random>
#include <sys/mman.h>
#include <unistd.h>

namespace fathom::bench {
namespace {

[[noreturn]] void stop(const std::string &why) {
  llvm::errs() << "cannot measure: " << why << "\n";
  exit(1);
}

void check(fathom_status *status) {
  if (status)
    stop(fathom_status_message(status));
}

void describe(onnx::ValueInfoProto &value, const char *name, const std::vector<int64_t> &dims) {
  value.set_name(name);
  onnx::TypeProto::Tensor &type = *value.mutable_type()->mutable_tensor_type();
  type.set_elem_type(onnx::TensorProto::FLOAT);
  for (int64_t size : dims)
    type.mutable_shape()->add_dim()->set_dim_value(size);
}

// A graph from x to y without its node.
onnx::ModelProto emptyModel(const std::vector<int64_t> &inputDims, const std::vector<int64_t> &outputDims) {
  onnx::ModelProto model;
  model.set_ir_version(8);
  model.add_opset_import()->set_version(17);
  describe(*model.mutable_graph()->add_input(), "x", inputDims);
  describe(*model.mutable_graph()->add_output(), "y", outputDims);
  return model;
}

onnx::NodeProto &addNode(onnx::ModelProto &model, const char *op, std::initializer_list<const char *> inputs,
                         const char *output = "y") {
  onnx::NodeProto &node = *model.mutable_graph()->add_node();
  node.set_name(std::string("node_") + output);
  node.set_op_type(op);
  for (const char *input : inputs)
    node.add_input(input);
  node.add_output(output);
  return node;
}

void addInts(onnx::NodeProto &node, const char *name, std::initializer_list<int64_t> values) {
  onnx::AttributeProto &attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(onnx::AttributeProto::INTS);
  for (int64_t value : values)
    attribute.add_ints(value);
}

void addWeight(onnx::ModelProto &model, const std::vector<int64_t> &dims, const std::vector<float> &values) {
  onnx::TensorProto &weight = *model.mutable_graph()->add_initializer();
  weight.set_name("w");
  weight.set_data_type(onnx::TensorProto::FLOAT);
  weight.mutable_dims()->Add(dims.begin(), dims.end());
  weight.set_raw_data(values.data(), values.size() * sizeof(float));
}

int64_t product(const std::vector<int64_t> &dims) {
  return std::accumulate(dims.begin(), dims.end(), int64_t(1), std::multiplies<>());
}

fathom_tensor tensorOf(std::vector<float> &values, const std::vector<int64_t> &dims) {
  return {values.data(), FATHOM_F32, int32_t(dims.size()), dims.data(), values.size() * sizeof(float)};
}

} // namespace

std::vector<float> randomFloats(int64_t count, uint64_t seed) {
  std::mt19937_64 generator(seed);
  std::vector<float> values(count);
  for (float &value : values)
    value = float(generator() >> 40) / float(1 << 23) - 1;
  return values;
}

OneNodeModel::OneNodeModel(const onnx::ModelProto &proto, std::vector<int64_t> inputDims,
                           std::vector<int64_t> outputDims)
    : input(randomFloats(product(inputDims), 1)), output(product(outputDims)), inputDims(std::move(inputDims)),
      outputDims(std::move(outputDims)) {
  std::string bytes = proto.SerializeAsString();
  auto mlirContext = createContext();
  auto module = importOnnx(ModelSource::memory(bytes, "."), *mlirContext);
  if (!module)
    stop("the model cannot be imported");
  CompileOptions options;
  options.target = llvm::cantFail(parseTarget("host"));
  // The budget is one for all weights of a model; a single operator has no others to share it with.
  options.algorithms.maxWeightGrowth = 4;
  CompileReport report;
  int fd = memfd_create("bench", MFD_CLOEXEC);
  std::string path = "/proc/self/fd/" + std::to_string(fd);
  if (failed(compileModule(*module, options, path, report)))
    stop("the model cannot be compiled");
  check(fathom_model_load(path.c_str(), &model));
  close(fd);
  fathom_context_options contextOptions = FATHOM_CONTEXT_OPTIONS_INIT;
  contextOptions.threads = 1;
  check(fathom_context_create(model, &contextOptions, &context));
}

OneNodeModel::OneNodeModel(OneNodeModel &&other) noexcept
    : input(std::move(other.input)), output(std::move(other.output)), inputDims(std::move(other.inputDims)),
      outputDims(std::move(other.outputDims)), model(std::exchange(other.model, nullptr)),
      context(std::exchange(other.context, nullptr)) {}

OneNodeModel::~OneNodeModel() {
  fathom_context_free(context);
  fathom_model_free(model);
}

void OneNodeModel::run() {
  fathom_tensor x = tensorOf(input, inputDims), y = tensorOf(output, outputDims);
  check(fathom_context_run(context, &x, 1, &y, 1));
}

OneNodeModel OneNodeModel::matMul(int64_t rows, int64_t columns, int64_t depth, const std::vector<float> &weight) {
  onnx::ModelProto model = emptyModel({rows, depth}, {rows, columns});
  addNode(model, "MatMul", {"x", "w"});
  addWeight(model, {depth, columns}, weight);
  return OneNodeModel(model, {rows, depth}, {rows, columns});
}

OneNodeModel OneNodeModel::conv(const ConvShape &shape, const std::vector<float> &weight) {
  auto pixels = [&](int64_t size) { return (size - shape.window) / shape.stride + 1; };
  std::vector<int64_t> input{1, shape.height, shape.width, shape.inputs},
      output{1, pixels(shape.height), pixels(shape.width), shape.outputs};
  onnx::ModelProto model = emptyModel(input, output);
  addInts(addNode(model, "Transpose", {"x"}, "first"), "perm", {0, 3, 1, 2});
  addInts(addNode(model, "Conv", {"first", "w"}, "result"), "strides", {shape.stride, shape.stride});
  addInts(addNode(model, "Transpose", {"result"}), "perm", {0, 2, 3, 1});
  addWeight(model, {shape.outputs, shape.inputs, shape.window, shape.window}, weight);
  return OneNodeModel(model, input, output);
}

OneNodeModel OneNodeModel::relu(int64_t elements) {
  onnx::ModelProto model = emptyModel({elements}, {elements});
  addNode(model, "Relu", {"x"});
  return OneNodeModel(model, {elements}, {elements});
}

} // namespace fathom::bench
