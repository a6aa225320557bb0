// Products of 8-bit numbers with constant weights as products of bytes: factors in the form that they take, and zero
// points as constants that are added.
#pragma once

#include "compiler/graph/Rewrite.h"
#include "compiler/target/Target.h"
#include <vector>

namespace fathom {

// The operands of a product: 8-bit numbers, each less its zero point, which may be none.
struct ByteFactors {
  mlir::Value left, leftZero, right, rightZero;
};

// Whether nothing of the value depends on inputs.
bool isWeightValue(mlir::Value value);
// The number that all elements of a zero point of 8 or 32 bits are; nothing where they differ or are not known. An
// absent one is 0.
std::optional<int64_t> onlyNumber(mlir::Value zero);
// The elements of a constant of 32-bit floats, or its only one.
std::optional<std::vector<float>> constantFloats(mlir::Value value);

// Why sums of these products are not for integers; empty: they are. `depth` is the dimension of the weights that is
// summed up, or the first of several; `group` is that of a convolution.
std::string whyNotBytes(const ByteFactors &factors, int64_t depth, int64_t group);

// Whether numbers of 32 bits are known, and stay such whatever sum of products is added to them. `depth` is as above.
bool fitsSums(mlir::Value bias, mlir::Value weights, int64_t depth);

// The sums of 32 bits. A bias is of 32 bits, or null; the window of a convolution is that of `like`.
mlir::Value byteMatMul(mlir::OpBuilder &b, mlir::Operation *like, const ByteFactors &factors, const Target &target);
mlir::Value byteConv(mlir::OpBuilder &b, mlir::Operation *like, const ByteFactors &factors, mlir::Value bias,
                     int64_t group, const Target &target);

} // namespace fathom
