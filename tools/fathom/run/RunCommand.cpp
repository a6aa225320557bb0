// fathom run: one run of a compiled model, with its outputs as .npy files or as a summary.
#include "tools/fathom/run/PreparedRun.h"
#include "tools/fathom/run/SmallNumbers.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include <cmath>

using namespace llvm;

namespace fathom {

static double elementAt(const Array &array, int64_t i) {
  auto at = [&]<typename T>(T) { return reinterpret_cast<const T *>(array.data())[i]; };
  auto half = [&](const fltSemantics &semantics) {
    return APFloat(semantics, APInt(16, at(uint16_t()))).convertToDouble();
  };
  if (isSmallDtype(array.dtype))
    return decodeSmall(array.dtype, at(uint8_t()));
  switch (array.dtype) {
  case FATHOM_F32:
    return at(float());
  case FATHOM_F64:
    return at(double());
  case FATHOM_F16:
    return half(APFloat::IEEEhalf());
  case FATHOM_BF16:
    return half(APFloat::BFloat());
  case FATHOM_I8:
    return at(int8_t());
  case FATHOM_I16:
    return at(int16_t());
  case FATHOM_I32:
    return at(int32_t());
  case FATHOM_I64:
    return at(int64_t());
  case FATHOM_U16:
    return at(uint16_t());
  case FATHOM_U32:
    return at(uint32_t());
  case FATHOM_U64:
    return at(uint64_t());
  default:
    return at(uint8_t());
  }
}

// Enough to see whether an output is alive: its range and mean, and how many values are no numbers.
static json::Object summarize(const TensorSpec &spec, const Array &value) {
  double low = INFINITY, high = -INFINITY, sum = 0;
  int64_t odd = 0;
  for (int64_t i = 0; i < value.elements; ++i) {
    double element = elementAt(value, i);
    if (!std::isfinite(element)) {
      ++odd;
      continue;
    }
    low = std::min(low, element), high = std::max(high, element), sum += element;
  }
  int64_t finite = value.elements - odd;
  json::Object summary{
      {"name", spec.name}, {"type", fathom_dtype_name(value.dtype)}, {"shape", json::Array(value.dims)}};
  summary["nonfinite"] = odd;
  summary["min"] = finite ? json::Value(low) : json::Value(nullptr);
  summary["max"] = finite ? json::Value(high) : json::Value(nullptr);
  summary["mean"] = finite ? json::Value(sum / finite) : json::Value(nullptr);
  return summary;
}

// The first strings of an output.
static json::Object summarizeStrings(const TensorSpec &spec, const Array &value) {
  constexpr int64_t most = 8;
  json::Array strings;
  for (int64_t i = 0; i < std::min(most, value.elements); ++i)
    strings.push_back(json::fixUTF8(value.string(i)));
  return json::Object{{"name", spec.name},
                      {"type", fathom_dtype_name(value.dtype)},
                      {"shape", json::Array(value.dims)},
                      {"strings", std::move(strings)}};
}

static Error writeOutputs(StringRef folder, const PreparedRun &run) {
  if (std::error_code code = sys::fs::create_directories(folder))
    return fail(ErrorCode::FileUnwritable, "cannot create the folder '" + folder + "': " + code.message());
  StringSet<> taken;
  for (auto [spec, value] : zip(run.model->outputs, run.outputs)) {
    std::string name = spec.name;
    std::replace(name.begin(), name.end(), '/', '_');
    if (!taken.insert(name).second)
      return fail(ErrorCode::FileUnwritable, "two outputs would be written to '" + name + ".npy'");
    SmallString<128> path(folder);
    sys::path::append(path, name + ".npy");
    if (Error error = writeNpy(path, value))
      return error;
    notes() << printable(spec.name) << " " << fathom_dtype_name(value.dtype) << spellDims(value.dims) << " -> "
            << printable(path) << "\n";
  }
  return Error::success();
}

Expected<int> runCommand(const Arguments &arguments) {
  const OptionValues &options = arguments.options;
  if (Error error = refuseCompileOptions(options, arguments.positional[0]))
    return std::move(error);
  auto prepared = prepareRun(arguments.positional[0], options);
  if (!prepared)
    return prepared.takeError();
  StringRef variant = fathom_model_variant(prepared->model->model);
  if (!variant.empty())
    notes() << "code for " << variant << ", the best that this machine can run\n";
  if (Error error = prepared->run())
    return std::move(error);
  if (options.has("output-dir"))
    if (Error error = writeOutputs(options.text("output-dir"), *prepared))
      return std::move(error);
  if (options.has("output-dir") && !options.flag("json"))
    return 0;
  json::Array summaries;
  for (auto [spec, value] : zip(prepared->model->outputs, prepared->outputs)) {
    if (value.dtype == FATHOM_STRING) {
      json::Object summary = summarizeStrings(spec, value);
      if (!options.flag("json"))
        outs() << printable(spec.name) << " " << fathom_dtype_name(value.dtype) << spellDims(value.dims) << " "
               << printable(formatv("{0}", json::Value(json::Object(summary)["strings"])).str()) << "\n";
      summaries.push_back(std::move(summary));
      continue;
    }
    json::Object summary = summarize(spec, value);
    if (!options.flag("json"))
      outs() << printable(spec.name) << " " << fathom_dtype_name(value.dtype) << spellDims(value.dims)
             << formatv(" min {0} max {1} mean {2} nonfinite {3}\n", summary["min"], summary["max"], summary["mean"],
                        summary["nonfinite"]);
    summaries.push_back(std::move(summary));
  }
  if (options.flag("json"))
    printJson(json::Object{{"outputs", std::move(summaries)}, {"variant", variant}}, /*oneLine=*/true);
  return 0;
}

} // namespace fathom
