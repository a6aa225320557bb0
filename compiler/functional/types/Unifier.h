// Makes types the same by finding out what their variables and symbols stand for.
#pragma once

#include "compiler/functional/types/Type.h"
#include "llvm/ADT/DenseMap.h"
#include <deque>

namespace fathom::functional {

class Unifier {
public:
  explicit Unifier(mlir::MLIRContext *context) : context(context) {}

  Type *make(Type::Kind kind, Place place, std::vector<Type *> parts = {});
  Type *variable(Place place);
  Type *element(ElementType element, Place place);
  Type *scalar(ElementType element, Place place);
  Type *tensor(llvm::ArrayRef<mlir::AffineExpr> sizes, Type *element, Place place);
  mlir::AffineExpr symbol(std::string name, bool isRigid);
  mlir::AffineExpr number(int64_t value) { return mlir::getAffineConstantExpr(value, context); }

  // What a variable or a size is known to be.
  static Type *known(Type *type);
  mlir::AffineExpr known(mlir::AffineExpr size) const;
  const SizeSymbol &symbolAt(unsigned position) const { return symbols[position]; }

  // False where the types cannot be the same; what they stand for may have been found out in part then.
  bool unify(Type *a, Type *b);
  bool unify(mlir::AffineExpr a, mlir::AffineExpr b);

  // Whether a type depends on what is deeper than a level.
  bool mentionsDeeper(Type *type, unsigned level) const;
  Scheme instantiate(const Scheme &scheme, unsigned level, Place call);

  std::string spell(Type *type) const;
  std::string spell(mlir::AffineExpr size) const;

  unsigned level = 0; // of what is made now

private:
  // Whether a variable occurs in a type; brings all that does to the variable's level.
  bool occurs(Type *variable, Type *type);
  void lower(mlir::AffineExpr size, unsigned level);
  void bind(unsigned symbol, mlir::AffineExpr size);
  bool solve(mlir::AffineExpr zero);

  mlir::MLIRContext *context;
  std::deque<Type> types;
  std::vector<SizeSymbol> symbols;
};

} // namespace fathom::functional
