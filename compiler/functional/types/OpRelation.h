// What operators make of their operands' types: the importer's rules and shape functions, asked with models of one
// node.
#pragma once

#include "compiler/functional/syntax/Ast.h"
#include "mlir/IR/AffineExpr.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"
#include <functional>
#include <optional>

namespace onnx {
class AttributeProto;
class NodeProto;
class TensorProto;
} // namespace onnx

namespace fathom::functional {

struct TensorType {
  ElementType element = ElementType::Float32;
  llvm::SmallVector<mlir::AffineExpr, 4> sizes; // over somebody's symbols
};

// An operand of an operator; its elements where they are known.
struct Operand {
  TensorType type;
  const Literal *constant = nullptr;
};

struct Related {
  std::vector<TensorType> results; // a null size is one that data decides
  // Sizes that have to be the same.
  llvm::SmallVector<std::pair<mlir::AffineExpr, mlir::AffineExpr>> same;
  std::string problem; // why there are none; empty: there are
  std::optional<ErrorCode> code;
};

class OpRelations {
public:
  // Sizes in messages are spelt by `spell`.
  OpRelations(mlir::MLIRContext *context, std::function<std::string(mlir::AffineExpr)> spell)
      : context(context), spell(std::move(spell)) {}
  // An operand that is null is left out.
  const Related &relate(const Expr &op, llvm::ArrayRef<std::optional<Operand>> operands);

private:
  Related ask(const Expr &op, llvm::ArrayRef<std::optional<Operand>> operands);

  mlir::MLIRContext *context;
  std::function<std::string(mlir::AffineExpr)> spell;
  llvm::StringMap<Related> answers;
};

// The node of an operator, without operands and results.
void describeNode(const Expr &op, onnx::NodeProto &node);
void describeConstant(const Literal &literal, onnx::TensorProto &tensor);

} // namespace fathom::functional
