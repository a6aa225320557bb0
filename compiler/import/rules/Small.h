// Values of small element types (graph/SmallTypes.h): what they are as wider types, and how they come from them.
#pragma once

#include "compiler/import/node/Normalize.h"

namespace fathom::importer {

// Whether the operator may be given small element types: it moves them, or makes others of them.
bool takesSmallTypes(llvm::StringRef op, mlir::MLIRContext *context);

struct SmallRounding {
  bool saturates = true;
  llvm::StringRef mode = "up"; // of float8e8m0, which alone has a choice
};

// Small integers as numbers of 8 bits with or without a sign, and the other way round: the low bits of numbers.
mlir::Value asNumbers(Node &node, mlir::Value value);
mlir::Value fromNumbers(Node &node, mlir::Value numbers, mlir::Type small);
// A value of any element type as another one, of which either may be small.
mlir::Value castSmall(Node &node, mlir::Value value, mlir::Type to, SmallRounding rounding, llvm::StringRef suffix);

// Replaces small element types by what holds them, in all of a model that is imported: from here on nothing knows them.
void storeSmallTypes(mlir::ModuleOp module);

} // namespace fathom::importer
