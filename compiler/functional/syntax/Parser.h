// Reads a program from text.
#pragma once

#include "compiler/functional/syntax/Ast.h"
#include <memory>

namespace fathom::functional {

// Null after a report. Names of variables are not looked up yet; constructors are told from operators.
std::unique_ptr<Program> parse(llvm::StringRef text, const Source &source);

} // namespace fathom::functional
