// A small graph for each pass, before and after it.
#pragma once

#include "tools/fathom/Commands.h"

namespace fathom {

// Prints a pass's example, or what is wrong. Gives the exit code.
llvm::Expected<int> printPassExample(llvm::StringRef pass, const OptionValues &options);

// All of them: the page docs/reference/pass-examples.md.
llvm::Expected<int> printPassExamples(const OptionValues &options);

} // namespace fathom
