// Texts of stages as --emit prints them, changed by hand perhaps, from which a compilation goes on.
#pragma once

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace fathom {

struct StageText {
  std::string path, text;
  bool isGiven() const { return !path.empty(); }
};

// What --graph, --kernels, --loops and --llvm name; none are given where all is made from the model.
struct StageTexts {
  StageText graph, kernels, loops, llvm;
};

// Whether calls have the types of their callees. Those of kernels do not: a kernel numbers its symbols itself.
enum class Calls { Fit, NumberSymbols };

// A module in MLIR's form. What is wrong is told at `loc`, with its place in the file, of which `text` begins in line
// `line`.
mlir::OwningOpRef<mlir::ModuleOp> parseStage(llvm::StringRef path, llvm::StringRef text, size_t line, Calls calls,
                                             mlir::Location loc);

} // namespace fathom
