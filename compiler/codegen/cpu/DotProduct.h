// Sums of products of bytes: four of them in each lane of 32 bits, by what a machine has for it.
#pragma once

#include "compiler/codegen/common/Code.h"
#include "compiler/graph/ByteProducts.h"
#include "compiler/target/Target.h"

namespace fathom {

// What multiplying needs of left factors, once for each vector or number of them that is loaded.
mlir::Value asLeftQuads(Code &c, graph::Quads kind, mlir::Value quads);

// sum + left[0] * right[0] + ... + left[3] * right[3] of the bytes of every lane.
mlir::Value addDotProduct(Code &c, const Target &target, graph::Quads kind, mlir::Value left, mlir::Value right,
                          mlir::Value sum);

} // namespace fathom
