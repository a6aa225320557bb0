// The project's Python interpreter, which some commands need beside the compiler.
#pragma once

#include "llvm/Support/Error.h"
#include <string>
#include <vector>

namespace fathom {

// The variable FATHOM_PYTHON, or the virtual environment beside the build folder, or python3.
std::string findPython();
// The folder that the package `fathom` belonging to this program lies in, or empty.
std::string packageFolder();

// Runs Python with these arguments and the package on its path. Gives its exit code; a crash counts as our bug.
llvm::Expected<int> runPython(const std::vector<std::string> &arguments);

} // namespace fathom
