// Takes diagnostics apart. The engine calls the handler under its lock, so no thread of the compiler needs another.
#include "compiler/driver/DiagnosticLog.h"

#include "compiler/support/ErrorCodeText.h"

using namespace mlir;

namespace fathom {

std::string LoggedDiagnostic::text() const {
  std::string result;
  llvm::raw_string_ostream out(result);
  if (coded || severity == DiagnosticSeverity::Error)
    out << "[F" << unsigned(code) << "] ";
  if (!node.empty())
    out << "node '" << node << "': ";
  out << message;
  return result;
}

static LoggedDiagnostic takeApart(Diagnostic &diagnostic, StringRef modelName) {
  StringRef name = nodeName(diagnostic.getLocation());
  LoggedDiagnostic logged{
      diagnostic.getSeverity(), ErrorCode::Internal, false, name == modelName ? "" : name.str(), diagnostic.str(), {}};
  if (std::optional<ErrorCode> code = takeErrorCode(logged.message)) {
    logged.code = *code;
    logged.coded = true;
  }
  for (Diagnostic &note : diagnostic.getNotes())
    logged.notes.push_back(note.str());
  return logged;
}

DiagnosticLog::DiagnosticLog(MLIRContext &context, StringRef modelName, Sink sink)
    : handler(&context, [this, name = modelName.str(), sink = std::move(sink)](Diagnostic &diagnostic) {
        LoggedDiagnostic logged = takeApart(diagnostic, name);
        // What MLIR adds after an error that already explained itself would only confuse.
        bool echo = !logged.coded && logged.severity == DiagnosticSeverity::Error && worst() && worst()->coded;
        if (sink && !echo)
          sink(logged);
        if (logged.severity == DiagnosticSeverity::Error && !echo)
          kept.push_back(std::move(logged));
        return success();
      }) {}

// Our own bug explains more than what follows from it, and a model that is wrong is not merely unsupported.
static int rank(const LoggedDiagnostic &error) {
  if (!error.coded)
    return 0;
  switch (exitCodeFor(error.code)) {
  case 70:
    return 4;
  case 5:
    return 3;
  case 1:
    return 2;
  default:
    return 1;
  }
}

const LoggedDiagnostic *DiagnosticLog::worst() const {
  auto found = llvm::max_element(kept, [](const auto &a, const auto &b) { return rank(a) < rank(b); });
  return found == kept.end() ? nullptr : &*found;
}

int DiagnosticLog::exitCode() const { return exitCodeFor(worst() ? worst()->code : ErrorCode::Internal); }

} // namespace fathom
