// The extension module fathom._compiler. It gives plain tuples and dictionaries; fathom/compile.py makes them pleasant.
#include "python/bind/Compile.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <unistd.h>

namespace nb = nanobind;
using namespace fathom::python;

// Names in a model may be no UTF-8.
static nb::str text(const std::string &bytes) {
  return nb::steal<nb::str>(PyUnicode_DecodeUTF8(bytes.data(), Py_ssize_t(bytes.size()), "backslashreplace"));
}

static nb::dict describe(const Diagnostic &diagnostic) {
  nb::dict result;
  nb::list hints;
  for (const std::string &hint : diagnostic.hints)
    hints.append(text(hint));
  result["severity"] = diagnostic.severity;
  result["code"] = "F" + std::to_string(diagnostic.code);
  result["exit_code"] = diagnostic.exitCode;
  result["node"] = text(diagnostic.node);
  result["message"] = text(diagnostic.message);
  result["hints"] = hints;
  return result;
}

static nb::list describe(const std::vector<Diagnostic> &diagnostics) {
  nb::list list;
  for (const Diagnostic &diagnostic : diagnostics)
    list.append(describe(diagnostic));
  return list;
}

// Texts come as bytes: a path or an option may be no UTF-8.
static std::string text(const nb::bytes &bytes) { return std::string(bytes.c_str(), bytes.size()); }

using OptionBytes = std::vector<std::pair<nb::bytes, nb::bytes>>;

static GivenOptions texts(const OptionBytes &options) {
  GivenOptions result;
  for (const auto &[name, value] : options)
    result.emplace_back(text(name), text(value));
  return result;
}

// Waits for a job without the GIL, and looks for signals meanwhile: what they raise ends the call.
static CompileOutcome finish(std::function<CompileOutcome()> work) {
  using std::chrono::milliseconds;
  Job job(std::move(work));
  for (;;) {
    {
      nb::gil_scoped_release release;
      if (job.wait(milliseconds(50)))
        return job.take();
    }
    if (PyErr_CheckSignals() == 0)
      continue;
    {
      nb::gil_scoped_release release;
      job.cancel(milliseconds(100));
    }
    throw nb::python_error();
  }
}

NB_MODULE(_compiler, module) {
  // Of those that were left, the process waits for what they are in the middle of; who is in a hurry interrupts again.
  nb::module_::import_("atexit").attr("register")(nb::cpp_function([] {
    for (;;) {
      {
        nb::gil_scoped_release release;
        if (Job::waitForAll(std::chrono::milliseconds(50)))
          return;
      }
      if (PyErr_CheckSignals())
        _exit(130);
    }
  }));
  module.def("version", &version);
  module.def("options", [] {
    nb::list list;
    for (const OptionInfo &option : compileOptions()) {
      nb::dict entry;
      entry["name"] = option.name;
      entry["type"] = option.type;
      entry["value"] = option.value;
      entry["default"] = option.fallback;
      entry["help"] = option.help;
      entry["repeats"] = option.repeats;
      list.append(entry);
    }
    return list;
  });
  module.def(
      "check",
      [](nb::bytes path, nb::bytes bytes, nb::bytes baseFolder, const OptionBytes &options) {
        GivenModel model{text(path), text(bytes), text(baseFolder)};
        CompileOutcome outcome =
            finish([model = std::move(model), options = texts(options)] { return check(model, options); });
        nb::dict result;
        result["ok"] = outcome.ok;
        result["worst"] = outcome.worst;
        result["diagnostics"] = describe(outcome.diagnostics);
        return result;
      },
      nb::arg("path"), nb::arg("bytes"), nb::arg("base_folder"), nb::arg("options"));
  module.def(
      "compile",
      [](nb::bytes path, nb::bytes bytes, nb::bytes baseFolder, nb::bytes output, nb::bytes name,
         const OptionBytes &options) {
        auto own = std::make_shared<OwnOutput>(text(output));
        CompileCall call{{text(path), text(bytes), text(baseFolder)}, own->path(), text(name), texts(options)};
        CompileOutcome outcome = finish([call = std::move(call), own] { return compile(call); });
        nb::dict result, seconds;
        for (const auto &[stage, time] : outcome.stages)
          seconds[stage.c_str()] = time;
        result["ok"] = outcome.ok;
        result["worst"] = outcome.worst;
        result["diagnostics"] = describe(outcome.diagnostics);
        result["text"] = text(outcome.text);
        result["seconds"] = seconds;
        result["kernels"] = outcome.kernels;
        result["codes"] = outcome.codes;
        result["weight_bytes"] = outcome.weightBytes;
        result["source_weight_bytes"] = outcome.sourceWeightBytes;
        return result;
      },
      nb::arg("path"), nb::arg("bytes"), nb::arg("base_folder"), nb::arg("output"), nb::arg("name"),
      nb::arg("options"));
}
