// The extension module fathom._runtime: the runtime's C interface for flat buffers. fathom/session.py gives them names
// and shapes.
#include "runtime/fathom_rt.h"

#include <algorithm>
#include <mutex>
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

namespace nb = nanobind;

namespace {

using Dims = std::vector<std::vector<int64_t>>;
using ConstBytes = nb::ndarray<const uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Bytes = nb::ndarray<uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// An artifact's names are UTF-8, unless somebody changed it.
nb::str text(const std::string &bytes) {
  return nb::steal<nb::str>(PyUnicode_DecodeUTF8(bytes.data(), Py_ssize_t(bytes.size()), "backslashreplace"));
}

// Raises fathom.Error for a status that is an error, with the GIL held.
void check(fathom_status *status) {
  if (!status)
    return;
  fathom_code code = fathom_status_code(status);
  std::string message = fathom_status_message(status), node = fathom_status_node(status);
  fathom_status_free(status);
  // What the signal's handler raised.
  if (code == FATHOM_ERROR_INTERRUPTED && PyErr_Occurred())
    throw nb::python_error();
  nb::module_::import_("fathom.errors")
      .attr("raise_status")(fathom_code_number(code), text(message), text(node), code == FATHOM_ERROR_INDEX);
}

// Signals have their effect while a run takes long, in the thread that Python handles them in.
int32_t lookForSignals(void *) {
  nb::gil_scoped_acquire acquire;
  return PyErr_CheckSignals();
}

nb::dict describe(const fathom_tensor_info &info) {
  nb::dict result;
  nb::list shape;
  for (int i = 0; i < info.rank; ++i)
    if (info.dims[i] >= 0)
      shape.append(info.dims[i]);
    else if (info.symbols && info.symbols[i])
      shape.append(text(info.symbols[i]));
    else
      shape.append(nb::none());
  result["name"] = text(info.name);
  result["dtype"] = fathom_dtype_name(info.dtype);
  result["dtype_code"] = info.dtype;
  result["shape"] = nb::tuple(shape);
  return result;
}

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

class Model {
public:
  Model(const nb::bytes &file, int threads, int device, uintptr_t stream) {
    std::string path(file.c_str(), file.size());
    fathom_status *status = nullptr;
    {
      nb::gil_scoped_release release;
      status = fathom_model_load(path.c_str(), &model);
      if (!status) {
        fathom_context_options options = FATHOM_CONTEXT_OPTIONS_INIT;
        options.threads = threads, options.device = device;
        options.device_stream = reinterpret_cast<void *>(stream);
        options.interrupted = lookForSignals;
        status = fathom_context_create(model, &options, &context);
      }
    }
    if (!status)
      return;
    fathom_model_free(model);
    check(status);
  }
  Model(const Model &) = delete;
  ~Model() {
    fathom_context_free(context);
    fathom_model_free(model);
  }

  nb::list tensors(bool inputs) const {
    nb::list list;
    size_t count = inputs ? fathom_model_input_count(model) : fathom_model_output_count(model);
    for (size_t i = 0; i < count; ++i) {
      fathom_tensor_info info;
      check(inputs ? fathom_model_input(model, i, &info) : fathom_model_output(model, i, &info));
      list.append(describe(info));
    }
    return list;
  }

  // The input whose memory each output may be, or -1.
  std::vector<int> aliases() const {
    std::vector<int> result;
    for (size_t i = 0; i < fathom_model_output_count(model); ++i)
      result.push_back(fathom_model_output_alias(model, i));
    return result;
  }

  nb::list symbols() const {
    nb::list list;
    for (size_t i = 0; i < fathom_model_symbol_count(model); ++i) {
      fathom_symbol_info info;
      check(fathom_model_symbol(model, i, &info));
      list.append(nb::make_tuple(text(info.name), info.min, info.max));
    }
    return list;
  }

  nb::str manifest() const { return text(fathom_model_manifest(model)); }
  int threads() const { return fathom_context_threads(context); }

  Dims outputDims(const Dims &inputDims) {
    if (inputDims.size() != fathom_model_input_count(model))
      throw nb::value_error("as many shapes as inputs are needed");
    Dims result;
    std::vector<const int64_t *> inputs;
    std::vector<int64_t *> outputs;
    for (size_t i = 0; i < inputDims.size(); ++i) {
      fathom_tensor_info info;
      check(fathom_model_input(model, i, &info));
      if (inputDims[i].size() != size_t(info.rank))
        throw nb::value_error("a shape has the wrong rank");
      inputs.push_back(inputDims[i].data());
    }
    for (size_t i = 0; i < fathom_model_output_count(model); ++i) {
      fathom_tensor_info info;
      check(fathom_model_output(model, i, &info));
      result.emplace_back(info.rank);
    }
    for (std::vector<int64_t> &dims : result)
      outputs.push_back(dims.data());
    fathom_status *status;
    {
      nb::gil_scoped_release release;
      std::lock_guard<std::mutex> guard(mutex);
      status = fathom_context_output_dims(context, inputs.data(), outputs.data());
    }
    check(status);
    return result;
  }

  // An output with a dimension of -1 has no buffer yet; those are returned as (dims, bytes), in order.
  nb::list run(const std::vector<ConstBytes> &inputs, const Dims &inputDims, const std::vector<Bytes> &outputs,
               const Dims &outputDims) {
    if (inputs.size() != fathom_model_input_count(model) || outputs.size() != fathom_model_output_count(model) ||
        inputs.size() != inputDims.size() || outputs.size() != outputDims.size())
      throw nb::value_error("the wrong number of buffers");
    std::vector<fathom_tensor> inputTensors, outputTensors;
    for (size_t i = 0; i < inputs.size(); ++i) {
      fathom_tensor_info info;
      check(fathom_model_input(model, i, &info));
      inputTensors.push_back({const_cast<uint8_t *>(inputs[i].data()), info.dtype, int32_t(inputDims[i].size()),
                              inputDims[i].data(), inputs[i].size()});
    }
    for (size_t i = 0; i < outputs.size(); ++i) {
      fathom_tensor_info info;
      check(fathom_model_output(model, i, &info));
      if (isUnknown(outputDims[i]))
        outputTensors.push_back({nullptr, info.dtype, int32_t(outputDims[i].size()), nullptr, 0});
      else
        outputTensors.push_back(
            {outputs[i].data(), info.dtype, int32_t(outputDims[i].size()), outputDims[i].data(), outputs[i].size()});
    }
    std::vector<std::pair<std::vector<int64_t>, std::vector<uint8_t>>> made;
    fathom_status *status;
    {
      nb::gil_scoped_release release;
      std::lock_guard<std::mutex> guard(mutex);
      status = fathom_context_run(context, inputTensors.data(), inputTensors.size(), outputTensors.data(),
                                  outputTensors.size());
      // Copied before another thread's run overwrites them.
      for (size_t i = 0; !status && i < outputs.size(); ++i) {
        fathom_tensor output;
        if (!isUnknown(outputDims[i]) || (status = fathom_context_output(context, i, &output)))
          continue;
        auto *bytes = static_cast<const uint8_t *>(output.data);
        made.push_back({{output.dims, output.dims + output.rank}, {bytes, bytes + output.bytes}});
      }
    }
    check(status);
    nb::list results;
    for (auto &[dims, bytes] : made)
      results.append(nb::make_tuple(dims, nb::bytes(bytes.data(), bytes.size())));
    return results;
  }

  // The quick way for arrays of whose types, sizes and layouts all is known: everything is in place.
  void runArrays(const nb::list &inputs, const nb::list &outputs) {
    if (nb::len(inputs) != fathom_model_input_count(model) || nb::len(outputs) != fathom_model_output_count(model))
      throw nb::value_error("the wrong number of arrays");
    Views inputViews(inputs, false), outputViews(outputs, true);
    std::vector<fathom_tensor> tensors;
    fathom_tensor_info info;
    for (size_t i = 0; i < nb::len(inputs); ++i) {
      check(fathom_model_input(model, i, &info));
      tensors.push_back(inputViews.tensor(i, info.dtype));
    }
    for (size_t i = 0; i < nb::len(outputs); ++i) {
      check(fathom_model_output(model, i, &info));
      tensors.push_back(outputViews.tensor(i, info.dtype));
    }
    size_t inputCount = nb::len(inputs), outputCount = nb::len(outputs);
    fathom_status *status;
    {
      nb::gil_scoped_release release;
      std::lock_guard<std::mutex> guard(mutex);
      status = fathom_context_run(context, tensors.data(), inputCount, tensors.data() + inputCount, outputCount);
    }
    check(status);
  }

  // Arrays of any library, in the host's memory or the device's, through DLPack.
  void runInto(const nb::list &inputs, const nb::list &outputs) {
    if (nb::len(inputs) != fathom_model_input_count(model) || nb::len(outputs) != fathom_model_output_count(model))
      throw nb::value_error("the wrong number of arrays");
    std::vector<nb::ndarray<nb::ro, nb::c_contig>> read;
    std::vector<nb::ndarray<nb::c_contig>> written;
    std::vector<fathom_tensor> tensors;
    auto add = [&](const auto &array, const fathom_tensor_info &info) {
      if (array.itemsize() != fathom_dtype_bytes(info.dtype))
        throw nb::type_error(("an array for '" + std::string(info.name) + "' has elements of another size").c_str());
      tensors.push_back({const_cast<void *>(static_cast<const void *>(array.data())), info.dtype, int32_t(array.ndim()),
                         array.shape_ptr(), array.nbytes()});
    };
    fathom_tensor_info info;
    for (size_t i = 0; i < nb::len(inputs); ++i) {
      check(fathom_model_input(model, i, &info));
      read.push_back(nb::cast<nb::ndarray<nb::ro, nb::c_contig>>(inputs[i]));
      add(read.back(), info);
    }
    for (size_t i = 0; i < nb::len(outputs); ++i) {
      check(fathom_model_output(model, i, &info));
      written.push_back(nb::cast<nb::ndarray<nb::c_contig>>(outputs[i]));
      add(written.back(), info);
    }
    fathom_status *status;
    {
      nb::gil_scoped_release release;
      std::lock_guard<std::mutex> guard(mutex);
      status = fathom_context_run(context, tensors.data(), read.size(), tensors.data() + read.size(), written.size());
    }
    check(status);
  }

private:
  static bool isUnknown(const std::vector<int64_t> &dims) {
    return std::find(dims.begin(), dims.end(), -1) != dims.end();
  }

  fathom_model *model = nullptr;
  fathom_context *context = nullptr;
  // A context does one thing at a time; callers from several threads take turns. Never taken while holding the GIL.
  std::mutex mutex;
};

} // namespace

NB_MODULE(_runtime, module) {
  module.def("version", &fathom_version);
  module.def("check", [](const nb::bytes &file) {
    std::string path(file.c_str(), file.size());
    fathom_status *status;
    {
      nb::gil_scoped_release release;
      status = fathom_artifact_check(path.c_str());
    }
    check(status);
  });
  nb::class_<Model>(module, "Model")
      .def(nb::init<const nb::bytes &, int, int, uintptr_t>(), nb::arg("path"), nb::arg("threads"), nb::arg("device"),
           nb::arg("stream"))
      .def("inputs", [](const Model &model) { return model.tensors(true); })
      .def("outputs", [](const Model &model) { return model.tensors(false); })
      .def("aliases", &Model::aliases)
      .def("symbols", &Model::symbols)
      .def("manifest", &Model::manifest)
      .def("threads", &Model::threads)
      .def("output_dims", &Model::outputDims)
      .def("run_arrays", &Model::runArrays)
      .def("run_into", &Model::runInto)
      .def("run", &Model::run);
}
