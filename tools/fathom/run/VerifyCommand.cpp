// fathom verify: hands over to fathom/verify.py, because the references it compares with are Python packages.
#include "tools/fathom/run/PythonCommand.h"

using namespace llvm;

namespace fathom {

Expected<int> verifyCommand(const Arguments &arguments) {
  if (arguments.options.text("target") == "help")
    return printTargets(arguments.options);
  return runPythonCommand(VerifyBit, "verify", "fathom.verify", arguments);
}

} // namespace fathom
