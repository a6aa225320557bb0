// Traits that tell which family an op of the graph dialect belongs to.
#pragma once

#include "mlir/IR/OpDefinition.h"

namespace fathom::graph {

// The result element depends only on the operands' elements at the same (broadcast) index.
template <typename ConcreteType> class Elementwise : public mlir::OpTrait::TraitBase<ConcreteType, Elementwise> {};

// The elements along the op's axes are combined into one.
template <typename ConcreteType> class Reduction : public mlir::OpTrait::TraitBase<ConcreteType, Reduction> {};

// The elements are computed together, by loops of the op's own, and not each on demand: it anchors a kernel.
template <typename ConcreteType> class Anchor : public mlir::OpTrait::TraitBase<ConcreteType, Anchor> {};
// `op` may be null.
inline bool isAnchor(mlir::Operation *op) { return op && op->hasTrait<Anchor>(); }

// The dialect's own op, which ONNX does not have, or not in its own domain: no node of a model may have its name.
template <typename ConcreteType> class Internal : public mlir::OpTrait::TraitBase<ConcreteType, Internal> {};

// Elements are moved or counted and never looked at: those that have no arithmetic, strings and small types, pass too.
template <typename ConcreteType> class AnyElement : public mlir::OpTrait::TraitBase<ConcreteType, AnyElement> {};

// The arithmetic on floats holds a function that no machine has an instruction for: it is expanded into a polynomial or
// the like when code is generated (codegen/common/MathLowering.h), and costs accordingly.
template <typename ConcreteType> class Expanded : public mlir::OpTrait::TraitBase<ConcreteType, Expanded> {};

} // namespace fathom::graph
