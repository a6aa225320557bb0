// Linear models.
#include "compiler/import/rules/ml/Ml.h"

using namespace mlir;

namespace fathom::importer {
namespace {

LogicalResult wrongLength(Node &node, StringRef what, size_t count) {
  return node.error(ErrorCode::BadAttribute)
         << what << " of " << node.type() << " have " << count << " elements, which do not go with the others";
}

LogicalResult linearClassifier(Node &node) {
  auto coefficients = node.floatsAttr("coefficients").value_or(SmallVector<double>());
  auto intercepts = node.floatsAttr("intercepts").value_or(SmallVector<double>());
  std::optional<Labels> labels = labelsOf(node, "classlabels_ints", "classlabels_strings");
  StringRef transform = node.stringAttr("post_transform", "NONE");
  node.ignoreAttr("multi_class"); // how the model was trained
  if (!labels || !isTransform(node, transform))
    return failure();
  int64_t results = intercepts.empty() ? labels->size() : intercepts.size();
  if (coefficients.empty() || coefficients.size() % results || (results > 1 && labels->size() < results))
    return wrongLength(node, "coefficients", coefficients.size());
  int64_t columns = coefficients.size() / results;
  Value rows = rowsOf(node, node.input(0), columns);
  if (!rows)
    return failure();
  Value scores = product(node, rows, coefficients, columns, intercepts, "scores");
  if (results > 1)
    return node.finish({labelOfGreatest(node, *labels, scores), transformed(node, scores, transform)});
  // One score: the second class where it is positive.
  bool isNamed = labels->size() == 2;
  if (!isNamed && labels->strings.empty())
    labels->ints = {0, 1};
  else if (!isNamed)
    labels->strings = {"0", "1"};
  Value isSecond = node.emit("Greater", {scores, node.scalar(0, node.builder().getF32Type(), "zero")}, {}, "positive");
  Value result = isNamed                 ? transformedPair(node, scores, /*isShare=*/true, transform)
                 : transform == "PROBIT" ? transformed(node, scores, transform)
                                         : scores;
  return node.finish({labelWhere(node, *labels, isSecond), result});
}

LogicalResult linearRegressor(Node &node) {
  auto coefficients = node.floatsAttr("coefficients").value_or(SmallVector<double>());
  auto intercepts = node.floatsAttr("intercepts").value_or(SmallVector<double>());
  int64_t targets = node.intAttr("targets", 1);
  StringRef transform = node.stringAttr("post_transform", "NONE");
  if (!isTransform(node, transform))
    return failure();
  if (targets < 1 || coefficients.empty() || coefficients.size() % targets)
    return wrongLength(node, "coefficients", coefficients.size());
  if (int64_t(intercepts.size()) != targets)
    intercepts.clear();
  int64_t columns = coefficients.size() / targets;
  Value rows = rowsOf(node, node.input(0), columns);
  if (!rows)
    return failure();
  Value scores = product(node, rows, coefficients, columns, intercepts, "");
  bool isPlain = targets == 1 && transform != "PROBIT";
  return node.finish(isPlain ? scores : transformed(node, scores, transform, "transformed"));
}

} // namespace

ArrayRef<Rule> mlLinearRules() {
  static constexpr Rule rules[] = {{"LinearClassifier", 1, 1, linearClassifier},
                                   {"LinearRegressor", 1, 1, linearRegressor}};
  return rules;
}

} // namespace fathom::importer
