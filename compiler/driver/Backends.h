// All back ends.
#pragma once

#include "compiler/kernel/Backend.h"

namespace fathom {

llvm::ArrayRef<const Backend *> allBackends();

// The dialects that loops of any of them use, and their translations.
void registerCodegenDialects(mlir::DialectRegistry &registry);

} // namespace fathom
