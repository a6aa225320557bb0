// Words of a program's text: names, numbers with the suffix of their type, strings without escapes, marks.
#include "compiler/functional/syntax/Lexer.h"

#include "llvm/ADT/StringExtras.h"

using namespace llvm;

namespace fathom::functional {

static bool isNameChar(char c) { return isAlnum(c) || c == '_'; }

void Lexer::skip(size_t count) {
  for (char c : rest.take_front(count))
    if (c == '\n')
      ++place.line, place.column = 1;
    else
      ++place.column;
  rest = rest.drop_front(count);
}

void Lexer::skipSpace() {
  while (!rest.empty())
    if (isSpace(rest.front()))
      skip(1);
    else if (rest.starts_with("//"))
      skip(rest.find('\n') == StringRef::npos ? rest.size() : rest.find('\n'));
    else
      return;
}

Token Lexer::take(Token::Kind kind, size_t length) {
  Token token{kind, rest.take_front(length), place};
  skip(length);
  return token;
}

// A number: digits, a fraction, an exponent, and a suffix, which is read with its type.
static size_t numberLength(StringRef text) {
  size_t length = 0;
  auto digits = [&] {
    while (length < text.size() && isDigit(text[length]))
      ++length;
  };
  digits();
  // `t.0.1` are elements of tuples: a fraction has a digit behind its point.
  if (length + 1 < text.size() && text[length] == '.' && isDigit(text[length + 1]))
    ++length, digits();
  if (length < text.size() && (text[length] == 'e' || text[length] == 'E')) {
    size_t sign = length + 1 < text.size() && (text[length + 1] == '-' || text[length + 1] == '+');
    if (length + 1 + sign < text.size() && isDigit(text[length + 1 + sign]))
      length += 1 + sign, digits();
  }
  while (length < text.size() && isNameChar(text[length]))
    ++length;
  return length;
}

Token Lexer::next() {
  skipSpace();
  if (rest.empty())
    return {Token::End, "", place};
  char first = rest.front();
  if (isAlpha(first) || first == '_')
    return take(Token::Name, std::min(rest.size(), rest.find_if_not(isNameChar)));
  if (isDigit(first))
    return take(Token::Number, numberLength(rest));
  if (first == '"') {
    size_t end = rest.find_first_of("\"\n", 1);
    if (end == StringRef::npos || rest[end] != '"')
      return {Token::Wrong, "a string does not end on its line", place};
    Token token = take(Token::String, end + 1);
    token.text = token.text.drop_front().drop_back();
    return token;
  }
  for (StringRef mark : {"->", "=>", ":=", "==", "!=", "<=", ">=", "&&", "||"})
    if (rest.starts_with(mark))
      return take(Token::Mark, mark.size());
  if (StringRef("(){}[]<>,;:.=+-*/@!?").contains(first))
    return take(Token::Mark, 1);
  return {Token::Wrong, "a character that means nothing here", place};
}

} // namespace fathom::functional
