// Everything that keeps a model from being compiled.
#pragma once

#include "compiler/import/Import.h"

namespace fathom {

// All problems of the import at once, or else the first of a later stage: a model without any compiles. The context is
// one of createContext().
std::vector<Problem> findProblems(const ModelSource &source, mlir::MLIRContext &context,
                                  const ImportOptions &options = {});

} // namespace fathom
