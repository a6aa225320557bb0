// The words of `python -m fathom.farm` from those of `fathom tune`.
#include "tools/fathom/tune/TuneOnRay.h"

#include "compiler/tune/database/Locate.h"
#include "tools/fathom/run/Python.h"

using namespace llvm;

namespace fathom {

// What is about the farm as a whole, or about what this program prints; all else goes to every worker.
static constexpr StringLiteral own[] = {"ray", "ray-tasks", "ray-cpus", "db", "target", "quiet", "tune"};
// What makes no sense there: a file that workers do not have, a result that nobody puts together.
static constexpr StringLiteral refused[] = {"output", "json", "part", "plan", "calibration", "show-search"};

// Python itself may lack a package, or the memory to load one.
static constexpr char launcher[] = R"(
import sys
try:
    from fathom.farm import main
except (ImportError, MemoryError, OSError) as error:
    print(f"error: [F5001] fathom tune --ray cannot be loaded: {error}", file=sys.stderr)
    print("hint: set FATHOM_PYTHON to an interpreter that has what requirements-ray.txt lists", file=sys.stderr)
    sys.exit(5)
sys.exit(main(sys.argv[1:]))
)";

Expected<int> tuneOnRay(const Arguments &arguments) {
  const OptionValues &options = arguments.options;
  for (StringRef name : refused)
    if (options.has(name))
      return fail(usageError, "option --" + name + " does not go with --ray",
                  "what workers find goes into the database, from which 'fathom compile' takes it");
  constexpr int64_t mostTasks = 100000;
  if (int64_t tasks = options.integer("ray-tasks"); tasks < 1 || tasks > mostTasks)
    return fail(usageError, "option --ray-tasks is from 1 to " + Twine(mostTasks), "1, without it");
  std::optional<tune::DatabaseFile> database = tune::locate(options.text("db"));
  if (!database)
    return fail(usageError, "--ray needs a database, where all that is found goes", "name one with --db");
  // What stands alone after -- goes to every worker; a model is a path even where it looks like an option.
  StringRef model = arguments.positional[0];
  std::vector<std::string> words{"-c",
                                 launcher,
                                 (model.starts_with("-") ? "./" : "") + model.str(),
                                 "--ray=" + options.text("ray"),
                                 "--db=" + database->path,
                                 "--parts=" + options.text("ray-tasks"),
                                 "--cpus=" + options.text("ray-cpus"),
                                 "--target=" + options.text("target"),
                                 "--",
                                 "--tune=" + (options.has("tune") ? options.text("tune") : "measure")};
  for (const Option &option : optionTable()) {
    if (!(option.commands & TuneBit) || is_contained(own, option.name))
      continue;
    if (option.type == OptionType::Flag && options.has(option.name))
      words.push_back("--" + option.name.str());
    else
      for (const std::string &text : options.all(option.name))
        words.push_back("--" + option.name.str() + "=" + text);
  }
  return runPython(words);
}

} // namespace fathom
