// Where several values may be meant, because a branch or an iteration decides: their common structure, in which tensors
// that differ are holes.
#pragma once

#include "compiler/functional/lower/GraphBuilder.h"
#include "compiler/functional/lower/Value.h"
#include "compiler/functional/types/Unifier.h"

namespace fathom::functional {

// A structure is a value with holes: tensors without name and elements. An unknown size of a hole is null.
class Join {
public:
  Join(GraphBuilder &builder, Unifier &unifier) : builder(builder), unifier(unifier) {}

  // Null where no structure has both, such as of two references. Tensors among the first `outside` names of the builder
  // are seen from wherever the structure is used.
  ValueRef join(const ValueRef &a, const ValueRef &b, unsigned outside);
  // The names of a value's tensors at the holes of a structure that it fits, in order.
  void collect(const Value &value, const Value &structure, std::vector<std::string> &names, Place place);
  // The structure with tensors of these names in its holes, in order.
  ValueRef fill(const ValueRef &structure, llvm::function_ref<std::string(const TensorType &)> next);
  // A tensor's name, which is that of a constant where its elements are known.
  std::string nameOf(const Value &tensor);

  static bool isHole(const Value &value) {
    return value.kind == Value::Tensor && value.name.empty() && !value.constant;
  }
  static bool isSameStructure(const Value &a, const Value &b);

  // A structure for what is in one branch only.
  ValueRef opened(const ValueRef &value, unsigned outside);

private:
  ValueRef hole(const TensorType &type);
  void collectFillers(const Value &structure, std::vector<std::string> &names, Place place);

  GraphBuilder &builder;
  Unifier &unifier;
};

} // namespace fathom::functional
