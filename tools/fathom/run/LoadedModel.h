// A compiled model in this process: the runtime's C interface with owners and errors.
#pragma once

#include "runtime/fathom_rt.h"
#include "tools/fathom/run/Npy.h"
#include "llvm/Support/JSON.h"
#include <memory>

namespace fathom {

struct TensorSpec {
  std::string name;
  int32_t dtype;
  llvm::SmallVector<int64_t> dims;         // -1 where it is known only at run time
  llvm::SmallVector<std::string> dimNames; // of those; INPUT.AXIS where the model gives no name
  std::string part = {};                   // of a sequence or an optional: "data", "shapes", "present", "value"
  // The ranges that all its integers must lie in, each as two inclusive ends; see SizeExpression.h.
  std::vector<std::pair<llvm::json::Value, llvm::json::Value>> values = {};
};

struct SymbolSpec {
  std::string name;
  int64_t min, max;
  int64_t likely = 0; // what the model was compiled to be good at; 0: nothing was said
};

// How a trial run went.
enum class Fit { Good, BadIndex, BadSizes };

class LoadedModel {
public:
  static llvm::Expected<std::unique_ptr<LoadedModel>> load(llvm::StringRef path, int threads, int device);
  LoadedModel() = default;
  LoadedModel(const LoadedModel &) = delete;
  ~LoadedModel();

  std::vector<TensorSpec> inputs, outputs;
  std::vector<SymbolSpec> symbols;
  std::vector<std::string> strings; // some that the model knows

  // Room for the outputs of a run on these inputs.
  llvm::Expected<std::vector<Array>> allocateOutputs(llvm::ArrayRef<Array> inputValues);
  llvm::Error run(llvm::ArrayRef<Array> inputValues, llvm::MutableArrayRef<Array> outputValues);
  // In this context, perhaps another one. What data decides stays in it.
  fathom_status *start(fathom_context *in, llvm::ArrayRef<Array> inputValues,
                       llvm::MutableArrayRef<Array> outputValues) const;
  // Runs the model to see whether all indices in the inputs lie within what they select from, and the sizes go
  // together.
  llvm::Expected<Fit> tryRun(llvm::ArrayRef<Array> inputValues);
  // What the model says of inputs of these sizes before it runs.
  llvm::Error checkSizes(llvm::ArrayRef<llvm::SmallVector<int64_t>> inputDims);
  llvm::Expected<size_t> arenaBytes(llvm::ArrayRef<Array> inputValues);

  fathom_model *model = nullptr;
  fathom_context *context = nullptr;

private:
  // Sizes of the outputs of a run on these inputs, -1 where data decide.
  fathom_status *sizeOutputs(llvm::ArrayRef<const int64_t *> inputDims, std::vector<llvm::SmallVector<int64_t>> &dims);
};

// A status as an error with Fathom's code, and a hint: this one, or what goes with its kind; frees the status.
llvm::Error takeStatus(fathom_status *status, const llvm::Twine &advice = "");

} // namespace fathom
