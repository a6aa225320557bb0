// Rules of reductions and softmaxes: axes as inputs, and the old softmax over all axes from one on.
#include "compiler/graph/Shape.h"
#include "compiler/import/node/Normalize.h"
#include "compiler/import/rules/Parts.h"

using namespace mlir;

namespace fathom::importer {

static LogicalResult reduce(Node &node) {
  if (node.opset() >= (node.type() == "ReduceSum" ? 13 : 18))
    return reduceDynamic(node);
  Value axes = node.none();
  if (auto list = node.intsAttr("axes"); list && !list->empty())
    axes = node.ints(*list, "axes");
  return node.finishAs(node.type(), {node.input(0), axes});
}

static LogicalResult reduceAs(Node &node, Type wide) {
  Type element = node.elementType(0);
  node.setInput(0, castAs(node, node.input(0), wide, "wide"));
  if (failed(reduce(node)))
    return failure();
  return node.finish(castAs(node, node.results().front(), element, "cut"));
}

// Integers have their logarithms and roots in double precision, as sums of squares leave their range; what lies behind
// the point is cut off.
static LogicalResult reduceExactly(Node &node) {
  Type element = node.hasInput(0) ? node.elementType(0) : Type();
  bool isInteger = element && (element.isInteger(32) || element.isInteger(64));
  return isInteger ? reduceAs(node, node.builder().getF64Type()) : reduce(node);
}

// The mean of integers lies among them where their sum has long left their range.
static LogicalResult reduceMean(Node &node) {
  Type element = node.hasInput(0) ? node.elementType(0) : Type();
  return element && element.isInteger(32) ? reduceAs(node, node.builder().getI64Type()) : reduce(node);
}

// Before 13 the input was seen as a matrix whose columns are all axes from `axis` on.
static LogicalResult softmax(Node &node) {
  if (node.opset() >= 13)
    return copyNode(node);
  int64_t rank = node.rank(0), given = node.intAttr("axis", 1);
  std::optional<int64_t> axis = graph::normalizeAxis(given, rank);
  // The axis one past the last is allowed: each element is a row of its own.
  if (!axis && given == rank)
    axis = rank;
  if (!axis)
    return node.error(ErrorCode::BadAttribute) << "axis " << given << " of " << node.type() << " for rank " << rank;
  Value input = node.input(0);
  if (*axis == rank - 1)
    return node.finish(node.emit(node.type(), input, node.attr("axis", -1)));
  Value matrix = node.emit("Flatten", input, node.attr("axis", *axis), "matrix");
  Value rows = node.emit(node.type(), matrix, node.attr("axis", 1), "rows");
  return node.finish(node.emit("Reshape", {rows, shapeOf(node, input, "shape")}));
}

ArrayRef<Rule> reductionRules() {
  static constexpr Rule rules[] = {
      {"ReduceL1", 1, 2, reduce},
      {"ReduceL2", 1, 2, reduceExactly},
      {"ReduceLogSum", 1, 2, reduceExactly},
      {"ReduceLogSumExp", 1, 2, reduceExactly},
      {"ReduceMax", 1, 2, reduce},
      {"ReduceMean", 1, 2, reduceMean},
      {"ReduceMin", 1, 2, reduce},
      {"ReduceProd", 1, 2, reduce},
      {"ReduceSum", 1, 2, reduce},
      {"ReduceSumSquare", 1, 2, reduce},
      {"Softmax", 1, 1, softmax},
      {"LogSoftmax", 1, 1, softmax},
      {"Hardmax", 1, 1, softmax},
  };
  return rules;
}

} // namespace fathom::importer
