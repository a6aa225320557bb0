// Computes parts of the graph by the compiler's own kernels, so that a constant is computed by the code that would have
// computed it at run time.
#pragma once

#include "compiler/passes/PassContext.h"

namespace fathom {

// Compiles a part for this machine, with strict floating point and by the default pipeline without folding, and runs
// it.
class KernelEvaluator final : public Evaluator {
public:
  llvm::LogicalResult evaluate(mlir::ModuleOp part, llvm::ArrayRef<graph::ConstantOp> inputs,
                               std::vector<std::vector<char>> &results) override;
};

} // namespace fathom
