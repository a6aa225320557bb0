// Rules of the two classification losses, which become gathers and reductions.
#include "compiler/import/node/Normalize.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace fathom::importer {

// The loss of log probabilities [N, C, ...] against classes [N, ...].
static Value lossOf(Node &node, Value logs, Value target) {
  bool ignores = node.hasAttr("ignore_index");
  int64_t ignored = node.intAttr("ignore_index", -1);
  StringRef reduction = node.stringAttr("reduction", "mean");
  if (reduction != "mean" && reduction != "sum" && reduction != "none") {
    node.error(ErrorCode::BadAttribute) << "reduction '" << reduction << "' of " << node.type();
    return {};
  }
  Type element = node.elementType(0), index = node.elementType(1);
  if (!isa<FloatType>(element) || !(index.isInteger(32) || index.isInteger(64))) {
    node.error(ErrorCode::BadType) << node.type() << " takes floating-point scores and classes of int32 or int64";
    return {};
  }
  if (!llvm::isIntN(index.getIntOrFloatBitWidth(), ignored)) {
    node.error(ErrorCode::BadAttribute) << "ignore_index " << ignored << " of " << node.type() << " is no int32";
    return {};
  }
  Value zero = node.scalar(0, element, "zero"), mask;
  if (ignores) {
    Value number = node.constant(
        DenseElementsAttr::get(RankedTensorType::get({}, index), Attribute(IntegerAttr::get(index, ignored))),
        "ignore_index");
    mask = node.emit("Equal", {target, number}, {}, "ignored");
    // The ignored class need not exist, so another is read in its place.
    target = node.emit("Where", {mask, node.scalar(0, index, "first"), target}, {}, "classes");
  }
  Value axis = node.ints(1, "axis");
  Value column = node.emit("Unsqueeze", {target, axis}, {}, "column");
  Value chosen = node.emit("GatherElements", {logs, column}, node.attr("axis", 1), "chosen");
  Value likelihood = node.emit("Squeeze", {chosen, axis}, {}, "likelihood");

  bool reduces = reduction != "none";
  bool weighs = node.hasInput(2);
  Value weight;
  if (weighs)
    weight = node.emit("Gather", {node.input(2), target}, {}, "class_weight");
  if (ignores)
    weight = node.emit("Where", {mask, zero, weighs ? weight : node.scalar(1, element, "one")}, {}, "weight");
  Value loss = node.emit("Neg", likelihood, {}, reduces || weighs || ignores ? "loss" : "");
  if (weighs)
    loss = node.emit("Mul", {loss, weight}, {}, reduces || ignores ? "weighted" : "");
  if (ignores)
    loss = node.emit("Where", {mask, zero, loss}, {}, reduces ? "kept" : "");
  if (!reduces)
    return loss;
  SmallVector<NamedAttribute> toScalar{node.attr("keepdims", int64_t(0))};
  if (reduction == "sum")
    return node.emit("ReduceSum", loss, toScalar);
  if (!weighs && !ignores)
    return node.emit("ReduceMean", loss, toScalar);
  Value sum = node.emit("ReduceSum", loss, toScalar, "sum");
  return node.emit("Div", {sum, node.emit("ReduceSum", weight, toScalar, "weights")});
}

static LogicalResult negativeLogLikelihood(Node &node) {
  return node.finish(lossOf(node, node.input(0), node.input(1)));
}

static LogicalResult softmaxCrossEntropy(Node &node) {
  Value logs = node.emit("LogSoftmax", node.input(0), node.attr("axis", 1), "log_prob");
  return node.finish({lossOf(node, logs, node.input(1)), logs});
}

ArrayRef<Rule> lossRules() {
  static constexpr Rule rules[] = {{"NegativeLogLikelihoodLoss", 2, 3, negativeLogLikelihood},
                                   {"SoftmaxCrossEntropyLoss", 2, 3, softmaxCrossEntropy}};
  return rules;
}

} // namespace fathom::importer
