// The syntax of a functional program: definitions, expressions, patterns and types, each with its place in the text.
#pragma once

#include "compiler/functional/syntax/ElementType.h"
#include "compiler/functional/syntax/Place.h"
#include <deque>
#include <string>
#include <vector>

namespace fathom::functional {

// A size in a type: a number, a symbol, or what comes of others.
struct SizeExpr {
  enum Kind { Number, Symbol, Any, Add, Sub, Mul, Div } kind;
  Place place;
  int64_t number = 0;
  std::string name;
  SizeExpr *left = nullptr, *right = nullptr;
};

struct TypeExpr {
  // Named: a type parameter, a data type with its arguments, or an element type, which is a scalar's.
  enum Kind { Named, Tensor, Tuple, Function, Ref } kind;
  Place place;
  std::string name;
  std::vector<TypeExpr *> parts; // arguments; a tensor's element; a tuple's; a function's parameters, then its result
  std::vector<SizeExpr *> sizes;
};

struct Pattern {
  enum Kind { Any, Name, Constructor, Tuple } kind;
  Place place;
  std::string name;
  std::vector<Pattern *> parts;
};

// A tensor that is written out, row by row. Integers and bools are whole numbers.
struct Literal {
  ElementType element = ElementType::Int64;
  std::vector<int64_t> dims;
  std::vector<int64_t> integers;
  std::vector<double> floats;
};

// What an operator is told besides its operands.
struct Attribute {
  enum Kind { Int, Float, String, Ints, Floats, Strings, Element } kind;
  Place place;
  std::string name;
  std::vector<int64_t> ints; // of Element: ONNX's number
  std::vector<double> floats;
  std::vector<std::string> strings;
};

struct Expr;

struct Parameter {
  Place place;
  std::string name;
  TypeExpr *type = nullptr; // null: inferred
};

struct Function {
  Place place;
  std::string name; // empty: has none
  std::vector<std::string> typeParameters;
  std::vector<Parameter> parameters;
  TypeExpr *result = nullptr;
  int64_t within = 0; // how many of its calls may be inside each other when it runs; 0: as usual
  Expr *body = nullptr;
};

// `let pattern: type = value;`, or a function that may call itself, which has no pattern.
struct Let {
  Pattern *pattern = nullptr;
  TypeExpr *type = nullptr;
  Expr *value = nullptr; // of a function: its lambda
};

struct Arm {
  Pattern *pattern;
  Expr *body;
};

struct Expr {
  enum Kind { Var, Constant, Tuple, Project, Block, If, Match, Lambda, Call, Op, NewRef, Deref, Assign } kind;
  Place place;
  unsigned depth = 1;           // of the expression, which is bounded
  std::string name;             // of a variable, a constructor or an operator
  std::vector<Expr *> parts;    // operands in order; null: an operand that is left out
  int64_t index = 0;            // of a tuple's element; of an operator: how many results it gives
  std::vector<Let> lets;        // of a block, in front of its value
  std::vector<Arm> arms;        // of a match
  Function *function = nullptr; // of a lambda
  Literal literal;
  std::vector<Attribute> attributes;
};

struct Constructor {
  Place place;
  std::string name;
  std::vector<TypeExpr *> fields;
};

struct DataType {
  Place place;
  std::string name;
  std::vector<std::string> parameters;
  std::vector<Constructor> constructors;
};

// A program, with everything that its parts point to.
struct Program {
  std::vector<DataType> types;
  std::vector<Function *> functions;

  Expr *make(Expr::Kind kind, Place place) {
    Expr &made = exprs.emplace_back();
    made.kind = kind, made.place = place;
    return &made;
  }
  template <typename T> T *make(typename T::Kind kind, Place place) {
    T &made = pool<T>().emplace_back();
    made.kind = kind, made.place = place;
    return &made;
  }
  Function *makeFunction(Place place) {
    Function &made = functionPool.emplace_back();
    made.place = place;
    return &made;
  }

private:
  template <typename T> std::deque<T> &pool() {
    if constexpr (std::is_same_v<T, SizeExpr>)
      return sizes;
    else if constexpr (std::is_same_v<T, TypeExpr>)
      return typeExprs;
    else
      return patterns;
  }
  std::deque<Expr> exprs;
  std::deque<SizeExpr> sizes;
  std::deque<TypeExpr> typeExprs;
  std::deque<Pattern> patterns;
  std::deque<Function> functionPool;
};

// How deep expressions, types and patterns may nest: everything that follows may recurse so deep.
inline constexpr unsigned deepest = 500;

// Constructors and operators begin with a capital letter, what is bound with a small one.
inline bool isCapital(llvm::StringRef name) { return !name.empty() && name[0] >= 'A' && name[0] <= 'Z'; }

} // namespace fathom::functional
