// fathom check: all that keeps a model from being compiled, at once.
#include "compiler/driver/Check.h"
#include "tools/fathom/Commands.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"

using namespace llvm;

namespace fathom {

// A model that is wrong counts before one that is only unsupported, and our bug before both.
static int exitCodeOf(ArrayRef<Problem> problems) {
  int worst = 0;
  for (const Problem &problem : problems) {
    int code = exitCodeFor(problem.code);
    if (worst == 70 || code == 70)
      worst = 70;
    else if (worst == 0 || code == 1)
      worst = code;
  }
  return worst;
}

Expected<int> checkCommand(const Arguments &arguments) {
  StringRef model = arguments.positional[0];
  std::unique_ptr<mlir::MLIRContext> context = createContext();
  DiagnosticLog log(*context, sys::path::filename(model), printDiagnostic);
  auto request = makeCompileRequest(arguments.options, *context, CheckBit);
  if (failed(request))
    return log.exitCode();
  std::vector<Problem> problems = findProblems(ModelSource::file(model), *context, request->import);
  if (arguments.options.flag("json")) {
    json::Array list;
    for (const Problem &problem : problems)
      list.push_back(json::Object{{"code", ("F" + Twine(unsigned(problem.code))).str()},
                                  {"node", problem.node},
                                  {"message", problem.message},
                                  {"hint", problem.hint}});
    printJson(json::Object{{"supported", problems.empty()}, {"problems", std::move(list)}}, /*oneLine=*/true);
    return exitCodeOf(problems);
  }
  for (const Problem &problem : problems) {
    outs() << formatv("[F{0}] ", unsigned(problem.code));
    if (!problem.node.empty())
      outs() << "node '" << printable(problem.node) << "': ";
    outs() << printable(problem.message) << "\n";
    if (!problem.hint.empty())
      outs() << "        hint: " << printable(problem.hint) << "\n";
  }
  if (problems.empty())
    outs() << "supported\n";
  else
    notes() << problems.size() << (problems.size() == 1 ? " problem\n" : " problems\n");
  return exitCodeOf(problems);
}

} // namespace fathom
