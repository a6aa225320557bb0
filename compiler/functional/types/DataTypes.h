// The data types of a program by their names and constructors.
#pragma once

#include "compiler/functional/syntax/Ast.h"
#include "llvm/ADT/StringMap.h"

namespace fathom::functional {

struct ConstructorOf {
  const DataType *type;
  unsigned index;
  const Constructor &constructor() const { return type->constructors[index]; }
};

class DataTypes {
public:
  // Reports names that are used twice.
  llvm::LogicalResult add(const Program &program, const Source &source);
  const DataType *named(llvm::StringRef name) const { return types.lookup(name); }
  const ConstructorOf *constructor(llvm::StringRef name) const {
    auto found = constructors.find(name);
    return found == constructors.end() ? nullptr : &found->second;
  }

private:
  llvm::StringMap<const DataType *> types;
  llvm::StringMap<ConstructorOf> constructors;
};

} // namespace fathom::functional
