// All rules.
#include "compiler/passes/gradient/Rules.h"

using namespace mlir;
using namespace fathom::graph;

namespace fathom::gradient {

bool Rules::isSmooth(OpOperand &operand) const {
  auto type = dyn_cast<RankedTensorType>(operand.get().getType());
  Operation *op = operand.getOwner();
  if (!type || !isa<FloatType>(type.getElementType()) || isFlat(op))
    return false;
  // Statistics are no parameters, and what says how large a result is, is a number by chance.
  if (isa<BatchNormalizationOp>(op))
    return operand.getOperandNumber() < 3;
  return operand.getOperandNumber() == 0 || !isa<ResizeOp>(op);
}

const Rules &allRules() {
  static const Rules rules = [] {
    Rules made;
    addElementwiseRules(made);
    addContractionRules(made);
    addControlRules(made);
    addConvolutionRules(made);
    addIndexingRules(made);
    addMovementRules(made);
    addNormalizationRules(made);
    addReductionRules(made);
    addSlicingRules(made);
    return made;
  }();
  return rules;
}

} // namespace fathom::gradient
