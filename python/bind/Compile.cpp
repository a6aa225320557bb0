// The compiler behind the Python module, without exceptions.
#include "python/bind/Compile.h"

#include "compiler/driver/Check.h"
#include "compiler/driver/DiagnosticLog.h"
#include "compiler/driver/Manifest.h"
#include "compiler/driver/Options.h"
#include "compiler/package/OutputFile.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include <chrono>

using namespace llvm;

namespace fathom::python {

static constexpr ErrorCode usageError = ErrorCode(2001);

static StringRef spell(OptionType type) {
  switch (type) {
  case OptionType::Flag:
    return "flag";
  case OptionType::Integer:
    return "integer";
  case OptionType::Number:
    return "number";
  case OptionType::Choice:
    return "choice";
  case OptionType::File:
    return "file";
  case OptionType::Text:
    return "text";
  }
  return "text";
}

std::vector<OptionInfo> compileOptions() {
  std::vector<OptionInfo> infos;
  for (const Option &option : optionTable())
    if (option.python && (option.commands & CompileBit))
      infos.push_back({option.name.str(), spell(option.type).str(), option.value.str(), option.fallback.str(),
                       option.help.str(), option.repeats});
  return infos;
}

static Diagnostic convert(const LoggedDiagnostic &logged) {
  StringRef severity = logged.severity == mlir::DiagnosticSeverity::Error     ? "error"
                       : logged.severity == mlir::DiagnosticSeverity::Warning ? "warning"
                                                                              : "remark";
  Diagnostic diagnostic{severity.str(),          logged.node, logged.message, {}, unsigned(logged.code),
                        exitCodeFor(logged.code)};
  for (StringRef note : logged.notes) {
    note.consume_front("hint: ");
    diagnostic.hints.push_back(note.str());
  }
  return diagnostic;
}

static CompileOutcome refuse(CompileOutcome outcome, ErrorCode code, const Twine &message) {
  outcome.worst = outcome.diagnostics.size();
  outcome.diagnostics.push_back({"error", "", message.str(), {}, unsigned(code), exitCodeFor(code)});
  return outcome;
}

static mlir::OwningOpRef<mlir::ModuleOp> import(const CompileCall &call, mlir::MLIRContext &context,
                                                const ImportOptions &options) {
  return call.path.empty() ? importOnnxBytes(call.bytes, call.baseFolder, context, options)
                           : importOnnxFile(call.path, context, options);
}

CompileOutcome compile(const CompileCall &call) {
  CompileOutcome outcome;
  OptionValues values;
  for (const auto &[name, text] : call.options) {
    const Option *option = findOption(name, CompileBit);
    if (!option || !option->python)
      return refuse(std::move(outcome), usageError, "unknown option '" + name + "'");
    if (Error error = values.set(*option, text))
      return refuse(std::move(outcome), usageError, toString(std::move(error)));
  }
  std::unique_ptr<mlir::MLIRContext> context = createContext();
  DiagnosticLog log(*context, call.path.empty() ? "model" : sys::path::filename(call.path),
                    [&](const LoggedDiagnostic &logged) { outcome.diagnostics.push_back(convert(logged)); });
  auto giveUp = [&] {
    const LoggedDiagnostic *worst = log.worst();
    if (!worst)
      return refuse(std::move(outcome), ErrorCode::Internal, "the compiler failed without saying why");
    for (size_t i = 0; i < outcome.diagnostics.size(); ++i)
      if (outcome.diagnostics[i].code == unsigned(worst->code) && outcome.diagnostics[i].message == worst->message)
        outcome.worst = i;
    return std::move(outcome);
  };
  auto request = makeCompileRequest(values, *context);
  if (failed(request))
    return giveUp();
  auto start = std::chrono::steady_clock::now();
  mlir::OwningOpRef<mlir::ModuleOp> module = import(call, *context, request->import);
  if (!module)
    return giveUp();
  CompileReport report;
  std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  report.stages.emplace_back("import", seconds.count());
  raw_string_ostream text(outcome.text);
  request->options.text = &text;
  bool emits = request->options.stop != Stage::Artifact;
  if (Error error = call.output.empty() ? Error::success() : checkOutput(*module, call.output, /*special=*/emits))
    return refuse(std::move(outcome), ErrorCode::FileUnwritable, toString(std::move(error)));
  if (failed(compileModule(*module, request->options, call.output, report)))
    return giveUp();
  if (emits && !call.output.empty())
    if (Error error = writeFile(call.output, [&](raw_ostream &out) { out << outcome.text; }))
      return refuse(std::move(outcome), ErrorCode::FileUnwritable, toString(std::move(error)));
  outcome.ok = true;
  outcome.stages = report.stages;
  outcome.kernels = report.kernels, outcome.codes = report.codes;
  outcome.weightBytes = report.weightBytes, outcome.sourceWeightBytes = report.sourceWeightBytes;
  return outcome;
}

std::vector<Diagnostic> check(const std::string &path) {
  std::unique_ptr<mlir::MLIRContext> context = createContext();
  std::vector<Diagnostic> found;
  for (const Problem &problem : findProblems(path, *context)) {
    std::vector<std::string> hints;
    if (!problem.hint.empty())
      hints.push_back(problem.hint);
    found.push_back({"error", problem.node, problem.message, hints, unsigned(problem.code), exitCodeFor(problem.code)});
  }
  return found;
}

std::string version() { return compilerVersion.str(); }

} // namespace fathom::python
