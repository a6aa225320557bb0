// How each operator is differentiated: what its operands' adjoints gain from its results'. A family of operators has a
// file.
#pragma once

#include "compiler/passes/gradient/Backward.h"
#include "llvm/ADT/StringSet.h"
#include <functional>

namespace fathom::gradient {

using Rule = std::function<llvm::LogicalResult(mlir::Operation *, Backward &)>;

class Rules {
public:
  template <typename Op> void add(llvm::LogicalResult (*rule)(Op, Backward &)) {
    rules[Op::getOperationName()] = [rule](mlir::Operation *op, Backward &back) {
      return rule(llvm::cast<Op>(op), back);
    };
  }
  // Operators that are flat wherever they are smooth, or do not compute with numbers that can change a little.
  template <typename... Ops> void addFlat() { (flat.insert(Ops::getOperationName()), ...); }

  const Rule *find(mlir::Operation *op) const {
    auto found = rules.find(op->getName().getStringRef());
    return found == rules.end() ? nullptr : &found->second;
  }
  bool isFlat(mlir::Operation *op) const { return flat.contains(op->getName().getStringRef()); }
  // Whether a change of the operand changes results smoothly.
  bool isSmooth(mlir::OpOperand &operand) const;

private:
  llvm::StringMap<Rule> rules;
  llvm::StringSet<> flat;
};

const Rules &allRules();

void addElementwiseRules(Rules &rules);
void addContractionRules(Rules &rules);
void addControlRules(Rules &rules);
void addConvolutionRules(Rules &rules);
void addIndexingRules(Rules &rules);
void addMovementRules(Rules &rules);
void addNormalizationRules(Rules &rules);
void addReductionRules(Rules &rules);
void addSlicingRules(Rules &rules);

} // namespace fathom::gradient
