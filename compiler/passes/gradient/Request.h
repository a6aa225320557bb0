// What is asked for of gradients, as notes of the module say it: the loss, what gradients are taken of, and how weights
// are updated by them.
#pragma once

#include "compiler/graph/Graph.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Error.h"

namespace fathom::gradient {

constexpr llvm::StringLiteral lossAttrName = "graph.loss";           // OUTPUT, or a function of outputs: see parseLoss
constexpr llvm::StringLiteral wrtAttrName = "graph.wrt";             // names
constexpr llvm::StringLiteral curvatureAttrName = "graph.curvature"; // that second derivatives are asked for, too
constexpr llvm::StringLiteral memoryBudgetAttrName = "graph.memory_budget"; // bytes
constexpr llvm::StringLiteral recomputedAttrName = "graph.recomputed";
constexpr llvm::StringLiteral trainAttrName = "graph.train"; // an optimizer: see parseOptimizer

// FUNCTION:OUTPUT, or FUNCTION:OUTPUT:INPUT where it compares with an input; without a function the output itself.
struct Loss {
  enum Function { Output, Sum, Mean, SquaredError, CrossEntropy } function = Output;
  std::string output, input;
};
llvm::Expected<Loss> parseLoss(llvm::StringRef text);

// KIND:KEY=VALUE,...
struct Optimizer {
  enum Kind { Sgd, Adam, AdamW } kind = Sgd;
  std::optional<double> rate; // none: an input
  double momentum = 0, decay = 0, beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;
  bool nesterov = false;
};
llvm::Expected<Optimizer> parseOptimizer(llvm::StringRef text);

// Of a function's arguments and results.
llvm::StringRef argumentName(mlir::func::FuncOp main, unsigned index);
mlir::Value findArgument(mlir::func::FuncOp main, llvm::StringRef name);
mlir::Value addArgument(mlir::func::FuncOp main, mlir::Type type, llvm::StringRef name);
llvm::StringRef resultName(mlir::func::FuncOp main, unsigned index);
void setResults(mlir::func::FuncOp main, mlir::ValueRange values, llvm::ArrayRef<std::string> names);

} // namespace fathom::gradient
