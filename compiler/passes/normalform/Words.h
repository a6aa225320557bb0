// What types and attributes of a graph are called in a program, and which ones a program's words are.
#pragma once

#include "compiler/functional/syntax/Ast.h"
#include "compiler/graph/Graph.h"
#include "llvm/ADT/StringSet.h"

namespace fathom::normalform {

// Where main is a program: its text, and what its parameter of this name consists of, a dictionary of a constant's
// attributes for each.
constexpr llvm::StringLiteral programAttribute = "graph.program", weightsAttribute = "graph.weights";
constexpr llvm::StringLiteral weightsName = "weights";

// Names for the program's values: as they are wanted, but no two the same and none that means something else.
class Names {
public:
  std::string fresh(llvm::StringRef wanted);

private:
  llvm::StringSet<> taken;
  llvm::StringMap<unsigned> numbers; // behind names that were taken already
};

// Null, or an empty optional: the program has no word for it.
functional::TypeExpr *describe(mlir::RankedTensorType type, const graph::SymbolList &symbols,
                               functional::Program &program);
std::optional<functional::Attribute> describe(mlir::NamedAttribute attribute);
std::optional<functional::Literal> describe(mlir::ElementsAttr value);

// Null: no graph has it.
mlir::RankedTensorType typeOf(const functional::TypeExpr &type, const graph::SymbolList &symbols,
                              mlir::MLIRContext *context);
mlir::NamedAttribute attributeOf(const functional::Attribute &attribute, mlir::MLIRContext *context);
mlir::DenseElementsAttr valueOf(const functional::Literal &literal, mlir::MLIRContext *context);

} // namespace fathom::normalform
