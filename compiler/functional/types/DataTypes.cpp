// Collects data types, each name once.
#include "compiler/functional/types/DataTypes.h"

#include "compiler/functional/syntax/Codes.h"

using namespace llvm;

namespace fathom::functional {

LogicalResult DataTypes::add(const Program &program, const Source &source) {
  for (const DataType &type : program.types) {
    if (elementNamed(type.name) || type.name == "Tensor" || !types.try_emplace(type.name, &type).second)
      return source.error(type.place, badProgram) << "a type '" << type.name << "' exists already";
    if (type.constructors.empty())
      return source.error(type.place, badProgram) << "data type " << type.name << " has no constructor";
    for (auto [index, constructor] : enumerate(type.constructors)) {
      auto [entry, isNew] = constructors.try_emplace(constructor.name, ConstructorOf{&type, unsigned(index)});
      if (isNew)
        continue;
      auto error = source.error(constructor.place, badProgram);
      error << "a constructor '" << constructor.name << "' exists already";
      error.attachNote() << source.name << ":" << entry->second.constructor().place.text() << ": here";
      return error;
    }
  }
  return success();
}

} // namespace fathom::functional
