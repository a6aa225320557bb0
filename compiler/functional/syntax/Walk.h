// What an expression consists of.
#pragma once

#include "compiler/functional/syntax/Ast.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace fathom::functional {

// The expressions right beneath one, in the order of the text.
template <typename F> void forEachPart(const Expr &expr, F visit) {
  for (const Let &let : expr.lets)
    if (let.value)
      visit(let.value);
  for (Expr *part : expr.parts)
    if (part)
      visit(part);
  for (const Arm &arm : expr.arms)
    if (arm.body)
      visit(arm.body);
  if (expr.function && expr.function->body)
    visit(expr.function->body);
}

} // namespace fathom::functional
