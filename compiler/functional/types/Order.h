// The order in which functions are inferred: those that one calls before it, and those that call each other together.
#pragma once

#include "compiler/functional/syntax/Ast.h"

namespace fathom::functional {

std::vector<std::vector<const Function *>> dependencyOrder(llvm::ArrayRef<Function *> functions);

} // namespace fathom::functional
