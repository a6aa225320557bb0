// Compiles programs: text to a module of the graph dialect.
#pragma once

#include "compiler/import/Import.h"

namespace fathom {

// Whether a file is a program, by its name.
bool isProgram(llvm::StringRef path);

// As importOnnx, for a file that is a program or a model.
mlir::OwningOpRef<mlir::ModuleOp> importAny(const ModelSource &source, mlir::MLIRContext &context,
                                            const ImportOptions &options = {});

} // namespace fathom
