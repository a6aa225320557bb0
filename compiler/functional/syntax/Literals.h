// Numbers and tensors as they are written, read and spelt so that reading gives the same again.
#pragma once

#include "compiler/functional/syntax/Ast.h"
#include "llvm/Support/Error.h"

namespace fathom::functional {

// `inf`, `nan`, or one of them with a suffix.
bool isSpecialFloat(llvm::StringRef text);
llvm::Error readNumber(llvm::StringRef text, bool isNegative, Literal &number);
// Makes one tensor of its elements, whose sizes it has already.
llvm::Error joinElements(llvm::ArrayRef<Literal> elements, std::optional<ElementType> element, Literal &tensor);
std::string spell(const Literal &literal);
// With a point or exponent, so that it does not read as a whole number.
std::string spellFloat(double number, bool isDouble);

} // namespace fathom::functional
