// Sums of vectors weighted by the rows of a small matrix, with few operations.
#pragma once

#include "compiler/codegen/common/Code.h"
#include "compiler/kernel/TransformMatrix.h"

namespace fathom {

// The points p and -p of an interpolation make rows, or columns, that differ only in signs: such neighbours share their
// sums.
class Combination {
public:
  Combination(Code &c, const TransformMatrix &matrix);

  // A sum for each row of the matrix.
  llvm::SmallVector<mlir::Value> operator()(llvm::ArrayRef<mlir::Value> inputs) const;

private:
  std::pair<mlir::Value, mlir::Value> sumAndDifference(mlir::Value x, mlir::Value y) const;
  mlir::Value sum(llvm::ArrayRef<mlir::Value> x, size_t row, llvm::function_ref<bool(size_t)> takes) const;

  Code &c;
  std::vector<std::vector<double>> rows;
  llvm::SmallVector<size_t> columnPairs;
};

} // namespace fathom
