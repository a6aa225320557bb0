// Convolutions, transposed ones and sums over windows, for rules of several families.
#pragma once

#include "compiler/passes/gradient/Backward.h"

namespace fathom::gradient {

// A convolution; windows behind the last pads are left out.
Term convolved(Term image, Term weight, const graph::Window &window, int64_t group);
// Its adjoint: what every window was given, added up over the windows, for images of these sizes.
Term spread(Term adjoint, Term weight, const graph::Window &window, int64_t group,
            llvm::ArrayRef<mlir::AffineExpr> sizes);
// The products of pixels and of the adjoints of the windows that they are in, for each place of a window: the batch is
// what a convolution sums over.
mlir::FailureOr<Term> correlated(Term image, Term adjoint, const graph::Window &window, int64_t group);

} // namespace fathom::gradient
