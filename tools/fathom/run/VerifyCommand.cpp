// fathom verify: hands over to fathom/verify.py, because the references it compares with are Python packages.
#include "tools/fathom/Commands.h"
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
    return options.number(option.name);
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
import sys
try:
    from fathom.verify import run_command
except (ImportError, MemoryError, OSError) as error:
    print(f"error: [F5001] fathom verify cannot be loaded: {error}", file=sys.stderr)
    print("hint: set FATHOM_PYTHON to an interpreter that has onnx, onnxruntime and numpy", file=sys.stderr)
    sys.exit(5)
sys.exit(run_command(sys.argv[1]))
)";

Expected<int> verifyCommand(const Arguments &arguments) {
  if (arguments.options.text("target") == "help")
    return printTargets(arguments.options);
  json::Object request{{"model", arguments.positional[0]}};
  for (const Option &option : optionTable())
    if (option.commands & VerifyBit)
      request[option.name] = valueOf(option, arguments.options);
  std::string text;
  raw_string_ostream(text) << json::Value(std::move(request));
  return runPython({"-c", launcher, text});
}

} // namespace fathom
