// Loading and running through the runtime's C interface.
#include "tools/fathom/run/LoadedModel.h"

#include "compiler/support/FileFormats.h"
#include "tools/fathom/Terminal.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace llvm;

namespace fathom {

// What helps where a run or a load fails so, unless more is known.
static StringRef adviceFor(fathom_code code) {
  switch (code) {
  case FATHOM_ERROR_UNSUPPORTED_CPU:
    return "'fathom inspect' shows what the model was compiled for";
  case FATHOM_ERROR_SHAPE:
    return "'fathom inspect' shows the sizes that the model takes; --dim NAME=SIZE says those of random inputs";
  case FATHOM_ERROR_INDEX:
    return "--input NAME=@FILE.npy gives an input's values; 'fathom inspect --json' shows the ranges of integers as "
           "values";
  default:
    return "";
  }
}

// Of a file that is no artifact.
static std::string whatItIs(StringRef path) {
  auto file = MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!file)
    return "";
  StringRef bytes = (*file)->getBuffer();
  if (looksLikeOnnx(bytes))
    return ("this is an ONNX model; 'fathom compile " + path + "' makes an artifact of it").str();
  return bytes.starts_with("\x7f"
                           "ELF")
             ? ""
             : recogniseFormat(bytes).str();
}

Error takeStatus(fathom_status *status, const Twine &advice) {
  if (!status)
    return Error::success();
  fathom_code code = fathom_status_code(status);
  std::string given = advice.str();
  Error error = fail(ErrorCode(fathom_code_number(code)), fathom_status_message(status),
                     given.empty() ? adviceFor(code) : StringRef(given));
  fathom_status_free(status);
  return error;
}

static TensorSpec describe(const fathom_tensor_info &info) {
  TensorSpec spec{info.name, info.dtype, {info.dims, info.dims + info.rank}, {}};
  for (int i = 0; i < info.rank; ++i)
    spec.dimNames.push_back(info.symbols && info.symbols[i] ? info.symbols[i] : spec.name + "." + std::to_string(i));
  return spec;
}

// Which tensors are parts of something, what their integers may be, which sizes are likely and which strings are known,
// only the manifest says.
static void describeFurther(StringRef manifest, std::vector<TensorSpec> &inputs, std::vector<SymbolSpec> &symbols,
                            std::vector<std::string> &strings) {
  Expected<json::Value> parsed = json::parse(manifest);
  if (!parsed)
    return consumeError(parsed.takeError());
  const json::Object *object = parsed->getAsObject();
  const json::Array *tensors = object ? object->getArray("inputs") : nullptr;
  const json::Array *known = object ? object->getArray("strings") : nullptr;
  for (const json::Value &text : known ? *known : json::Array())
    strings.push_back(text.getAsString().value_or("").str());
  for (size_t i = 0; tensors && i < std::min(tensors->size(), inputs.size()); ++i)
    if (const json::Object *tensor = (*tensors)[i].getAsObject()) {
      inputs[i].part = tensor->getString("part").value_or("").str();
      const json::Array *ranges = tensor->getArray("values");
      for (const json::Value &range : ranges ? *ranges : json::Array())
        if (const json::Array *ends = range.getAsArray(); ends && ends->size() == 2)
          inputs[i].values.emplace_back((*ends)[0], (*ends)[1]);
    }
  const json::Array *described = object ? object->getArray("symbols") : nullptr;
  for (const json::Value &value : described ? *described : json::Array())
    if (const json::Object *symbol = value.getAsObject())
      for (SymbolSpec &spec : symbols)
        if (symbol->getString("name") == StringRef(spec.name))
          spec.likely = symbol->getInteger("likely").value_or(0);
}

Expected<std::unique_ptr<LoadedModel>> LoadedModel::load(StringRef path, int threads, int device) {
  auto loaded = std::make_unique<LoadedModel>();
  if (fathom_status *status = fathom_model_load(path.str().c_str(), &loaded->model)) {
    std::string advice = fathom_status_code(status) == FATHOM_ERROR_FORMAT ? whatItIs(path) : "";
    return takeStatus(status, advice);
  }
  fathom_tensor_info info;
  for (size_t i = 0; i < fathom_model_input_count(loaded->model); ++i) {
    if (Error error = takeStatus(fathom_model_input(loaded->model, i, &info)))
      return std::move(error);
    loaded->inputs.push_back(describe(info));
  }
  for (size_t i = 0; i < fathom_model_output_count(loaded->model); ++i) {
    if (Error error = takeStatus(fathom_model_output(loaded->model, i, &info)))
      return std::move(error);
    loaded->outputs.push_back(describe(info));
  }
  for (size_t i = 0; i < fathom_model_symbol_count(loaded->model); ++i) {
    fathom_symbol_info symbol;
    if (Error error = takeStatus(fathom_model_symbol(loaded->model, i, &symbol)))
      return std::move(error);
    loaded->symbols.push_back({symbol.name, symbol.min, symbol.max});
  }
  describeFurther(fathom_model_manifest(loaded->model), loaded->inputs, loaded->symbols, loaded->strings);
  fathom_context_options options = FATHOM_CONTEXT_OPTIONS_INIT;
  options.threads = threads, options.device = device;
  if (Error error = takeStatus(fathom_context_create(loaded->model, &options, &loaded->context)))
    return std::move(error);
  return std::move(loaded);
}

LoadedModel::~LoadedModel() {
  fathom_context_free(context);
  fathom_model_free(model);
}

static SmallVector<const int64_t *> dimsOf(ArrayRef<Array> values) {
  return map_to_vector(values, [](const Array &value) { return value.dims.data(); });
}

fathom_status *LoadedModel::sizeOutputs(ArrayRef<const int64_t *> inputDims, std::vector<SmallVector<int64_t>> &dims) {
  for (const TensorSpec &output : outputs)
    dims.emplace_back(output.dims.size());
  auto pointers = map_to_vector(dims, [](SmallVector<int64_t> &sizes) { return sizes.data(); });
  return fathom_context_output_dims(context, inputDims.data(), pointers.data());
}

Error LoadedModel::checkSizes(ArrayRef<SmallVector<int64_t>> inputDims) {
  std::vector<SmallVector<int64_t>> dims;
  return takeStatus(
      sizeOutputs(map_to_vector(inputDims, [](const SmallVector<int64_t> &sizes) { return sizes.data(); }), dims));
}

Expected<std::vector<Array>> LoadedModel::allocateOutputs(ArrayRef<Array> inputValues) {
  std::vector<SmallVector<int64_t>> dims;
  if (Error error = takeStatus(sizeOutputs(dimsOf(inputValues), dims)))
    return std::move(error);
  std::vector<Array> values;
  for (auto [output, sizes] : zip(outputs, dims)) {
    // What data decides is known after the run, which makes room for it.
    if (is_contained(sizes, -1)) {
      values.emplace_back().dtype = output.dtype;
      values.back().dims = sizes;
      continue;
    }
    Expected<Array> value = Array::create(output.dtype, sizes);
    if (!value)
      return value.takeError();
    values.push_back(std::move(*value));
  }
  return std::move(values);
}

static fathom_tensor tensorOf(const Array &value) {
  if (is_contained(value.dims, -1))
    return {nullptr, value.dtype, int32_t(value.dims.size()), nullptr, 0};
  return {const_cast<char *>(value.data()), value.dtype, int32_t(value.dims.size()), value.dims.data(), value.bytes};
}

fathom_status *LoadedModel::start(fathom_context *in, ArrayRef<Array> inputValues,
                                  MutableArrayRef<Array> outputValues) const {
  auto inputTensors = map_to_vector(inputValues, tensorOf);
  auto outputTensors = map_to_vector(outputValues, tensorOf);
  return fathom_context_run(in, inputTensors.data(), inputTensors.size(), outputTensors.data(), outputTensors.size());
}

Error LoadedModel::run(ArrayRef<Array> inputValues, MutableArrayRef<Array> outputValues) {
  if (Error error = takeStatus(start(context, inputValues, outputValues)))
    return error;
  for (auto [i, value] : enumerate(outputValues)) {
    if (!is_contained(value.dims, -1))
      continue;
    fathom_tensor made;
    if (Error error = takeStatus(fathom_context_output(context, i, &made)))
      return error;
    Expected<Array> whole = Array::create(made.dtype, ArrayRef(made.dims, made.rank));
    if (!whole)
      return whole.takeError();
    if (made.bytes)
      std::memcpy(whole->data(), made.data, made.bytes);
    value = std::move(*whole);
  }
  return Error::success();
}

Expected<Fit> LoadedModel::tryRun(ArrayRef<Array> inputValues) {
  std::vector<SmallVector<int64_t>> dims;
  fathom_status *status = sizeOutputs(dimsOf(inputValues), dims);
  if (!status) {
    Expected<std::vector<Array>> outputValues = allocateOutputs(inputValues);
    if (!outputValues)
      return outputValues.takeError();
    status = start(context, inputValues, *outputValues);
  }
  fathom_code code = fathom_status_code(status);
  if (code == FATHOM_ERROR_INDEX || code == FATHOM_ERROR_SHAPE)
    return fathom_status_free(status), code == FATHOM_ERROR_INDEX ? Fit::BadIndex : Fit::BadSizes;
  if (Error error = takeStatus(status))
    return std::move(error);
  return Fit::Good;
}

Expected<size_t> LoadedModel::arenaBytes(ArrayRef<Array> inputValues) {
  SmallVector<const int64_t *> inputDims = dimsOf(inputValues);
  size_t bytes = 0;
  if (Error error = takeStatus(fathom_context_arena_bytes(context, inputDims.data(), &bytes)))
    return std::move(error);
  return bytes;
}

} // namespace fathom
