// fathom passes: the default pipeline, all passes, or what each does to a model.
#include "compiler/driver/DefaultPasses.h"
#include "compiler/passes/Passes.h"
#include "tools/fathom/PassReport.h"
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
  out << "\nThe default:\n\n```\n" << defaultPasses() << "```\n";
}

Expected<int> passesCommand(const Arguments &arguments) {
  if (!arguments.positional.empty())
    return reportPasses(arguments.positional[0], arguments.options);
  if (arguments.options.flag("list"))
    printPasses(outs());
  else
    outs() << defaultPasses();
  return 0;
}

} // namespace fathom
