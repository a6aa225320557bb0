// The compiler behind the Python module, without exceptions.
#include "python/bind/Compile.h"

#include "compiler/driver/Check.h"
#include "compiler/driver/DiagnosticLog.h"
#include "compiler/driver/Manifest.h"
#include "compiler/driver/Options.h"
#include "compiler/functional/Functional.h"
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

static ModelSource sourceOf(const GivenModel &model) {
  return model.path.empty() ? ModelSource::memory(model.bytes, model.baseFolder) : ModelSource::file(model.path);
}

// The options of a command by the table; an error where one is unknown or has a wrong value.
static Expected<OptionValues> readOptions(const GivenOptions &given, CommandBit command) {
  OptionValues values;
  for (const auto &[name, text] : given) {
    const Option *option = findOption(name, command);
    if (!option || !option->python)
      return createStringError("unknown option '" + name + "'");
    if (Error error = values.set(*option, text))
      return std::move(error);
  }
  return values;
}

CompileOutcome compile(const CompileCall &call) {
  CompileOutcome outcome;
  Expected<OptionValues> values = readOptions(call.options, CompileBit);
  if (!values)
    return refuse(std::move(outcome), usageError, toString(values.takeError()));
  ModelSource source = sourceOf(call.model);
  std::unique_ptr<mlir::MLIRContext> context = createContext();
  DiagnosticLog log(*context, source.name(),
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
  auto request = makeCompileRequest(*values, *context);
  if (failed(request))
    return giveUp();
  auto start = std::chrono::steady_clock::now();
  mlir::OwningOpRef<mlir::ModuleOp> module = importAny(source, *context, request->import);
  if (!module)
    return giveUp();
  CompileReport report;
  std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  report.stages.emplace_back("import", seconds.count());
  raw_string_ostream text(outcome.text);
  request->options.text = &text;
  request->options.tuning.model = call.name.empty() ? sys::path::stem(call.model.path).str() : call.name;
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

CompileOutcome check(const GivenModel &model, const GivenOptions &options) {
  CompileOutcome outcome;
  Expected<OptionValues> values = readOptions(options, CheckBit);
  if (!values)
    return refuse(std::move(outcome), usageError, toString(values.takeError()));
  ModelSource source = sourceOf(model);
  std::unique_ptr<mlir::MLIRContext> context = createContext();
  std::vector<Diagnostic> said;
  DiagnosticLog log(*context, source.name(), [&](const LoggedDiagnostic &logged) { said.push_back(convert(logged)); });
  auto request = makeCompileRequest(*values, *context, CheckBit);
  if (failed(request)) {
    outcome.diagnostics = std::move(said);
    return outcome;
  }
  outcome.ok = true;
  for (const Problem &problem : findProblems(source, *context, request->import)) {
    std::vector<std::string> hints;
    if (!problem.hint.empty())
      hints.push_back(problem.hint);
    outcome.diagnostics.push_back(
        {"error", problem.node, problem.message, hints, unsigned(problem.code), exitCodeFor(problem.code)});
  }
  return outcome;
}

std::string version() { return compilerVersion.str(); }

} // namespace fathom::python
