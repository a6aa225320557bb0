// Reads ONNX models into the graph dialect. Nothing in a model is trusted: every problem becomes a diagnostic with a
// code.
#pragma once

#include "compiler/import/read/ImportOptions.h"
#include "compiler/support/Diagnostics.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include <string>
#include <vector>

namespace fathom {

// The module holds func.func @main; null when the model cannot be imported, with the reason in the context's
// diagnostics.
mlir::OwningOpRef<mlir::ModuleOp> importOnnx(const ModelSource &source, mlir::MLIRContext &context,
                                             const ImportOptions &options = {});

struct Problem {
  ErrorCode code;
  std::string node; // the ONNX node's name, or empty where the whole model is meant
  std::string message;
  std::string hint;
};
// Everything that keeps the model from being imported, not only the first problem. A node whose inputs could not be
// imported is still checked for its operator.
std::vector<Problem> collectUnsupported(const ModelSource &source, mlir::MLIRContext &context,
                                        const ImportOptions &options = {});

} // namespace fathom
