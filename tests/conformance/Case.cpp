// Runs a case: import, compile for its target, then every data set with one thread and with two.
#include "Case.h"

#include "GuardedBuffer.h"
#include "TestTensor.h"
#include "compiler/driver/Check.h"
#include "compiler/driver/Compile.h"
#include "onnx.pb.h"
#include "llvm/Support/FormatVariadic.h"
#include <ctime>
#include <fstream>
#include <memory>
#include <sys/mman.h>
#include <unistd.h>

namespace fs = std::filesystem;

namespace fathom::conformance {
namespace {

struct Release {
  void operator()(fathom_model *model) const { fathom_model_free(model); }
  void operator()(fathom_context *context) const { fathom_context_free(context); }
};

// The message of a status, which is freed; empty where all is well.
std::string take(fathom_status *status) {
  std::string message = status ? fathom_status_message(status) : "";
  fathom_status_free(status);
  return message;
}

// The types that the model declares, which say how to read its data.
struct Signature {
  std::vector<onnx::TypeProto> inputs, outputs;
};

struct DataSet {
  std::vector<TestValue> inputs, outputs;
};

std::string readDataSet(const Case &testCase, const Signature &types, int number, DataSet &set) {
  fs::path folder = testCase.folder / ("test_data_set_" + std::to_string(number));
  auto read = [&](const char *kind, const std::vector<onnx::TypeProto> &declared,
                  std::vector<TestValue> &values) -> std::string {
    for (size_t i = 0;; ++i) {
      fs::path path = folder / (std::string(kind) + "_" + std::to_string(i) + ".pb");
      if (!fs::exists(path))
        return "";
      auto value = readValue(path, i < declared.size() ? declared[i] : onnx::TypeProto());
      if (!value)
        return "test data that are not numeric tensors";
      values.push_back(std::move(*value));
    }
  };
  std::string problem = read("input", types.inputs, set.inputs);
  return problem.empty() ? read("output", types.outputs, set.outputs) : problem;
}

// The inputs that a caller gives: older models list their weights as inputs too.
std::vector<onnx::ValueInfoProto *> inputsOf(onnx::GraphProto &graph) {
  std::vector<onnx::ValueInfoProto *> inputs;
  for (onnx::ValueInfoProto &input : *graph.mutable_input())
    if (llvm::none_of(graph.initializer(), [&](const auto &tensor) { return tensor.name() == input.name(); }))
      inputs.push_back(&input);
  return inputs;
}

// The tensor inside a type, whatever is around it.
onnx::TypeProto::Tensor *tensorIn(onnx::TypeProto *type) {
  if (type->has_optional_type())
    type = type->mutable_optional_type()->mutable_elem_type();
  if (type->has_sequence_type())
    type = type->mutable_sequence_type()->mutable_elem_type();
  return type->has_tensor_type() ? type->mutable_tensor_type() : nullptr;
}

void makeDynamic(onnx::GraphProto &graph) {
  for (onnx::ValueInfoProto *input : inputsOf(graph)) {
    onnx::TypeProto::Tensor *tensor = tensorIn(input->mutable_type());
    if (!tensor || !tensor->has_shape())
      continue;
    int axis = 0;
    for (auto &dim : *tensor->mutable_shape()->mutable_dim()) {
      // Half of them have a name, as exporters give or leave it out.
      if (dim.has_dim_value() && axis % 2)
        dim.clear_value();
      else if (dim.has_dim_value())
        dim.set_dim_param(input->name() + "_dim_" + std::to_string(axis));
      ++axis;
    }
  }
  // What the model declares about the rest no longer holds.
  graph.clear_value_info();
  for (onnx::ValueInfoProto &output : *graph.mutable_output())
    if (onnx::TypeProto::Tensor *tensor = tensorIn(output.mutable_type()))
      tensor->clear_shape();
}

void addInitializer(onnx::GraphProto &graph, const std::string &name, const TestTensor &value, int32_t dtype) {
  onnx::TensorProto &constant = *graph.add_initializer();
  constant.set_name(name);
  constant.set_data_type(dtype);
  constant.mutable_dims()->Add(value.dims.begin(), value.dims.end());
  constant.set_raw_data(value.bytes.data(), value.bytes.size());
}

onnx::NodeProto &addNode(onnx::GraphProto &graph, const char *op, const std::string &output) {
  onnx::NodeProto &node = *graph.add_node();
  node.set_op_type(op);
  node.add_output(output);
  return node;
}

// Nodes that make a sequence or an optional of constants.
void makeCompound(onnx::GraphProto &graph, const std::string &name, const onnx::TypeProto &type,
                  const TestValue &value) {
  const onnx::TypeProto &content = value.isOptional ? type.optional_type().elem_type() : type;
  std::string inner = value.isOptional ? name + "/content" : name;
  int32_t dtype = tensorIn(const_cast<onnx::TypeProto *>(&type))->elem_type();
  for (auto [i, tensor] : llvm::enumerate(value.tensors))
    addInitializer(graph, value.isSequence ? inner + "/" + std::to_string(i) : inner, tensor, dtype);
  if (value.isSequence && value.isPresent) {
    onnx::NodeProto &sequence = addNode(graph, value.tensors.empty() ? "SequenceEmpty" : "SequenceConstruct", inner);
    for (size_t i = 0; i < value.tensors.size(); ++i)
      sequence.add_input(inner + "/" + std::to_string(i));
    if (value.tensors.empty()) {
      onnx::AttributeProto &attribute = *sequence.add_attribute();
      attribute.set_name("dtype");
      attribute.set_type(onnx::AttributeProto::INT);
      attribute.set_i(dtype);
    }
  }
  if (!value.isOptional)
    return;
  onnx::NodeProto &optional = addNode(graph, "Optional", name);
  if (value.isPresent) {
    optional.add_input(inner);
    return;
  }
  onnx::AttributeProto &attribute = *optional.add_attribute();
  attribute.set_name("type");
  attribute.set_type(onnx::AttributeProto::TYPE_PROTO);
  *attribute.mutable_tp() = content;
}

// The inputs become initializers with the first data set's values, or nodes that make what no initializer can be.
void makeConstant(onnx::GraphProto &graph, const DataSet &set) {
  std::vector<onnx::ValueInfoProto> inputs;
  for (onnx::ValueInfoProto *input : inputsOf(graph))
    inputs.push_back(*input);
  for (auto [input, value] : llvm::zip(inputs, set.inputs)) {
    if (!value.isOptional && !value.isSequence) {
      addInitializer(graph, input.name(), value.tensors.front(), input.type().tensor_type().elem_type());
      continue;
    }
    makeCompound(graph, input.name(), input.type(), value);
    auto &list = *graph.mutable_input();
    for (int i = list.size() - 1; i >= 0; --i)
      if (list[i].name() == input.name())
        list.DeleteSubrange(i, 1);
  }
}

// The model's bytes, changed as the case's way says.
std::string readModel(const Case &testCase, onnx::ModelProto &model, Signature &types, std::string &bytes) {
  std::ifstream file(testCase.folder / "model.onnx", std::ios::binary);
  if (!model.ParseFromIstream(&file))
    return "the model cannot be read";
  for (const onnx::ValueInfoProto *input : inputsOf(*model.mutable_graph()))
    types.inputs.push_back(input->type());
  for (const onnx::ValueInfoProto &output : model.graph().output())
    types.outputs.push_back(output.type());
  if (testCase.way == Way::Dynamic)
    makeDynamic(*model.mutable_graph());
  // Strings and the like are left as they are; the compiler says what it thinks of them.
  if (DataSet set; testCase.way == Way::Constant && readDataSet(testCase, types, 0, set).empty())
    makeConstant(*model.mutable_graph(), set);
  bytes = model.SerializeAsString();
  return "";
}

// Guarded copies of a data set's tensors, as the runtime takes them.
struct Buffers {
  std::vector<GuardedBuffer> memory;
  std::vector<fathom_tensor> tensors;

  Buffers(const std::vector<TestTensor> &like, Guard guard, bool fill) {
    for (const TestTensor &tensor : like) {
      GuardedBuffer &buffer = memory.emplace_back(tensor.bytes.size(), guard);
      if (fill) {
        std::copy(tensor.bytes.begin(), tensor.bytes.end(), buffer.data());
        buffer.makeReadOnly();
      }
      tensors.push_back({buffer.data(), tensor.dtype, int32_t(tensor.dims.size()), tensor.dims.data(), buffer.size()});
    }
  }
};

// A data set as the artifact takes it, which has several tensors for a sequence or an optional.
struct Tensors {
  std::vector<TestTensor> inputs, outputs;
};

std::string runDataSet(fathom_context *context, const Tensors &set, Guard guard, Buffers &outputs) {
  Buffers inputs(set.inputs, guard, /*fill=*/true);
  std::string problem = take(fathom_context_run(context, inputs.tensors.data(), inputs.tensors.size(),
                                                outputs.tensors.data(), outputs.tensors.size()));
  if (!problem.empty())
    return "run: " + problem;
  for (auto [i, want] : llvm::enumerate(set.outputs)) {
    if (!outputs.memory[i].slackIsIntact())
      return llvm::formatv("output {0} was written outside its bounds", i);
    if (std::string difference = compare(want, outputs.memory[i].data()); !difference.empty())
      return llvm::formatv("mismatch in output {0}: {1}", i, difference);
  }
  return "";
}

std::vector<TestTensor> tensorsFor(const std::vector<TestValue> &values, std::vector<TestTensor> like) {
  std::vector<TestTensor> tensors;
  for (const TestValue &value : values) {
    size_t first = tensors.size(), before = like.size();
    std::vector<TestTensor> wanted = like;
    for (TestTensor &tensor : conformance::tensorsFor(value, like))
      tensors.push_back(std::move(tensor));
    // The suite stores numbers of type bfloat16 as if they were uint16.
    for (size_t i = first; i < tensors.size() && i - first < before; ++i)
      if (tensors[i].dtype == FATHOM_U16 && wanted[i - first].dtype == FATHOM_BF16)
        tensors[i].dtype = FATHOM_BF16;
  }
  return tensors;
}

Tensors tensorsFor(fathom_model *model, const DataSet &set) {
  auto describe = [](const fathom_tensor_info &info) {
    return TestTensor{info.name, info.dtype, {info.dims, info.dims + info.rank}, {}};
  };
  std::vector<TestTensor> inputs, outputs;
  fathom_tensor_info info;
  for (size_t i = 0; i < fathom_model_input_count(model); ++i)
    if (take(fathom_model_input(model, i, &info)).empty())
      inputs.push_back(describe(info));
  for (size_t i = 0; i < fathom_model_output_count(model); ++i)
    if (take(fathom_model_output(model, i, &info)).empty())
      outputs.push_back(describe(info));
  return {tensorsFor(set.inputs, inputs), tensorsFor(set.outputs, outputs)};
}

// Both thread counts must give the same bits; each run touches another end of the guards.
std::string runModel(fathom_model *model, const Case &testCase, const Signature &types) {
  for (int i = 0;; ++i) {
    // Constants have the values of the first data set.
    if (i > 0 &&
        (testCase.way == Way::Constant || !fs::is_directory(testCase.folder / ("test_data_set_" + std::to_string(i)))))
      return "";
    DataSet values;
    if (std::string problem = readDataSet(testCase, types, i, values); !problem.empty())
      return problem;
    if (values.outputs.empty())
      return "no data set";
    if (testCase.way == Way::Constant)
      values.inputs.clear();
    Tensors set = tensorsFor(model, values);
    std::vector<Buffers> results;
    for (int32_t threads : {1, 2}) {
      Guard guard = threads == 1 ? Guard::End : Guard::Start;
      fathom_context_options options = FATHOM_CONTEXT_OPTIONS_INIT;
      options.threads = threads;
      useGuardedAllocator(options, guard);
      fathom_context *created = nullptr;
      if (std::string problem = take(fathom_context_create(model, &options, &created)); !problem.empty())
        return "context: " + problem;
      std::unique_ptr<fathom_context, Release> context(created);
      Buffers &outputs = results.emplace_back(set.outputs, guard, /*fill=*/false);
      if (std::string problem = runDataSet(context.get(), set, guard, outputs); !problem.empty())
        return llvm::formatv("{0} ({1} thread{2})", problem, threads, threads == 1 ? "" : "s");
    }
    for (auto [o, want] : llvm::enumerate(set.outputs))
      if (memcmp(results[0].memory[o].data(), results[1].memory[o].data(), want.bytes.size()) != 0)
        return llvm::formatv("output {0} depends on the number of threads", o);
  }
}

struct MemoryFile {
  int fd = memfd_create("conformance", MFD_CLOEXEC);
  std::string path = "/proc/self/fd/" + std::to_string(fd);

  MemoryFile() = default;
  MemoryFile(const MemoryFile &) = delete;
  ~MemoryFile() { close(fd); }
};

// Compiles for the case's target; the problem, if there is one.
std::string compile(const Case &testCase, const std::string &bytes, const MemoryFile &artifact, double &milliseconds) {
  auto context = createContext();
  std::string firstError;
  mlir::ScopedDiagnosticHandler handler(context.get(), [&](mlir::Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error && firstError.empty())
      firstError = diagnostic.str();
  });
  std::clock_t start = std::clock();
  auto module = importOnnx(ModelSource::memory(bytes, testCase.folder.string()), *context);
  if (!module)
    return firstError.empty() ? "import failed without an error" : firstError;
  CompileOptions options;
  options.target = llvm::cantFail(parseTarget(testCase.target));
  options.threads = 1;
  CompileReport report;
  bool compiled = llvm::succeeded(compileModule(*module, options, artifact.path, report));
  // Of the processor: on one thread it is what a clock shows on an idle machine, and other load does not change it.
  milliseconds = 1e3 * double(std::clock() - start) / CLOCKS_PER_SEC;
  return compiled ? "" : firstError.empty() ? "compilation failed without an error" : firstError;
}

// What keeps the model from being compiled must be found without compiling it, and nothing else. Its weights are in it.
std::string compareWithCheck(const std::string &bytes, const std::string &problem) {
  MemoryFile model;
  std::ofstream(model.path, std::ios::binary) << bytes;
  auto context = createContext();
  std::vector<Problem> problems = findProblems(ModelSource::file(model.path), *context);
  if (problems.empty() == problem.empty())
    return "";
  return problems.empty() ? "check finds nothing, but: " + problem : "compiles, but check says: " + problems[0].message;
}

} // namespace

std::string Case::key() const {
  static constexpr const char *suffixes[] = {"@given", "@dynamic", "@constant"};
  return name + suffixes[int(way)];
}

std::vector<Case> findCases(const fs::path &suite) {
  std::vector<Case> cases;
  for (const char *group : {"node", "pytorch-converted", "pytorch-operator", "simple"})
    for (std::error_code missing; const fs::directory_entry &entry : fs::directory_iterator(suite / group, missing))
      if (fs::exists(entry.path() / "model.onnx"))
        cases.push_back({std::string(group) + "/" + entry.path().filename().string(), entry.path()});
  llvm::sort(cases, [](const Case &x, const Case &y) { return x.name < y.name; });
  return cases;
}

CaseResult runCase(const Case &testCase) {
  CaseResult result;
  onnx::ModelProto proto;
  std::string bytes;
  Signature types;
  result.problem = readModel(testCase, proto, types, bytes);
  if (!result.problem.empty())
    return result;
  result.oneNode = proto.graph().node_size() == 1 && proto.functions_size() == 0;
  MemoryFile artifact;
  result.problem = compile(testCase, bytes, artifact, result.compileMs);
  if (testCase.target == "host")
    result.disagreement = compareWithCheck(bytes, result.problem);
  if (!result.problem.empty())
    return result;
  fathom_model *loaded = nullptr;
  result.problem = take(fathom_model_load(artifact.path.c_str(), &loaded));
  std::unique_ptr<fathom_model, Release> model(loaded);
  if (result.problem.empty())
    result.problem = runModel(model.get(), testCase, types);
  return result;
}

} // namespace fathom::conformance
