// Runs a case: import, compile for the host, then every data set with one thread and with two.
#include "Case.h"

#include "GuardedBuffer.h"
#include "TestTensor.h"
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

struct DataSet {
  std::vector<TestTensor> inputs, outputs;
};

std::string readDataSet(const Case &testCase, int number, DataSet &set) {
  fs::path folder = testCase.folder / ("test_data_set_" + std::to_string(number));
  auto read = [&](const char *kind, std::vector<TestTensor> &tensors) -> std::string {
    for (int i = 0;; ++i) {
      fs::path path = folder / (std::string(kind) + "_" + std::to_string(i) + ".pb");
      if (!fs::exists(path))
        return "";
      auto tensor = readTensor(path);
      if (!tensor)
        return "test data that are not numeric tensors";
      tensors.push_back(std::move(*tensor));
    }
  };
  std::string problem = read("input", set.inputs);
  return problem.empty() ? read("output", set.outputs) : problem;
}

// The inputs that a caller gives: older models list their weights as inputs too.
std::vector<onnx::ValueInfoProto *> inputsOf(onnx::GraphProto &graph) {
  std::vector<onnx::ValueInfoProto *> inputs;
  for (onnx::ValueInfoProto &input : *graph.mutable_input())
    if (llvm::none_of(graph.initializer(), [&](const auto &tensor) { return tensor.name() == input.name(); }))
      inputs.push_back(&input);
  return inputs;
}

void makeDynamic(onnx::GraphProto &graph) {
  for (onnx::ValueInfoProto *input : inputsOf(graph)) {
    int axis = 0;
    for (auto &dim : *input->mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim()) {
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
    if (output.type().has_tensor_type())
      output.mutable_type()->mutable_tensor_type()->clear_shape();
}

// The inputs become initializers with the first data set's values.
void makeConstant(onnx::GraphProto &graph, const DataSet &set) {
  std::vector<onnx::ValueInfoProto *> inputs = inputsOf(graph);
  for (auto [input, value] : llvm::zip(inputs, set.inputs)) {
    onnx::TensorProto &constant = *graph.add_initializer();
    constant.set_name(input->name());
    constant.set_data_type(input->type().tensor_type().elem_type());
    constant.mutable_dims()->Add(value.dims.begin(), value.dims.end());
    constant.set_raw_data(value.bytes.data(), value.bytes.size());
  }
}

// The model's bytes, changed as the case's way says.
std::string readModel(const Case &testCase, onnx::ModelProto &model, std::string &bytes) {
  std::ifstream file(testCase.folder / "model.onnx", std::ios::binary);
  if (!model.ParseFromIstream(&file))
    return "the model cannot be read";
  if (testCase.way == Way::Dynamic)
    makeDynamic(*model.mutable_graph());
  // Sequences and the like cannot be constants; the compiler says what it thinks of them.
  if (DataSet set; testCase.way == Way::Constant && readDataSet(testCase, 0, set).empty())
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

std::string runDataSet(fathom_context *context, const DataSet &set, Guard guard, Buffers &outputs) {
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

// The suite stores numbers of type bfloat16 as if they were uint16.
void adoptTypes(fathom_model *model, DataSet &set) {
  auto adopt = [&](TestTensor &tensor, const fathom_tensor_info &info) {
    if (tensor.dtype == FATHOM_U16 && info.dtype == FATHOM_BF16)
      tensor.dtype = FATHOM_BF16;
  };
  fathom_tensor_info info;
  for (size_t i = 0; i < std::min(set.inputs.size(), fathom_model_input_count(model)); ++i)
    if (take(fathom_model_input(model, i, &info)).empty())
      adopt(set.inputs[i], info);
  for (size_t i = 0; i < std::min(set.outputs.size(), fathom_model_output_count(model)); ++i)
    if (take(fathom_model_output(model, i, &info)).empty())
      adopt(set.outputs[i], info);
}

// Both thread counts must give the same bits; each run touches another end of the guards.
std::string runModel(fathom_model *model, const Case &testCase) {
  for (int i = 0;; ++i) {
    // Constants have the values of the first data set.
    if (i > 0 &&
        (testCase.way == Way::Constant || !fs::is_directory(testCase.folder / ("test_data_set_" + std::to_string(i)))))
      return "";
    DataSet set;
    if (std::string problem = readDataSet(testCase, i, set); !problem.empty())
      return problem;
    if (set.outputs.empty())
      return "no data set";
    if (testCase.way == Way::Constant)
      set.inputs.clear();
    adoptTypes(model, set);
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
  result.problem = readModel(testCase, proto, bytes);
  if (!result.problem.empty())
    return result;
  result.oneNode = proto.graph().node_size() == 1 && proto.functions_size() == 0;
  auto context = createContext();
  std::string firstError;
  mlir::ScopedDiagnosticHandler handler(context.get(), [&](mlir::Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error && firstError.empty())
      firstError = diagnostic.str();
  });
  std::clock_t start = std::clock();
  auto module = importOnnxBytes(bytes, testCase.folder.string(), *context);
  if (!module) {
    result.problem = firstError.empty() ? "import failed without an error" : firstError;
    return result;
  }
  CompileOptions options;
  options.target = llvm::cantFail(parseTarget("host"));
  options.threads = 1;
  CompileReport report;
  int fd = memfd_create("conformance", MFD_CLOEXEC);
  std::string path = "/proc/self/fd/" + std::to_string(fd);
  bool compiled = llvm::succeeded(compileModule(*module, options, path, report));
  // Of the processor: on one thread it is what a clock shows on an idle machine, and other load does not change it.
  result.compileMs = 1e3 * double(std::clock() - start) / CLOCKS_PER_SEC;
  if (compiled) {
    fathom_model *loaded = nullptr;
    result.problem = take(fathom_model_load(path.c_str(), &loaded));
    std::unique_ptr<fathom_model, Release> model(loaded);
    if (result.problem.empty())
      result.problem = runModel(model.get(), testCase);
  } else {
    result.problem = firstError.empty() ? "compilation failed without an error" : firstError;
  }
  close(fd);
  return result;
}

} // namespace fathom::conformance
