// Words of a program's text.
#pragma once

#include "compiler/functional/syntax/Place.h"
#include "llvm/ADT/StringRef.h"

namespace fathom::functional {

struct Token {
  enum Kind { End, Name, Number, String, Mark, Wrong } kind = End;
  llvm::StringRef text; // of a string: between its quotes; of what is wrong: why
  Place place;
};

class Lexer {
public:
  explicit Lexer(llvm::StringRef text) : rest(text) {}
  Token next();

private:
  void skip(size_t count);
  void skipSpace();
  Token take(Token::Kind kind, size_t length);

  llvm::StringRef rest;
  Place place{1, 1};
};

} // namespace fathom::functional
