// Types that the program writes, as terms.
#pragma once

#include "compiler/functional/types/DataTypes.h"
#include "compiler/functional/types/Unifier.h"

namespace fathom::functional {

class Declared {
public:
  // What names in types stand for; symbols of sizes are added where they are met.
  struct Names {
    llvm::StringMap<Type *> types;
    llvm::StringMap<mlir::AffineExpr> sizes;
    bool isRigid = false;
  };

  Declared(const Source &source, const DataTypes &dataTypes, Unifier &unifier)
      : source(source), dataTypes(dataTypes), unifier(unifier) {}

  // Whether all parameters and the result have types.
  static bool isComplete(const Function &function);
  // Adds the parameters of a function to the names that are known. Callers choose what is rigid; the rest is found out.
  void open(const std::vector<std::string> &parameters, bool isRigid, Place place);
  // Null after a report.
  Type *type(const TypeExpr &expr);
  Type *function(const Function &function);
  // Of a constructor: a function of its fields, or the data type where there are none.
  Type *constructor(const DataType &type, const Constructor &constructor);

  Names names;

private:
  mlir::AffineExpr size(const SizeExpr &expr);

  const Source &source;
  const DataTypes &dataTypes;
  Unifier &unifier;
};

} // namespace fathom::functional
