// Types while they are inferred: terms with variables, in which sizes are expressions over symbols.
#pragma once

#include "compiler/functional/syntax/Ast.h"
#include "mlir/IR/AffineExpr.h"
#include "llvm/ADT/SmallVector.h"

namespace fathom::functional {

struct Type {
  // A variable stands for a type that is not known yet, a parameter for one that the caller chooses.
  enum Kind { Variable, Parameter, Element, Tensor, Tuple, Function, Data, Ref } kind;
  Place place;          // where the program says so
  Type *link = nullptr; // of a variable that is known by now
  unsigned level = 0;   // of a variable or parameter: how many generalisations it is inside of
  ElementType element = ElementType::Float32;
  std::string name;          // of a parameter or a data type
  std::vector<Type *> parts; // a tensor's element; a tuple's; a function's parameters, then its result; arguments
  llvm::SmallVector<mlir::AffineExpr, 4> sizes;
};

// A size that has a name. One that is rigid stands for any number; others may be found to be the same as something.
struct SizeSymbol {
  std::string name;
  bool isRigid = false;
  unsigned level = 0;
  mlir::AffineExpr known; // null: nothing yet
};

// What an operator's operands and results have to do with each other; solved once the operands are known.
struct Relation {
  const Expr *op;
  std::vector<Type *> operands;           // null: left out
  std::vector<const Literal *> constants; // of operands that are written out; else null
  std::vector<Type *> results;
  Place call; // of the function in which the operator stands, where it is not known there; else none
};

// A type in which what is deeper than `level` may be replaced for each use, as long as its relations hold.
struct Scheme {
  Type *type = nullptr;
  unsigned level = 0;
  std::vector<Relation> relations;
  const Literal *constant = nullptr; // of a variable that is one
};

} // namespace fathom::functional
