// fathom check: all that keeps a model from being compiled, at once.
#include "compiler/driver/Check.h"
#include "tools/fathom/Commands.h"
#include "llvm/ADT/StringMap.h"
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

// Problems that differ in nothing but the node have one cause, such as a data file that is missing.
struct Cause {
  const Problem *first;
  size_t nodes;
};

static std::vector<Cause> groupByCause(ArrayRef<Problem> problems) {
  std::vector<Cause> causes;
  StringMap<size_t> known;
  for (const Problem &problem : problems) {
    std::string key = (Twine(unsigned(problem.code)) + "\n" + problem.message + "\n" + problem.hint).str();
    auto [place, isNew] = known.try_emplace(key, causes.size());
    if (isNew)
      causes.push_back({&problem, 0});
    ++causes[place->second].nodes;
  }
  return causes;
}

static std::string spellProblems(ArrayRef<Cause> causes, size_t problems) {
  std::string text = std::to_string(causes.size()) + (causes.size() == 1 ? " problem" : " problems");
  return problems == causes.size() ? text : text + ", at " + std::to_string(problems) + " places";
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
  std::vector<Cause> causes = groupByCause(problems);
  for (const Cause &cause : causes) {
    const Problem &problem = *cause.first;
    outs() << formatv("[F{0}] ", unsigned(problem.code));
    if (!problem.node.empty())
      outs() << "node '" << printable(problem.node) << "'";
    if (cause.nodes > 1)
      outs() << " and " << cause.nodes - 1 << " more";
    outs() << (problem.node.empty() ? "" : ": ") << printable(problem.message) << "\n";
    if (!problem.hint.empty())
      outs() << "        hint: " << printable(problem.hint) << "\n";
  }
  if (problems.empty())
    outs() << "supported\n";
  else
    notes() << spellProblems(causes, problems.size()) << "\n";
  return exitCodeOf(problems);
}

} // namespace fathom
