// Features before a model: scaled, normalised, filled in, cut at a threshold, picked, put together.
#include "compiler/graph/SizeMath.h"
#include "compiler/import/rules/ml/Ml.h"

using namespace mlir;

namespace fathom::importer {
namespace {

// One number for each feature, or one for all: as a constant that broadcasts to the rows.
Value perFeature(Node &node, ArrayRef<double> values, Type element, StringRef name) {
  std::optional<int64_t> columns = graph::constantSize(graph::sizesOf(node.input(0)).back());
  if (values.size() != 1 && columns && int64_t(values.size()) != *columns) {
    node.error(ErrorCode::BadAttribute) << name << " has " << values.size() << " elements for " << *columns
                                        << " features";
    return {};
  }
  if (isa<FloatType>(element))
    return floats(node, values, {int64_t(values.size())}, name, element);
  SmallVector<int64_t> integers(values.begin(), values.end());
  return castAs(node, node.ints(integers, name), element, (name + ".cast").str());
}

bool hasFeatures(Node &node) {
  if (node.rank(0) >= 1)
    return true;
  node.error(ErrorCode::BadShape) << node.type() << " of a scalar";
  return false;
}

LogicalResult scaler(Node &node) {
  auto offset = node.floatsAttr("offset").value_or(SmallVector<double>()), scale = offset;
  scale = node.floatsAttr("scale").value_or(SmallVector<double>());
  if (!hasFeatures(node))
    return failure();
  Type f32 = node.builder().getF32Type();
  Value result = castAs(node, node.input(0), f32, "float");
  if (!offset.empty())
    result = node.emit("Sub", {result, perFeature(node, offset, f32, "offset")}, {}, "centred");
  if (!scale.empty())
    result = node.emit("Mul", {result, perFeature(node, scale, f32, "scale")}, {}, "scaled");
  return node.finish(result);
}

LogicalResult normalizer(Node &node) {
  StringRef norm = node.stringAttr("norm", "MAX");
  if (!hasFeatures(node))
    return failure();
  if (norm != "MAX" && norm != "L1" && norm != "L2")
    return node.error(ErrorCode::BadAttribute) << "norm '" << norm << "' is not known";
  Value input = castAs(node, node.input(0), node.builder().getF32Type(), "float");
  StringRef reduction = norm == "MAX" ? "ReduceMax" : norm == "L1" ? "ReduceL1" : "ReduceL2";
  Value size = node.emit(reduction, {input, node.ints({-1}, "axis")}, node.attr("keepdims", int64_t(1)), "size");
  // A row without a size stays as it is.
  Value zero = node.scalar(0, node.builder().getF32Type(), "zero");
  Value one = node.scalar(1, node.builder().getF32Type(), "one");
  Value divisor = node.emit("Where", {node.emit("Equal", {size, zero}, {}, "is_zero"), one, size}, {}, "divisor");
  return node.finish(node.emit("Div", {input, divisor}));
}

LogicalResult imputer(Node &node) {
  Type element = node.elementType(0);
  bool isFloat = isa<FloatType>(element);
  auto values = node.floatsAttr("imputed_value_floats").value_or(SmallVector<double>());
  double replaced = node.floatAttr("replaced_value_float", 0);
  auto integers = node.intsAttr("imputed_value_int64s").value_or(SmallVector<int64_t>());
  int64_t replacedInteger = node.intAttr("replaced_value_int64", 0);
  if (!hasFeatures(node))
    return failure();
  if (isFloat ? values.empty() : integers.empty())
    return node.error(ErrorCode::BadAttribute) << "no imputed values are given for " << node.inputText(0);
  if (!isFloat) {
    values.assign(integers.begin(), integers.end());
    replaced = double(replacedInteger);
  }
  Value isMissing =
      std::isnan(replaced)
          ? node.emit("IsNaN", node.input(0), {}, "is_missing")
          : node.emit("Equal", {node.input(0), node.scalar(replaced, element, "replaced")}, {}, "is_missing");
  return node.finish(node.emit("Where", {isMissing, perFeature(node, values, element, "imputed"), node.input(0)}));
}

LogicalResult binarizer(Node &node) {
  Type element = node.elementType(0);
  Value threshold = node.scalar(node.floatAttr("threshold", 0), element, "threshold");
  return node.finish(castAs(node, node.emit("Greater", {node.input(0), threshold}, {}, "above"), element, ""));
}

LogicalResult arrayFeatureExtractor(Node &node) {
  if (!hasFeatures(node))
    return failure();
  Value flat = reshape(node, node.input(1), {-1}, "positions"), input = node.input(0);
  if (node.rank(0) == 1)
    input = node.emit("Unsqueeze", {input, node.ints({0}, "axis")}, {}, "rows");
  return node.finish(node.emit("Gather", {input, flat}, node.attr("axis", int64_t(-1))));
}

LogicalResult featureVectorizer(Node &node) {
  auto dimensions = node.intsAttr("inputdimensions").value_or(SmallVector<int64_t>());
  SmallVector<Value> parts;
  for (unsigned i = 0; i < node.numInputs(); ++i) {
    if (!node.hasInput(i))
      return node.error(ErrorCode::BadGraph) << "input " << i << " of " << node.type() << " is missing";
    int64_t columns = 0;
    Value rows = rowsOf(node, node.input(i), columns);
    if (!rows)
      return failure();
    int64_t wanted = i < dimensions.size() ? dimensions[i] : columns;
    if (wanted > columns || wanted < 0)
      return node.error(ErrorCode::BadAttribute)
             << "input " << i << " of " << node.type() << " has " << columns << " columns, not " << wanted;
    parts.push_back(wanted < columns ? part(node, rows, 1, 0, wanted, "part") : rows);
  }
  return node.finish(node.emit("Concat", parts, node.attr("axis", int64_t(1))));
}

} // namespace

ArrayRef<Rule> mlFeatureRules() {
  static constexpr Rule rules[] = {{"Scaler", 1, 1, scaler},
                                   {"Normalizer", 1, 1, normalizer},
                                   {"Imputer", 1, 1, imputer},
                                   {"Binarizer", 1, 1, binarizer},
                                   {"ArrayFeatureExtractor", 2, 2, arrayFeatureExtractor, /*takesStrings=*/true},
                                   {"FeatureVectorizer", 1, anyNumber, featureVectorizer}};
  return rules;
}

} // namespace fathom::importer
