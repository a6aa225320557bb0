// Contexts of one model, lent to the calls that run it.
#include "python/bind/Runtime.h"
#include "runtime/CpuCount.h"
#include "runtime/Model.h"

#include <algorithm>
#include <chrono>
#include <sys/syscall.h>
#include <unistd.h>

namespace nb = nanobind;

namespace fathom::python {

// Signals have their effect while a run takes long, in the thread that Python handles them in.
static int32_t lookForSignals(void *) {
  nb::gil_scoped_acquire acquire;
  return PyErr_CheckSignals();
}

static int64_t now() { return std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count(); }

// So many parts of threads are noted at most, some 50 MB: who forgets to take them does not lose the memory.
static constexpr size_t maxNoted = 1 << 20;

namespace {

// The buffers of arrays, held as long as this is there.
class Views {
public:
  Views(const nb::list &arrays, bool writable) : views(nb::len(arrays)) {
    for (nb::handle array : arrays) {
      if (PyObject_GetBuffer(array.ptr(), &views[held], PyBUF_ND | (writable ? PyBUF_WRITABLE : 0)))
        throw nb::python_error();
      ++held;
    }
  }
  Views(const Views &) = delete;
  ~Views() {
    while (held)
      PyBuffer_Release(&views[--held]);
  }
  // They are contiguous, and their sizes are pointers into themselves.
  fathom_tensor tensor(size_t index, int32_t dtype) const {
    const Py_buffer &view = views[index];
    static_assert(sizeof(*view.shape) == sizeof(int64_t));
    return {view.buf, dtype, view.ndim, reinterpret_cast<const int64_t *>(view.shape), size_t(view.len)};
  }

private:
  std::vector<Py_buffer> views;
  size_t held = 0;
};

} // namespace

// How long somebody waits for a context before signals are looked for.
static constexpr std::chrono::milliseconds beforeLooking(50);

// A context for one call, without the GIL: waits for one where as many as are allowed are in use. There is none where a
// signal's handler has raised something meanwhile, which is then the thread's exception.
class Runner::Lease {
public:
  explicit Lease(Runner &runner) : runner(runner) {
    std::unique_lock<std::mutex> lock(runner.mutex);
    for (;;) {
      if (!runner.idle.empty()) {
        context = runner.idle.back();
        runner.idle.pop_back();
        break;
      }
      if (runner.all.size() + runner.begun < runner.limit) {
        ++runner.begun;
        lock.unlock();
        fathom_status *status = runner.create(context);
        lock.lock();
        --runner.begun;
        if (!status) {
          runner.all.push_back(context);
          break;
        }
        // Without memory for more, there are as many as there are.
        fathom_status_free(status);
        runner.limit = runner.all.size();
        continue;
      }
      if (runner.returned.wait_for(lock, beforeLooking) == std::cv_status::no_timeout)
        continue;
      // The handler may run the session itself.
      lock.unlock();
      bool isInterrupted = lookForSignals(nullptr) != 0;
      lock.lock();
      if (isInterrupted)
        break;
    }
    isProfiled = runner.isProfiled;
  }
  Lease(const Lease &) = delete;
  ~Lease() {
    if (!context)
      return;
    {
      std::lock_guard<std::mutex> lock(runner.mutex);
      runner.idle.push_back(context);
    }
    runner.returned.notify_one();
  }

  fathom_context *context = nullptr;
  bool isProfiled;

private:
  Runner &runner;
};

Runner::Runner(const Model &given, int threads, int device, uintptr_t stream, int givenLimit) : model(given.get()) {
  options.threads = threads, options.device = device;
  options.device_stream = reinterpret_cast<void *>(stream);
  options.interrupted = lookForSignals;
  fathom_context *context = nullptr;
  fathom_status *status;
  {
    nb::gil_scoped_release release;
    status = create(context);
  }
  check(status);
  all.push_back(context);
  idle.push_back(context);
  limit = size_t(std::max(1, givenLimit ? givenLimit : fathom::availableCpus() / this->threads()));
}

Runner::~Runner() {
  for (fathom_context *context : all)
    fathom_context_free(context);
}

fathom_status *Runner::create(fathom_context *&context) {
  return fathom_context_create(model.get(), &options, &context);
}

size_t Runner::mostContexts() {
  nb::gil_scoped_release release;
  std::lock_guard<std::mutex> lock(mutex);
  return limit;
}

size_t Runner::contexts() {
  nb::gil_scoped_release release;
  std::lock_guard<std::mutex> lock(mutex);
  return all.size();
}

// After a lease: raises what a handler did, or what went wrong.
static void check(bool isInterrupted, fathom_status *status) {
  if (isInterrupted)
    throw nb::python_error();
  check(status);
}

Dims Runner::outputDims(const Dims &inputDims) {
  if (inputDims.size() != fathom_model_input_count(model.get()))
    throw nb::value_error("as many shapes as inputs are needed");
  Dims result;
  std::vector<const int64_t *> inputs;
  std::vector<int64_t *> outputs;
  fathom_tensor_info info;
  for (size_t i = 0; i < inputDims.size(); ++i) {
    check(fathom_model_input(model.get(), i, &info));
    if (inputDims[i].size() != size_t(info.rank))
      throw nb::value_error("a shape has the wrong rank");
    inputs.push_back(inputDims[i].data());
  }
  for (size_t i = 0; i < fathom_model_output_count(model.get()); ++i) {
    check(fathom_model_output(model.get(), i, &info));
    result.emplace_back(info.rank);
  }
  for (std::vector<int64_t> &dims : result)
    outputs.push_back(dims.data());
  fathom_status *status = nullptr;
  bool isInterrupted;
  {
    nb::gil_scoped_release release;
    Lease lease(*this);
    isInterrupted = !lease.context;
    if (!isInterrupted)
      status = fathom_context_output_dims(lease.context, inputs.data(), outputs.data());
  }
  check(isInterrupted, status);
  return result;
}

void Runner::checkCounts(size_t inputs, size_t outputs) const {
  if (inputs != fathom_model_input_count(model.get()) || outputs != fathom_model_output_count(model.get()))
    throw nb::value_error("the wrong number of arrays");
}

fathom_status *Runner::runIn(Lease &lease, const std::vector<fathom_tensor> &tensors, size_t inputCount) {
  fathom_context_set_profiling(lease.context, lease.isProfiled ? 2 : 0);
  int64_t start = lease.isProfiled ? now() : 0;
  fathom_status *status = fathom_context_run(lease.context, tensors.data(), inputCount, tensors.data() + inputCount,
                                             tensors.size() - inputCount);
  if (lease.isProfiled)
    note(lease.context, start);
  return status;
}

void Runner::runAll(const std::vector<fathom_tensor> &tensors, size_t inputCount) {
  fathom_status *status = nullptr;
  bool isInterrupted;
  {
    nb::gil_scoped_release release;
    Lease lease(*this);
    isInterrupted = !lease.context;
    if (!isInterrupted)
      status = runIn(lease, tensors, inputCount);
  }
  check(isInterrupted, status);
}

static bool isUnknown(const std::vector<int64_t> &dims) {
  return std::find(dims.begin(), dims.end(), -1) != dims.end();
}

nb::list Runner::run(const std::vector<ConstBytes> &inputs, const Dims &inputDims, const std::vector<Bytes> &outputs,
                     const Dims &outputDims) {
  checkCounts(inputs.size(), outputs.size());
  checkCounts(inputDims.size(), outputDims.size());
  std::vector<fathom_tensor> tensors;
  fathom_tensor_info info;
  for (size_t i = 0; i < inputs.size(); ++i) {
    check(fathom_model_input(model.get(), i, &info));
    tensors.push_back({const_cast<uint8_t *>(inputs[i].data()), info.dtype, int32_t(inputDims[i].size()),
                       inputDims[i].data(), inputs[i].size()});
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    check(fathom_model_output(model.get(), i, &info));
    if (isUnknown(outputDims[i]))
      tensors.push_back({nullptr, info.dtype, int32_t(outputDims[i].size()), nullptr, 0});
    else
      tensors.push_back(
          {outputs[i].data(), info.dtype, int32_t(outputDims[i].size()), outputDims[i].data(), outputs[i].size()});
  }
  std::vector<std::pair<std::vector<int64_t>, std::vector<uint8_t>>> made;
  fathom_status *status = nullptr;
  bool isInterrupted;
  {
    nb::gil_scoped_release release;
    Lease lease(*this);
    isInterrupted = !lease.context;
    if (!isInterrupted)
      status = runIn(lease, tensors, inputs.size());
    // Copied before the next run in this context overwrites them.
    for (size_t i = 0; !isInterrupted && !status && i < outputs.size(); ++i) {
      fathom_tensor output;
      if (!isUnknown(outputDims[i]) || (status = fathom_context_output(lease.context, i, &output)))
        continue;
      auto *bytes = static_cast<const uint8_t *>(output.data);
      made.push_back({{output.dims, output.dims + output.rank}, {bytes, bytes + output.bytes}});
    }
  }
  check(isInterrupted, status);
  nb::list results;
  for (auto &[dims, bytes] : made)
    results.append(nb::make_tuple(dims, nb::bytes(bytes.data(), bytes.size())));
  return results;
}

void Runner::runArrays(const nb::list &inputs, const nb::list &outputs) {
  checkCounts(nb::len(inputs), nb::len(outputs));
  Views inputViews(inputs, false), outputViews(outputs, true);
  std::vector<fathom_tensor> tensors;
  fathom_tensor_info info;
  for (size_t i = 0; i < nb::len(inputs); ++i) {
    check(fathom_model_input(model.get(), i, &info));
    tensors.push_back(inputViews.tensor(i, info.dtype));
  }
  for (size_t i = 0; i < nb::len(outputs); ++i) {
    check(fathom_model_output(model.get(), i, &info));
    tensors.push_back(outputViews.tensor(i, info.dtype));
  }
  runAll(tensors, nb::len(inputs));
}

// Whether elements are of the model's type. Those of a byte or less have names in few libraries: their size tells.
static bool isOfType(nb::dlpack::dtype given, int32_t dtype) {
  using Code = nb::dlpack::dtype_code;
  auto is = [&](Code code) {
    return given.lanes == 1 && given.code == uint8_t(code) && given.bits == 8 * fathom_dtype_bytes(dtype);
  };
  switch (dtype) {
  case FATHOM_F16:
  case FATHOM_F32:
  case FATHOM_F64:
    return is(Code::Float);
  case FATHOM_BF16:
    return is(Code::Bfloat);
  case FATHOM_I8:
  case FATHOM_I16:
  case FATHOM_I32:
  case FATHOM_I64:
    return is(Code::Int);
  case FATHOM_U8:
  case FATHOM_U16:
  case FATHOM_U32:
  case FATHOM_U64:
    return is(Code::UInt);
  case FATHOM_BOOL:
    return is(Code::Bool) || is(Code::UInt); // as older libraries have it
  case FATHOM_STRING:
    return false; // addresses, which no other library has
  default:
    return given.lanes == 1 && given.bits == 8;
  }
}

// Whether the model's code, or the copies before and behind it, can get at memory of this kind.
static bool isWithinReach(int deviceType, const fathom_model &model) {
  switch (deviceType) {
  case nb::device::cpu::value:
  case nb::device::cuda_host::value:
  case nb::device::cuda_managed::value:
    return true;
  case nb::device::cuda::value:
    return model.Artifact->arena_space == FATHOM_ABI_SPACE_CUDA;
  }
  return false;
}

void Runner::runInto(const nb::list &inputs, const nb::list &outputs) {
  checkCounts(nb::len(inputs), nb::len(outputs));
  std::vector<nb::ndarray<nb::ro, nb::c_contig>> read;
  std::vector<nb::ndarray<nb::c_contig>> written;
  std::vector<fathom_tensor> tensors;
  auto add = [&](const auto &array, const fathom_tensor_info &info) {
    if (!isOfType(array.dtype(), info.dtype))
      throw nb::type_error(("the array for '" + std::string(info.name) + "' has elements of another type").c_str());
    if (!isWithinReach(array.device_type(), *model))
      throw nb::type_error(("the array for '" + std::string(info.name) + "' is on a device").c_str());
    tensors.push_back({const_cast<void *>(static_cast<const void *>(array.data())), info.dtype, int32_t(array.ndim()),
                       array.shape_ptr(), array.nbytes()});
  };
  fathom_tensor_info info;
  for (size_t i = 0; i < nb::len(inputs); ++i) {
    check(fathom_model_input(model.get(), i, &info));
    // Not converted: what is written into a copy would be lost.
    read.push_back(nb::cast<nb::ndarray<nb::ro, nb::c_contig>>(inputs[i], /*convert=*/false));
    add(read.back(), info);
  }
  for (size_t i = 0; i < nb::len(outputs); ++i) {
    check(fathom_model_output(model.get(), i, &info));
    written.push_back(nb::cast<nb::ndarray<nb::c_contig>>(outputs[i], /*convert=*/false));
    add(written.back(), info);
  }
  runAll(tensors, read.size());
}

void Runner::setProfiling(bool on) {
  nb::gil_scoped_release release;
  std::lock_guard<std::mutex> lock(mutex);
  isProfiled = on;
}

void Runner::note(fathom_context *context, int64_t start) {
  NotedRun run{start, syscall(SYS_gettid), {}, {}};
  fathom_profile_part part;
  fathom_profile_entry launch;
  for (size_t i = 0; i < fathom_context_profile_part_count(context); ++i) {
    fathom_status *status = fathom_context_profile_part(context, i, &part);
    if (!status)
      status = fathom_context_profile(context, size_t(part.launch), &launch);
    if (status)
      return fathom_status_free(status);
    run.parts.push_back(part);
    run.kernels.push_back(launch.kernel);
  }
  std::lock_guard<std::mutex> lock(mutex);
  if (noted + run.parts.size() > maxNoted)
    return;
  noted += run.parts.size();
  runs.push_back(std::move(run));
}

nb::list Runner::takeProfile() {
  std::vector<NotedRun> taken;
  {
    nb::gil_scoped_release release;
    std::lock_guard<std::mutex> lock(mutex);
    taken.swap(runs);
    noted = 0;
  }
  nb::list result;
  for (const NotedRun &run : taken) {
    nb::list parts;
    for (size_t i = 0; i < run.parts.size(); ++i) {
      const fathom_profile_part &part = run.parts[i];
      parts.append(nb::make_tuple(run.kernels[i], part.launch, part.start_ns, part.end_ns, part.tasks, part.thread));
    }
    result.append(nb::make_tuple(run.start, run.thread, parts));
  }
  return result;
}

} // namespace fathom::python
