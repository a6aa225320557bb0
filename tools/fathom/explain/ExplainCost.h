// fathom explain --cost: what a kernel costs by its own code and, where it is run, by the machine.
#pragma once

#include "tools/fathom/Commands.h"

namespace fathom {

// Gives the exit code.
llvm::Expected<int> explainCost(llvm::StringRef model, const OptionValues &options);

} // namespace fathom
