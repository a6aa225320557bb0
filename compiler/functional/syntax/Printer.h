// Programs as text, which reads as the same program.
#pragma once

#include "compiler/functional/syntax/Ast.h"
#include "llvm/Support/raw_ostream.h"

namespace fathom::functional {

void print(const Program &program, llvm::raw_ostream &out);
std::string spell(const TypeExpr &type);

} // namespace fathom::functional
