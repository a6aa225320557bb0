// What is known before the program runs: integers and truths, so that recursions over them are unrolled.
#pragma once

#include "compiler/functional/lower/Value.h"

namespace fathom::functional {

// The result of an operator of few whole numbers that are known; nullopt where it is left to the graph.
std::optional<Literal> fold(const Expr &op, llvm::ArrayRef<ValueRef> operands);

} // namespace fathom::functional
