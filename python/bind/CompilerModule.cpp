// The extension module fathom._compiler. It gives plain tuples and dictionaries; fathom/compile.py makes them pleasant.
#include "python/bind/Compile.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

namespace nb = nanobind;
using namespace fathom::python;

static nb::dict describe(const Diagnostic &diagnostic) {
  nb::dict result;
  result["severity"] = diagnostic.severity;
  result["code"] = "F" + std::to_string(diagnostic.code);
  result["exit_code"] = diagnostic.exitCode;
  result["node"] = diagnostic.node;
  result["message"] = diagnostic.message;
  result["hints"] = diagnostic.hints;
  return result;
}

static nb::list describe(const std::vector<Diagnostic> &diagnostics) {
  nb::list list;
  for (const Diagnostic &diagnostic : diagnostics)
    list.append(describe(diagnostic));
  return list;
}

NB_MODULE(_compiler, module) {
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
      [](std::string path, nb::bytes bytes, std::string baseFolder, GivenOptions options) {
        GivenModel model{std::move(path), std::string(bytes.c_str(), bytes.size()), std::move(baseFolder)};
        CompileOutcome outcome;
        {
          nb::gil_scoped_release release;
          outcome = check(model, options);
        }
        nb::dict result;
        result["ok"] = outcome.ok;
        result["worst"] = outcome.worst;
        result["diagnostics"] = describe(outcome.diagnostics);
        return result;
      },
      nb::arg("path"), nb::arg("bytes"), nb::arg("base_folder"), nb::arg("options"));
  module.def(
      "compile",
      [](std::string path, nb::bytes bytes, std::string baseFolder, std::string output, GivenOptions options) {
        CompileCall call{{std::move(path), std::string(bytes.c_str(), bytes.size()), std::move(baseFolder)},
                         std::move(output),
                         std::move(options)};
        CompileOutcome outcome;
        {
          nb::gil_scoped_release release;
          outcome = compile(call);
        }
        nb::dict result, seconds;
        for (const auto &[stage, time] : outcome.stages)
          seconds[stage.c_str()] = time;
        result["ok"] = outcome.ok;
        result["worst"] = outcome.worst;
        result["diagnostics"] = describe(outcome.diagnostics);
        result["text"] = outcome.text;
        result["seconds"] = seconds;
        result["kernels"] = outcome.kernels;
        result["codes"] = outcome.codes;
        result["weight_bytes"] = outcome.weightBytes;
        result["source_weight_bytes"] = outcome.sourceWeightBytes;
        return result;
      },
      nb::arg("path"), nb::arg("bytes"), nb::arg("base_folder"), nb::arg("output"), nb::arg("options"));
}
