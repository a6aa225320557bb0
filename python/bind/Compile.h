// Compiling as the Python module sees it: plain data in, plain data out.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
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
  std::string name;   // of the model among those that were tuned; empty: that of its file
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

// A call on a thread of its own, so that the caller can leave it.
class Job {
public:
  // With a copy of all it needs: it may outlive the call.
  explicit Job(std::function<CompileOutcome()> work);
  // Whether it is done, which is waited for at most so long.
  bool wait(std::chrono::milliseconds time) const;
  // Tells it to stop. What it is doing it cannot leave in the middle (code for one kernel, one pass): where that takes
  // longer than so long, it goes on behind the caller's back and leaves nothing.
  void cancel(std::chrono::milliseconds time);
  // Of one that is done.
  CompileOutcome take();

  // Whether none is left that goes on, which is waited for at most so long. A process must not end before.
  static bool waitForAll(std::chrono::milliseconds time);

private:
  struct State;
  std::shared_ptr<State> state;
};

// A descriptor for the job to have for itself: the caller may close its own, whose number then means another file.
class OwnOutput {
public:
  // Of a path as fathom.compile gives it; one that leads to no descriptor stays as it is.
  explicit OwnOutput(const std::string &path);
  OwnOutput(const OwnOutput &) = delete;
  ~OwnOutput();
  const std::string &path() const { return name; }

private:
  std::string name;
  int fd = -1;
};

std::string version();

} // namespace fathom::python
