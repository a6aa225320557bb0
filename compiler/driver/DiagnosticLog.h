// Collects what a compilation has to say: diagnostics taken apart into code, node, message and hints, and the exit code
// they lead to.
#pragma once

#include "compiler/support/Diagnostics.h"
#include <functional>

namespace fathom {

struct LoggedDiagnostic {
  mlir::DiagnosticSeverity severity;
  ErrorCode code;
  bool coded;       // false: an error of MLIR's or LLVM's own, which the user should not have met
  std::string node; // the ONNX node, or empty where the whole model is meant
  std::string message;
  std::vector<std::string> notes;

  // "[F1003] node 'conv1': message"; most warnings have no code.
  std::string text() const;
};

// Takes the context's diagnostics for as long as it lives. Each is passed on as it comes, and the errors are kept.
class DiagnosticLog {
public:
  using Sink = std::function<void(const LoggedDiagnostic &)>;

  // `modelName` is how the importer calls the whole model in locations: the file's name.
  DiagnosticLog(mlir::MLIRContext &context, llvm::StringRef modelName, Sink sink = {});

  const std::vector<LoggedDiagnostic> &errors() const { return kept; }
  // The error that decides the outcome, or null when there was none.
  const LoggedDiagnostic *worst() const;
  // The exit code of a compilation that failed; one that failed without a word is our bug.
  int exitCode() const;

private:
  std::vector<LoggedDiagnostic> kept;
  mlir::ScopedDiagnosticHandler handler;
};

} // namespace fathom
