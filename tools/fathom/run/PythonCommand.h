// Commands that the Python package carries out, because what they need are Python packages already.
#pragma once

#include "tools/fathom/Commands.h"

namespace fathom {

// Hands the command's operand MODEL and options over to run_command() of a Python module. Gives its exit code.
llvm::Expected<int> runPythonCommand(CommandBit command, llvm::StringRef name, llvm::StringRef module,
                                     const Arguments &arguments);

} // namespace fathom
