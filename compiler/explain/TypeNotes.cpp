// The rules that code generation follows, in words: types are those of the model, except in registers.
#include "compiler/explain/TypeNotes.h"

#include "compiler/graph/ByteProducts.h"
#include "compiler/graph/Graph.h"
#include "compiler/graph/TypeText.h"

using namespace mlir;
using namespace fathom::graph;

namespace fathom {
namespace {

Type elementOf(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type ? type.getElementType() : Type();
}

std::string whyKept(Type element) {
  std::string name = elementText(element);
  if (isString(element))
    return "strings, by their numbers";
  if (isa<FloatType>(element) && element.getIntOrFloatBitWidth() == 16)
    return name + " in memory, float32 in registers, so that sums keep their precision";
  if (element.isF64())
    return name + " kept: less would lose what the model asks for";
  if (element.isInteger(64))
    return name + " kept: the model may count beyond 32 bits";
  if (element.isInteger(1))
    return "bool, a byte each";
  return name + ", as in the model";
}

} // namespace

std::string explainType(Operation *op) {
  if (!op->getNumResults())
    return "";
  Type result = elementOf(op->getResult(0));
  Type operand = op->getNumOperands() ? elementOf(op->getOperand(0)) : Type();
  if (!result)
    return "";
  if (auto product = dyn_cast<MatMulNBitsOp>(op))
    return "weights stay in " + std::to_string(product.getBits()) + " bits with a scale for every " +
           std::to_string(product.getBlockSize()) + " and are widened in registers; else " + whyKept(result);
  if (auto why = op->getAttrOfType<StringAttr>(whyFloatAttribute))
    return elementText(result) + ", as " + why.getValue().str();
  if (quadsOf(op))
    return "sums of 32 bits, of products of bytes";
  if (isa<CastOp, QuantizeLinearOp, DequantizeLinearOp>(op) && operand != result)
    return elementText(operand) + " becomes " + elementText(result) + ", as the node says";
  // Comparisons, positions of extremes and the like.
  if (operand && operand != result && !isa<WhereOp>(op) && !isControl(op))
    return elementText(result) + " from " + elementText(operand) + ", as the operator says";
  return whyKept(result);
}

} // namespace fathom
