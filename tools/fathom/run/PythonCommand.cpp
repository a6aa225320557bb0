// Handing a command over to Python: its options as JSON, and a launcher that tells what is missing.
#include "tools/fathom/run/PythonCommand.h"

#include "tools/fathom/run/Python.h"

using namespace llvm;

namespace fathom {

// The options as JSON, so that Python need not know how a command line is read.
static json::Value valueOf(const Option &option, const OptionValues &options) {
  switch (option.type) {
  case OptionType::Flag:
    return options.flag(option.name);
  case OptionType::Integer:
    return options.text(option.name).empty() ? json::Value(nullptr) : json::Value(options.integer(option.name));
  case OptionType::Number:
    return options.text(option.name).empty() ? json::Value(nullptr) : json::Value(options.number(option.name));
  default:
    break;
  }
  if (option.repeats)
    return json::Array(options.all(option.name));
  std::string text = options.text(option.name);
  return text.empty() ? json::Value(nullptr) : json::Value(text);
}

// Python itself may lack a package, or the memory to load one.
static constexpr char launcher[] = R"(
import importlib, sys
module, name, request = sys.argv[1:]
try:
    run_command = importlib.import_module(module).run_command
except (ImportError, MemoryError, OSError) as error:
    print(f"error: [F5001] fathom {name} cannot be loaded: {error}", file=sys.stderr)
    print("hint: set FATHOM_PYTHON to an interpreter that has onnx, onnxruntime and numpy", file=sys.stderr)
    sys.exit(5)
sys.exit(run_command(request))
)";

Expected<int> runPythonCommand(CommandBit command, StringRef name, StringRef module, const Arguments &arguments) {
  json::Object request{{"model", arguments.positional[0]}};
  for (const Option &option : optionTable())
    if (option.commands & command)
      request[option.name] = valueOf(option, arguments.options);
  std::string text;
  raw_string_ostream(text) << json::Value(std::move(request));
  return runPython({"-c", launcher, module.str(), name.str(), text});
}

} // namespace fathom
