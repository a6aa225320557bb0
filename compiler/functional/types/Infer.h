// Type inference: Hindley-Milner, with sizes as expressions and operators as relations that are solved when their
// operands are known.
#pragma once

#include "compiler/functional/types/DataTypes.h"
#include "compiler/functional/types/OpRelation.h"
#include "compiler/functional/types/Unifier.h"

namespace fathom::functional {

// What a program means: its data types, and the type of its entry.
struct Typing {
  explicit Typing(mlir::MLIRContext *context)
      : unifier(context), relations(context, [this](mlir::AffineExpr size) { return unifier.spell(size); }) {}
  Unifier unifier;
  OpRelations relations;
  DataTypes dataTypes;
  llvm::StringMap<const Function *> functions;
  llvm::StringMap<Scheme> constructors; // what each takes and gives
  Type *main = nullptr;                 // of the function `main`, in which nothing is unknown
};

// Fails after a report.
llvm::LogicalResult infer(const Program &program, const Source &source, Typing &typing);

} // namespace fathom::functional
