// A compilation for this machine that stops before LLVM, for what it has to say.
#include "compiler/driver/Check.h"

#include "compiler/driver/Compile.h"
#include "compiler/driver/DiagnosticLog.h"
#include "compiler/functional/Functional.h"

using namespace mlir;

namespace fathom {

static Problem problemOf(const LoggedDiagnostic &logged) {
  Problem problem{logged.code, logged.node, logged.message, ""};
  for (StringRef note : logged.notes)
    if (note.consume_front("hint: "))
      problem.hint = note.str();
  return problem;
}

std::vector<Problem> findProblems(const ModelSource &source, MLIRContext &context, const ImportOptions &options) {
  std::vector<Problem> problems;
  if (!isProgram(source.path))
    problems = collectUnsupported(source, context, options);
  if (!problems.empty())
    return problems;
  // Some things show only when constants are folded or loops are made.
  DiagnosticLog log(context, source.name(), [&](const LoggedDiagnostic &logged) {
    if (logged.severity == DiagnosticSeverity::Error)
      problems.push_back(problemOf(logged));
  });
  auto target = parseTarget("host");
  OwningOpRef<ModuleOp> module = importAny(source, context, options);
  if (!module && problems.empty())
    problems.push_back({ErrorCode::Internal, "", "the compiler failed without saying why", ""});
  if (!module || !target) {
    llvm::consumeError(target.takeError());
    return problems;
  }
  CompileOptions compile;
  compile.target = *target;
  compile.stop = Stage::Loops;
  CompileReport report;
  if (failed(compileModule(*module, compile, "", report)) && problems.empty())
    problems.push_back({ErrorCode::Internal, "", "the compiler failed without saying why", ""});
  return problems;
}

} // namespace fathom
