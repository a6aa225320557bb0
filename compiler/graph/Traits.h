// Traits that tell which family an op of the graph dialect belongs to.
#pragma once

#include "mlir/IR/OpDefinition.h"

namespace fathom::graph {

// The result element depends only on the operands' elements at the same (broadcast) index.
template <typename ConcreteType> class Elementwise : public mlir::OpTrait::TraitBase<ConcreteType, Elementwise> {};

// The elements along the op's axes are combined into one.
template <typename ConcreteType> class Reduction : public mlir::OpTrait::TraitBase<ConcreteType, Reduction> {};

} // namespace fathom::graph
