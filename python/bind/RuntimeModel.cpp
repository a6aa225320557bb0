// A loaded model, and what all of the module says of errors.
#include "python/bind/Runtime.h"

namespace nb = nanobind;

namespace fathom::python {

nb::str text(const std::string &bytes) {
  return nb::steal<nb::str>(PyUnicode_DecodeUTF8(bytes.data(), Py_ssize_t(bytes.size()), "backslashreplace"));
}

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

static nb::dict describe(const fathom_tensor_info &info) {
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

Model::Model(const nb::bytes &file) {
  std::string path(file.c_str(), file.size());
  fathom_model *loaded = nullptr;
  fathom_status *status;
  {
    nb::gil_scoped_release release;
    status = fathom_model_load(path.c_str(), &loaded);
  }
  check(status);
  model.reset(loaded, fathom_model_free);
}

nb::list Model::tensors(bool inputs) const {
  nb::list list;
  size_t count = inputs ? fathom_model_input_count(model.get()) : fathom_model_output_count(model.get());
  for (size_t i = 0; i < count; ++i) {
    fathom_tensor_info info;
    check(inputs ? fathom_model_input(model.get(), i, &info) : fathom_model_output(model.get(), i, &info));
    list.append(describe(info));
  }
  return list;
}

std::vector<int> Model::aliases() const {
  std::vector<int> result;
  for (size_t i = 0; i < fathom_model_output_count(model.get()); ++i)
    result.push_back(fathom_model_output_alias(model.get(), i));
  return result;
}

nb::list Model::symbols() const {
  nb::list list;
  for (size_t i = 0; i < fathom_model_symbol_count(model.get()); ++i) {
    fathom_symbol_info info;
    check(fathom_model_symbol(model.get(), i, &info));
    list.append(nb::make_tuple(text(info.name), info.min, info.max));
  }
  return list;
}

nb::list Model::kernels() const {
  nb::list list;
  for (size_t i = 0; i < fathom_model_kernel_count(model.get()); ++i) {
    fathom_kernel_info info;
    check(fathom_model_kernel(model.get(), i, &info));
    list.append(nb::make_tuple(text(info.name), text(info.nodes)));
  }
  return list;
}

} // namespace fathom::python
