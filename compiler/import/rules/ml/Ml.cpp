// The table of ai.onnx.ml's operators, and what their rules share: products, labels, post transforms.
#include "compiler/import/rules/ml/Ml.h"
#include "compiler/graph/SizeMath.h"
#include "mlir/IR/DialectResourceBlobManager.h"

using namespace mlir;

namespace fathom::importer {
namespace {

const Rule *findRule(StringRef op) {
  static const llvm::StringMap<const Rule *> rules = [] {
    llvm::StringMap<const Rule *> map;
    for (ArrayRef<Rule> family : {mlFeatureRules(), mlLabelRules(), mlLinearRules(), mlSvmRules(), mlTreeRules()})
      for (const Rule &rule : family)
        map[rule.op] = &rule;
    return map;
  }();
  return rules.lookup(op);
}

// The inverse of the normal distribution, by Winitzki's formula with ONNX Runtime's constants.
Value probit(Node &node, Value shares, StringRef suffix) {
  Value x = withNumber(node, "Add", withNumber(node, "Mul", shares, 2, "doubled"), -1, "centred");
  Value one = node.scalar(1, getElementTypeOrSelf(shares), "one");
  Value product = node.emit("Mul", {node.emit("Sub", {one, x}, {}, "left"), node.emit("Add", {one, x}, {}, "right")},
                            {}, "product");
  Value log = node.emit("Log", product, {}, "log");
  constexpr double a = 0.147f, pi = 3.14159f;
  Value v = withNumber(node, "Add", withNumber(node, "Mul", log, 0.5, "half"), 2 / (pi * a), "shifted");
  Value v2 = withNumber(node, "Mul", log, 1 / a, "scaled");
  Value root =
      node.emit("Sqrt", node.emit("Sub", {node.emit("Mul", {v, v}, {}, "square"), v2}, {}, "difference"), {}, "root");
  Value size = node.emit("Sqrt", node.emit("Sub", {root, v}, {}, "rest"), {}, "size");
  Value isNegative = node.emit("Less", {x, node.scalar(0, getElementTypeOrSelf(shares), "zero")}, {}, "is_negative");
  Value inverse = node.emit("Where", {isNegative, node.emit("Neg", size, {}, "negative"), size}, {}, "inverse");
  return withNumber(node, "Mul", inverse, 1.41421356f, suffix);
}

// A softmax that leaves out scores of zero.
Value softmaxZero(Node &node, Value scores, StringRef suffix) {
  NamedAttribute keep = node.attr("keepdims", int64_t(1));
  Value axis = node.ints({-1}, "axis");
  Value greatest = node.emit("ReduceMax", {scores, axis}, keep, "greatest");
  Value limit = node.scalar(0.0000001f, getElementTypeOrSelf(scores), "limit");
  Value counts = node.emit("Greater", {node.emit("Abs", scores, {}, "size"), limit}, {}, "counts");
  Value powers = node.emit("Exp", node.emit("Sub", {scores, greatest}, {}, "below"), {}, "powers");
  Value zero = node.scalar(0, getElementTypeOrSelf(scores), "zero");
  Value sum = node.emit("ReduceSum", {node.emit("Where", {counts, powers, zero}, {}, "counted"), axis}, keep, "sum");
  Value small = node.emit("Mul", {scores, node.emit("Exp", node.emit("Neg", greatest, {}, "negative"), {}, "scale")},
                          {}, "small");
  return node.emit("Div", {node.emit("Where", {counts, powers, small}, {}, "all"), sum}, {}, suffix);
}

} // namespace

bool isMl(StringRef domain, StringRef op) { return domain == mlDomain && findRule(op); }
bool mlTakesStrings(StringRef op) { return findRule(op)->takesStrings; }

LogicalResult normalizeMl(Node &node) { return applyRule(*findRule(node.type()), node); }

Value floats(Node &node, ArrayRef<double> values, ArrayRef<int64_t> shape, StringRef suffix, Type element) {
  if (!element || element.isF32()) {
    SmallVector<float> narrow(values.begin(), values.end());
    return node.table(ArrayRef(reinterpret_cast<const char *>(narrow.data()), narrow.size() * sizeof(float)),
                      RankedTensorType::get(shape, node.builder().getF32Type()), suffix);
  }
  return node.table(ArrayRef(reinterpret_cast<const char *>(values.data()), values.size() * sizeof(double)),
                    RankedTensorType::get(shape, element), suffix);
}

Value rowsOf(Node &node, Value input, int64_t &columns) {
  auto type = cast<RankedTensorType>(input.getType());
  if (type.getRank() < 1 || type.getRank() > 2) {
    node.error(ErrorCode::BadShape) << node.type() << " of a tensor of rank " << type.getRank()
                                    << "; rows of features are needed";
    return {};
  }
  graph::Sizes sizes = graph::sizesOf(type);
  std::optional<int64_t> known = graph::constantSize(sizes.back());
  if (known ? columns && *known != columns : !columns) {
    if (known)
      node.error(ErrorCode::BadShape) << "rows have " << *known << " features where " << node.type() << " has "
                                      << columns;
    else
      node.error(ErrorCode::UnsupportedShape) << "the number of features of " << node.type() << " is not known";
    return {};
  }
  if (!known && failed(node.requireSame(sizes.back(), getAffineConstantExpr(columns, node.context()),
                                        "the features of a row and those of the model")))
    return {};
  if (known)
    columns = *known;
  AffineExpr rows = type.getRank() == 1 ? getAffineConstantExpr(1, node.context()) : sizes[0];
  if (type.getRank() == 1 || !known)
    input = reshapeTo(node, input, {rows, getAffineConstantExpr(columns, node.context())}, "rows");
  return castAs(node, input, node.builder().getF32Type(), "float");
}

Value product(Node &node, Value rows, ArrayRef<double> matrix, int64_t columns, ArrayRef<double> bias,
              StringRef suffix) {
  int64_t results = int64_t(matrix.size()) / columns;
  SmallVector<Value> operands{rows, floats(node, matrix, {results, columns}, (suffix + ".matrix").str())};
  if (!bias.empty())
    operands.push_back(floats(node, bias, {int64_t(bias.size())}, (suffix + ".bias").str()));
  return node.emit("Gemm", operands, node.attr("transB", int64_t(1)), suffix);
}

Column columnOf(ElementsAttr elements) {
  Type element = elements.getElementType();
  Column column;
  column.element = element;
  unsigned width = element.getIntOrFloatBitWidth();
  auto add = [&](llvm::APInt bits) {
    if (auto type = dyn_cast<FloatType>(element))
      column.floats.push_back(APFloat(type.getFloatSemantics(), bits).convertToDouble());
    else
      column.ints.push_back(element.isUnsignedInteger() || width == 1 ? int64_t(bits.getZExtValue())
                                                                      : bits.getSExtValue());
  };
  if (auto resource = dyn_cast<DenseResourceElementsAttr>(elements)) {
    ArrayRef<char> data = resource.getRawHandle().getBlob()->getData();
    for (size_t at = 0; at < data.size(); at += width / 8) {
      uint64_t word = 0;
      memcpy(&word, data.data() + at, width / 8);
      add(llvm::APInt(width, word));
    }
  } else if (isa<FloatType>(element)) {
    for (const APFloat &value : cast<DenseElementsAttr>(elements).getValues<APFloat>())
      add(value.bitcastToAPInt());
  } else {
    for (const llvm::APInt &value : cast<DenseElementsAttr>(elements).getValues<llvm::APInt>())
      add(value);
  }
  return column;
}

SmallVector<double> numbersOf(Node &node, StringRef name) {
  if (auto list = node.floatsAttr(name))
    return *list;
  ElementsAttr tensor = node.tensorAttr((name + "_as_tensor").str());
  return tensor ? columnOf(tensor).floats : SmallVector<double>();
}

std::optional<Labels> labelsOf(Node &node, StringRef ints, StringRef strings) {
  Labels labels;
  labels.ints = node.intsAttr(ints).value_or(SmallVector<int64_t>());
  labels.strings = node.stringsAttr(strings).value_or(SmallVector<StringRef>());
  if (labels.ints.empty() == labels.strings.empty()) {
    node.error(ErrorCode::BadAttribute) << "one of " << ints << " and " << strings << " must be given";
    return std::nullopt;
  }
  return labels;
}

Value constantLabels(Node &node, const Labels &labels, StringRef suffix) {
  return labels.strings.empty() ? node.ints(labels.ints, suffix) : node.strings(labels.strings, suffix);
}

Value labelAt(Node &node, const Labels &labels, Value positions) {
  return node.emit("Gather", {constantLabels(node, labels, "labels"), positions}, node.attr("axis", int64_t(0)));
}

Value labelOfGreatest(Node &node, const Labels &labels, Value scores) {
  return labelAt(
      node, labels,
      node.emit("ArgMax", scores, {node.attr("axis", int64_t(1)), node.attr("keepdims", int64_t(0))}, "greatest"));
}

Value labelWhere(Node &node, const Labels &labels, Value isSecond) {
  Value axis = node.ints({1}, "axis"), all = constantLabels(node, labels, "labels");
  Value first = part(node, all, 0, 0, 1, "first"), second = part(node, all, 0, 1, 2, "second");
  return node.emit("Where", {node.emit("Squeeze", {isSecond, axis}, {}, "is_second"), second, first});
}

bool isTransform(Node &node, StringRef transform) {
  if (llvm::is_contained({"NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"}, transform))
    return true;
  node.error(ErrorCode::BadAttribute) << "post_transform '" << transform << "' is not known";
  return false;
}

Value transformed(Node &node, Value scores, StringRef transform, StringRef suffix) {
  if (!scores)
    return {};
  if (transform == "LOGISTIC")
    return node.emit("Sigmoid", scores, {}, suffix);
  if (transform == "SOFTMAX")
    return node.emit("Softmax", scores, node.attr("axis", int64_t(-1)), suffix);
  if (transform == "SOFTMAX_ZERO")
    return softmaxZero(node, scores, suffix);
  return transform == "PROBIT" ? probit(node, scores, suffix) : scores;
}

Value withSecondClass(Node &node, Value scores, bool isShare, StringRef suffix) {
  if (!scores)
    return {};
  Value other = isShare ? node.emit("Sub", {node.scalar(1, getElementTypeOrSelf(scores), "one"), scores}, {}, "other")
                        : node.emit("Neg", scores, {}, "other");
  return node.emit("Concat", {other, scores}, node.attr("axis", int64_t(1)), suffix);
}

Value transformedPair(Node &node, Value scores, bool isShare, StringRef transform) {
  if (transform == "LOGISTIC")
    return transformed(node, withSecondClass(node, scores, /*isShare=*/false, "both"), transform);
  if (transform == "PROBIT")
    scores = transformed(node, scores, transform, "probit");
  return withSecondClass(node, scores, isShare);
}

} // namespace fathom::importer
