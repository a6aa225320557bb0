// Loading through the runtime's C interface, inputs that are made up, and quartiles of times.
#include "compiler/driver/ModelRuns.h"

#include "compiler/support/Cancellation.h"
#include "compiler/support/Failure.h"
#include "runtime/fathom_rt.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/JSON.h"
#include <chrono>
#include <cstring>
#include <ctime>
#include <random>

using namespace llvm;

namespace fathom {

namespace {

using Clock = std::chrono::steady_clock;
constexpr size_t leastRuns = 5, mostRuns = 200;

Error take(fathom_status *status) {
  if (!status)
    return Error::success();
  Error error = fail(ErrorCode(fathom_code_number(fathom_status_code(status))), fathom_status_message(status));
  fathom_status_free(status);
  return error;
}

struct Tensor {
  SmallVector<int64_t> dims;
  std::vector<char> bytes;
  int32_t dtype;

  Tensor(int32_t dtype, SmallVector<int64_t> given) : dims(std::move(given)), dtype(dtype) {
    size_t count = fathom_dtype_bytes(dtype);
    for (int64_t dim : dims)
      count *= size_t(dim);
    bytes.resize(count);
  }
  fathom_tensor view() { return {bytes.data(), dtype, int32_t(dims.size()), dims.data(), bytes.size()}; }
};

// What the model was compiled to be good at; else 1, as far as that is allowed.
StringMap<int64_t> sizesOf(fathom_model *model) {
  StringMap<int64_t> sizes;
  Expected<json::Value> manifest = json::parse(fathom_model_manifest(model));
  if (!manifest)
    return consumeError(manifest.takeError()), sizes;
  const json::Object *object = manifest->getAsObject();
  const json::Array *symbols = object ? object->getArray("symbols") : nullptr;
  for (const json::Value &value : symbols ? *symbols : json::Array())
    if (const json::Object *symbol = value.getAsObject())
      sizes[symbol->getString("name").value_or("")] =
          symbol->getInteger("likely").value_or(std::max<int64_t>(1, symbol->getInteger("min").value_or(1)));
  return sizes;
}

// What disturbs a run makes it slower: the lower quartile moves less with it than the median.
double lowerQuartile(std::vector<double> &values) {
  auto place = values.begin() + ptrdiff_t(values.size() / 4);
  std::nth_element(values.begin(), place, values.end());
  return *place;
}

// Of this thread, without what others had its CPU for.
double cpuNanoseconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return double(time.tv_sec) * 1e9 + double(time.tv_nsec);
}

} // namespace

struct ModelRun::State {
  fathom_model *model = nullptr;
  fathom_context *context = nullptr;
  std::vector<Tensor> inputs, outputs;

  ~State() {
    fathom_context_free(context);
    fathom_model_free(model);
  }
  Error makeInputs();
  Error makeOutputs();
  Error run();
};

Error ModelRun::State::makeInputs() {
  StringMap<int64_t> sizes = sizesOf(model);
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  for (size_t i = 0; i < fathom_model_input_count(model); ++i) {
    fathom_tensor_info info;
    if (Error error = take(fathom_model_input(model, i, &info)))
      return error;
    SmallVector<int64_t> dims(info.dims, info.dims + info.rank);
    for (auto [d, dim] : enumerate(dims))
      if (dim < 0)
        dim = info.symbols && info.symbols[d] && sizes.contains(info.symbols[d]) ? sizes[info.symbols[d]] : 1;
    Tensor &input = inputs.emplace_back(info.dtype, std::move(dims));
    if (info.dtype == FATHOM_F32)
      for (size_t at = 0; at < input.bytes.size(); at += sizeof(float)) {
        float value = normal(random);
        std::memcpy(&input.bytes[at], &value, sizeof value);
      }
  }
  return Error::success();
}

Error ModelRun::State::makeOutputs() {
  std::vector<SmallVector<int64_t>> dims;
  std::vector<int32_t> dtypes;
  for (size_t i = 0; i < fathom_model_output_count(model); ++i) {
    fathom_tensor_info info;
    if (Error error = take(fathom_model_output(model, i, &info)))
      return error;
    dims.emplace_back(size_t(info.rank)), dtypes.push_back(info.dtype);
  }
  SmallVector<const int64_t *> inputDims;
  SmallVector<int64_t *> outputDims;
  for (const Tensor &input : inputs)
    inputDims.push_back(input.dims.data());
  for (SmallVector<int64_t> &sizes : dims)
    outputDims.push_back(sizes.data());
  if (Error error = take(fathom_context_output_dims(context, inputDims.data(), outputDims.data())))
    return error;
  for (auto [sizes, dtype] : zip_equal(dims, dtypes)) {
    if (is_contained(sizes, -1))
      return fail(ErrorCode::UnsupportedShape, "sizes of outputs depend on data");
    outputs.emplace_back(dtype, std::move(sizes));
  }
  return Error::success();
}

Error ModelRun::State::run() {
  SmallVector<fathom_tensor> in, out;
  for (Tensor &input : inputs)
    in.push_back(input.view());
  for (Tensor &output : outputs)
    out.push_back(output.view());
  return take(fathom_context_run(context, in.data(), in.size(), out.data(), out.size()));
}

ModelRun::ModelRun() : state(std::make_unique<State>()) {}
ModelRun::ModelRun(ModelRun &&) = default;
ModelRun::~ModelRun() = default;

Expected<ModelRun> ModelRun::load(StringRef path, int threads) {
  ModelRun run;
  State &state = *run.state;
  if (Error error = take(fathom_model_load(path.str().c_str(), &state.model)))
    return std::move(error);
  fathom_context_options options = FATHOM_CONTEXT_OPTIONS_INIT;
  options.threads = threads;
  if (Error error = take(fathom_context_create(state.model, &options, &state.context)))
    return std::move(error);
  if (Error error = state.makeInputs())
    return std::move(error);
  if (Error error = state.makeOutputs())
    return std::move(error);
  // Pages are touched and the caches are warm when the first run is timed.
  if (Error error = state.run())
    return std::move(error);
  return std::move(run);
}

Expected<double> ModelRun::nanoseconds() {
  bool isAlone = fathom_context_threads(state->context) == 1;
  auto start = Clock::now();
  double cpuStart = cpuNanoseconds();
  if (Error error = state->run())
    return std::move(error);
  return isAlone ? cpuNanoseconds() - cpuStart : std::chrono::duration<double, std::nano>(Clock::now() - start).count();
}

Expected<std::vector<double>> ModelRun::kernelNanoseconds() {
  fathom_context_set_profiling(state->context, 1);
  Error error = state->run();
  fathom_context_set_profiling(state->context, 0);
  if (error)
    return std::move(error);
  std::vector<double> times(fathom_model_kernel_count(state->model), 0);
  for (size_t i = 0; i < fathom_context_profile_count(state->context); ++i) {
    fathom_profile_entry entry;
    if (Error error = take(fathom_context_profile(state->context, i, &entry)))
      return std::move(error);
    times[size_t(entry.kernel)] += double(entry.end_ns - entry.start_ns);
  }
  return times;
}

// Calls `turn` for one model after the other until the time is over.
static Error inTurns(size_t count, double seconds, function_ref<Error(size_t)> turn) {
  auto start = Clock::now();
  for (size_t runs = 0; runs < mostRuns; ++runs) {
    if (runs >= leastRuns && std::chrono::duration<double>(Clock::now() - start).count() > seconds)
      break;
    for (size_t i = 0; i < count; ++i) {
      if (isCancelled())
        return fail(ErrorCode::Device, "cancelled");
      if (Error error = turn(i))
        return error;
    }
  }
  return Error::success();
}

Expected<std::vector<double>> typicalTimes(ArrayRef<std::unique_ptr<ModelRun>> models, double seconds) {
  std::vector<std::vector<double>> times(models.size());
  Error error = inTurns(models.size(), seconds, [&](size_t i) -> Error {
    Expected<double> time = models[i]->nanoseconds();
    if (!time)
      return time.takeError();
    times[i].push_back(*time);
    return Error::success();
  });
  if (error)
    return std::move(error);
  std::vector<double> quartiles;
  for (std::vector<double> &values : times)
    quartiles.push_back(lowerQuartile(values));
  return quartiles;
}

Expected<std::vector<std::vector<double>>> typicalKernelTimes(ArrayRef<std::unique_ptr<ModelRun>> models,
                                                              double seconds) {
  // Of each model, for each kernel, its times.
  std::vector<std::vector<std::vector<double>>> times(models.size());
  Error error = inTurns(models.size(), seconds, [&](size_t i) -> Error {
    Expected<std::vector<double>> run = models[i]->kernelNanoseconds();
    if (!run)
      return run.takeError();
    times[i].resize(run->size());
    for (auto [of, time] : zip_equal(times[i], *run))
      of.push_back(time);
    return Error::success();
  });
  if (error)
    return std::move(error);
  std::vector<std::vector<double>> quartiles(models.size());
  for (auto [of, kernels] : zip_equal(quartiles, times))
    for (std::vector<double> &values : kernels)
      of.push_back(lowerQuartile(values));
  return quartiles;
}

} // namespace fathom
