// Operators that are written between their operands.
#pragma once

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"

namespace fathom::functional {

struct Infix {
  llvm::StringLiteral mark, op;
  int level; // the higher, the tighter
};
inline constexpr Infix infixes[] = {
    {"||", "Or", 1},  {"&&", "And", 2},    {"==", "Equal", 3}, {"<=", "LessOrEqual", 3}, {">=", "GreaterOrEqual", 3},
    {"<", "Less", 3}, {">", "Greater", 3}, {"+", "Add", 4},    {"-", "Sub", 4},          {"*", "Mul", 5},
    {"/", "Div", 5},  {"@", "MatMul", 5},
};
inline constexpr int prefixLevel = 6, operandLevel = 7;

inline const Infix *infixOf(llvm::StringRef op) {
  const Infix *found = llvm::find_if(infixes, [&](const Infix &infix) { return infix.op == op; });
  return found == std::end(infixes) ? nullptr : found;
}

} // namespace fathom::functional
