// Compiling as the Python module sees it: plain data in, plain data out.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace fathom::python {

struct OptionInfo {
  std::string name, type, value, fallback, help;
  bool repeats;
};
// The options of the compiler that are keywords of fathom.compile.
std::vector<OptionInfo> compileOptions();

struct GivenModel {
  std::string path;       // of the model; empty: the bytes are the model
  std::string bytes;      // a serialized ModelProto
  std::string baseFolder; // for external data of a model in memory; empty: none is allowed
};

using GivenOptions = std::vector<std::pair<std::string, std::string>>;

struct CompileCall {
  GivenModel model;
  std::string output; // a file, or /proc/self/fd/N
  GivenOptions options;
};

struct Diagnostic {
  std::string severity, node, message;
  std::vector<std::string> hints;
  unsigned code;
  int exitCode;
};

struct CompileOutcome {
  bool ok = false;
  size_t worst = 0; // of the diagnostics, where not ok
  std::vector<Diagnostic> diagnostics;
  std::string text; // of --emit
  std::vector<std::pair<std::string, double>> stages;
  int64_t kernels = 0, codes = 0, weightBytes = 0, sourceWeightBytes = 0;
};

CompileOutcome compile(const CompileCall &call);

// Everything that keeps the model from being compiled, as diagnostics. Not ok: the options are wrong.
CompileOutcome check(const GivenModel &model, const GivenOptions &options);

std::string version();

} // namespace fathom::python
