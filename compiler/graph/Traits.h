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

// It compares strings, looks them up, chooses among them or holds them: nodes may be given strings.
template <typename ConcreteType> class TakesStrings : public mlir::OpTrait::TraitBase<ConcreteType, TakesStrings> {};

// The same elements in the same row-major order, in another shape.
template <typename ConcreteType> class Reshaping : public mlir::OpTrait::TraitBase<ConcreteType, Reshaping> {};
// `op` may be null.
inline bool isReshape(mlir::Operation *op) { return op && op->hasTrait<Reshaping>(); }

// Its result is known before anything runs; of literals, it is written in the op.
template <typename ConcreteType> class Known : public mlir::OpTrait::TraitBase<ConcreteType, Known> {};
inline bool isKnown(mlir::Operation *op) { return op->hasTrait<Known>(); }
inline bool isLiteral(mlir::Operation *op) { return op->hasTrait<mlir::OpTrait::ConstantLike>(); }

// Its blocks run once, several times or not at all.
template <typename ConcreteType> class Control : public mlir::OpTrait::TraitBase<ConcreteType, Control> {};
// `op` may be null.
inline bool isControl(mlir::Operation *op) { return op && op->hasTrait<Control>(); }

// The host's code does it, while no kernel runs.
template <typename ConcreteType> class OnHost : public mlir::OpTrait::TraitBase<ConcreteType, OnHost> {};

// A window moves over an image: getWindow() says which. Of pooling, it has no weights.
template <typename ConcreteType> class Windowed : public mlir::OpTrait::TraitBase<ConcreteType, Windowed> {};
template <typename ConcreteType> class Pooling : public mlir::OpTrait::TraitBase<ConcreteType, Pooling> {};

// Elements depend on all others of their row: along one axis, or from an axis to the innermost dimension.
template <typename ConcreteType> class SoftmaxLike : public mlir::OpTrait::TraitBase<ConcreteType, SoftmaxLike> {};
template <typename ConcreteType>
class NormalizesRows : public mlir::OpTrait::TraitBase<ConcreteType, NormalizesRows> {};

// The arithmetic on floats holds a function that no machine has an instruction for: it is expanded into a polynomial or
// the like when code is generated (codegen/common/MathLowering.h), and costs accordingly.
template <typename ConcreteType> class Expanded : public mlir::OpTrait::TraitBase<ConcreteType, Expanded> {};

} // namespace fathom::graph
