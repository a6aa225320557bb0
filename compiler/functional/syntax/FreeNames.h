// The names that a function takes from around it.
#pragma once

#include "compiler/functional/syntax/Ast.h"

namespace fathom::functional {

// In the order of the text, each once.
std::vector<std::string> freeNamesOf(const Function &function);

} // namespace fathom::functional
