// Codes of errors that only programs have; docs/user/errors.md explains them.
#pragma once

#include "compiler/support/Diagnostics.h"

namespace fathom::functional {

inline constexpr ErrorCode badSyntax = ErrorCode(1017), // the text is no program
    badProgram = ErrorCode(1018),                       // names, constructors and patterns that do not fit
    badTypes = ErrorCode(1019),                         // types that do not fit
    endless = ErrorCode(1020),                          // a recursion without an end
    notLowered = ErrorCode(3005);                       // what has a type and cannot be compiled yet

} // namespace fathom::functional
