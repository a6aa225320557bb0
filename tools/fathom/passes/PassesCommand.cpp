// fathom passes: the default pipeline, all passes, or what each does to a model.
#include "compiler/driver/DefaultPasses.h"
#include "compiler/driver/Policies.h"
#include "compiler/passes/Passes.h"
#include "tools/fathom/passes/PassExamples.h"
#include "tools/fathom/passes/PassReport.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;

namespace fathom {

static std::string spellOrDash(Facts facts) { return facts ? spellFacts(facts) : "-"; }

// The page docs/reference/passes.md.
static void printPasses(raw_ostream &out) {
  out << "# Passes\n\n"
         "What `fathom compile --passes` takes, and `fathom-opt` runs each on its own. A pass needs things of the "
         "graph, gives\nit others and ends what is not so any more; `fathom passes --list` prints this page.\n\n"
         "| pass | needs | gives | ends | what it does |\n|---|---|---|---|---|\n";
  registerPasses();
  for (const auto &pass : registeredPasses())
    out << formatv("| `{0}` | {1} | {2} | {3} | {4} |\n", pass->getArgument(), spellOrDash(pass->needs()),
                   spellOrDash(pass->gives()), spellOrDash(pass->ends()), pass->getDescription());
  out << "\n`repeat{rounds=4 passes={...}}` runs its passes at most four times; `rounds` is 4 where it is not said.\n";
  out << formatv("\nAn imported graph is {0}.\n\n| of the graph | meaning |\n|---|---|\n", spellFacts(importedFacts));
  for (const FactText &text : factTable())
    out << formatv("| {0} | {1} |\n", text.name, text.meaning);
  out << "\n`--passes` takes the name of a policy, too, or `with:` and passes with commas between them. Both are "
         "completed "
         "by what the passes\nneed and by what a compilation cannot do without. `default+fast-math+PASS` is the "
         "default "
         "with more passes on the graph, behind its\nrounds. `fathom passes --passes NAME` prints "
         "what becomes of all of these.\n\n| policy | what it is | passes |\n|---|---|---|\n";
  for (const Policy &policy : policyTable())
    out << formatv("| `{0}` | {1} | {2} |\n", policy.name, policy.summary,
                   policy.passes.empty() ? "" : formatv("`{0}`", policy.passes).str());
  out << "\nThe default:\n\n```\n" << defaultPasses() << "```\n";
}

// That of --passes, or the default.
static int printPipeline(const OptionValues &options) {
  std::unique_ptr<mlir::MLIRContext> context = createContext();
  DiagnosticLog log(*context, "", printDiagnostic);
  auto text = pipelineText(options.text("passes"), mlir::UnknownLoc::get(context.get()));
  if (failed(text))
    return log.exitCode();
  outs() << StringRef(*text).trim() << "\n";
  return 0;
}

Expected<int> passesCommand(const Arguments &arguments) {
  if (!arguments.positional.empty() && arguments.options.flag("pairs"))
    return comparePassOrders(arguments.positional[0], arguments.options);
  if (!arguments.positional.empty())
    return arguments.options.flag("why") ? explainPasses(arguments.positional[0], arguments.options)
                                         : reportPasses(arguments.positional[0], arguments.options);
  if (arguments.options.has("example"))
    return printPassExample(arguments.options.text("example"), arguments.options);
  if (arguments.options.flag("examples"))
    return printPassExamples(arguments.options);
  if (arguments.options.flag("list"))
    printPasses(outs());
  else
    return printPipeline(arguments.options);
  return 0;
}

} // namespace fathom
