// Every tensor has a rank. Where the branches of an If differ in it and nothing decides the condition, or a Squeeze
// without axes has a dimension that may be 1, one of the two ways is imported, and the run checks that it is the one to
// be taken: which one makes sense is found out by importing the model both ways.
#pragma once

#include "compiler/import/build/Importer.h"

namespace fathom::importer {

// An importer of the model that goes the second way where UnequalRanks have these keys.
using MakeImporter = llvm::function_ref<std::unique_ptr<Importer>(llvm::StringSet<> takesSecond)>;
mlir::OwningOpRef<mlir::ModuleOp> importWithRanks(mlir::MLIRContext &context, const Opsets &opsets,
                                                  MakeImporter makeImporter);

} // namespace fathom::importer
