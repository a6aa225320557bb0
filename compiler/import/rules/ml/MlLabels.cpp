// Look-ups: labels for labels, and categories as positions or as a one among zeros.
#include "compiler/import/rules/ml/Text.h"

using namespace mlir;

namespace fathom::importer {
namespace {

Value constantColumn(Node &node, const Column &column, StringRef suffix) {
  auto shape = column.size();
  if (column.isFloat())
    return castAs(node, floats(node, column.floats, {shape}, suffix, node.builder().getF64Type()), column.element,
                  (suffix + ".cast").str());
  ArrayRef<char> bytes(reinterpret_cast<const char *>(column.ints.data()), column.ints.size() * sizeof(int64_t));
  Type element = graph::isString(column.element) ? column.element : Type(node.builder().getI64Type());
  Value values = node.table(bytes, RankedTensorType::get({shape}, element), suffix);
  return castAs(node, values, column.element, (suffix + ".cast").str());
}

// A table from the integers in [least, least + size) to positions; what lies outside has the last.
Value lookUp(Node &node, Value input, const Column &keys, int64_t least, int64_t range) {
  int64_t absent = keys.size();
  SmallVector<int64_t> table(range + 2, absent);
  for (int64_t i = absent - 1; i >= 0; --i) // the first of several counts
    table[keys.ints[i] - least + 1] = i;
  Type i64 = node.builder().getI64Type();
  Value number = castAs(node, input, i64, "number");
  auto bound = [&](int64_t value, StringRef suffix) {
    return node.constant(DenseElementsAttr::get(RankedTensorType::get({}, i64), ArrayRef<int64_t>(value)), suffix);
  };
  number = node.emit("Max", {number, bound(least - 1, "below")}, {}, "raised");
  number = node.emit("Min", {number, bound(least + range, "above")}, {}, "clamped");
  number = node.emit("Sub", {number, bound(least - 1, "start")}, {}, "place");
  Value places = node.table(ArrayRef(reinterpret_cast<const char *>(table.data()), table.size() * sizeof(int64_t)),
                            RankedTensorType::get({int64_t(table.size())}, i64), "places");
  return node.emit("Gather", {places, number}, node.attr("axis", int64_t(0)), "position");
}

} // namespace

Value positionOf(Node &node, Value input, const Column &keys) {
  if (!keys.isFloat() && keys.size()) {
    int64_t least = *llvm::min_element(keys.ints), most = *llvm::max_element(keys.ints);
    // A table with some holes, but none that is mostly holes.
    bool isFar = least < INT64_MIN / 4 || most > INT64_MAX / 4;
    if (graph::isString(keys.element) || (!isFar && most - least < 4096 + 8 * keys.size()))
      return lookUp(node, input, keys, least, most - least + 1);
  }
  Type element = getElementTypeOrSelf(input);
  Value apart = node.emit("Unsqueeze", {input, node.ints({-1}, "axis")}, {}, "apart");
  Value all = castAs(node, constantColumn(node, keys, "keys"), element, "keys.cast");
  Value isEqual = node.emit("Equal", {apart, all}, {}, "is_equal");
  if (isa<FloatType>(element) && llvm::any_of(keys.floats, [](double key) { return std::isnan(key); })) {
    Value areBoth = node.emit("And", {node.emit("IsNaN", apart, {}, "nan"), node.emit("IsNaN", all, {}, "nan_keys")},
                              {}, "are_nan");
    isEqual = node.emit("Or", {isEqual, areBoth}, {}, "is_key");
  }
  Value absent = node.scalar(keys.size(), node.builder().getI64Type(), "absent");
  Value place =
      node.emit("Where", {isEqual, node.ints(llvm::to_vector(llvm::seq<int64_t>(0, keys.size())), "numbers"), absent},
                {}, "place");
  return node.emit("ReduceMin", {place, node.ints({-1}, "axis")}, node.attr("keepdims", int64_t(0)), "position");
}

namespace {

// The value of each element's key, or the one behind all others.
LogicalResult mapTo(Node &node, const Column &keys, Column values, int64_t defaultInt, double defaultFloat) {
  if (keys.size() != values.size())
    return node.error(ErrorCode::BadAttribute)
           << node.type() << " has " << keys.size() << " keys and " << values.size() << " values";
  if (!keys.size())
    return node.error(ErrorCode::BadAttribute) << node.type() << " has no keys";
  auto kindOf = [](Type type) { return graph::isString(type) ? 0 : isa<FloatType>(type) ? 1 : 2; };
  if (kindOf(keys.element) != kindOf(node.elementType(0)))
    return node.error(ErrorCode::BadType) << "the keys of " << node.type() << " hold "
                                          << graph::elementText(keys.element) << ", its input is " << node.inputText(0);
  values.isFloat() ? values.floats.push_back(defaultFloat) : values.ints.push_back(defaultInt);
  Value position = positionOf(node, node.input(0), keys);
  return node.finish(
      node.emit("Gather", {constantColumn(node, values, "values"), position}, node.attr("axis", int64_t(0))));
}

Column stringColumn(Node &node, ArrayRef<StringRef> texts) {
  Column column{graph::stringType(node.context())};
  for (StringRef text : texts)
    column.ints.push_back(node.codeOf(text));
  return column;
}
Column intColumn(Node &node, ArrayRef<int64_t> numbers) {
  Column column{node.builder().getI64Type()};
  column.ints.assign(numbers.begin(), numbers.end());
  return column;
}

// The attribute of this name in one of its types.
std::optional<Column> columnAttr(Node &node, StringRef name) {
  std::optional<Column> found;
  if (auto texts = node.stringsAttr((name + "_strings").str()))
    found = stringColumn(node, *texts);
  if (auto numbers = node.intsAttr((name + "_int64s").str()))
    found = intColumn(node, *numbers);
  if (auto numbers = node.floatsAttr((name + "_floats").str())) {
    found = Column{node.builder().getF32Type()};
    found->floats = *numbers;
  }
  if (ElementsAttr tensor = node.tensorAttr((name + "_tensor").str()))
    found = columnOf(tensor);
  if (!found)
    node.error(ErrorCode::BadAttribute) << node.type() << " has no " << name;
  return found;
}

LogicalResult labelEncoder(Node &node) {
  StringRef defaultString = node.stringAttr("default_string", "_Unused");
  int64_t defaultInt = node.intAttr("default_int64", -1);
  double defaultFloat = node.floatAttr("default_float", -0.0);
  bool isFromString = graph::isString(node.elementType(0));
  // The first version: positions in a list of strings, one way or the other.
  if (auto classes = node.stringsAttr("classes_strings")) {
    Column texts = stringColumn(node, *classes);
    Column numbers = intColumn(node, llvm::to_vector(llvm::seq<int64_t>(0, classes->size())));
    return isFromString ? mapTo(node, texts, numbers, defaultInt, 0)
                        : mapTo(node, numbers, texts, node.codeOf(defaultString), 0);
  }
  std::optional<Column> keys = columnAttr(node, "keys"), values = columnAttr(node, "values");
  ElementsAttr absent = node.tensorAttr("default_tensor");
  if (!keys || !values)
    return failure();
  if (graph::isString(values->element))
    defaultInt = node.codeOf(defaultString);
  if (Column column; absent && absent.getNumElements() == 1) {
    column = columnOf(absent);
    column.isFloat() ? defaultFloat = column.floats[0] : defaultInt = column.ints[0];
  }
  return mapTo(node, *keys, *values, defaultInt, defaultFloat);
}

LogicalResult categoryMapper(Node &node) {
  auto texts = node.stringsAttr("cats_strings").value_or(SmallVector<StringRef>());
  auto numbers = node.intsAttr("cats_int64s").value_or(SmallVector<int64_t>());
  StringRef defaultString = node.stringAttr("default_string", "_Unused");
  int64_t defaultInt = node.intAttr("default_int64", -1);
  Column strings = stringColumn(node, texts), ints = intColumn(node, numbers);
  return graph::isString(node.elementType(0)) ? mapTo(node, strings, ints, defaultInt, 0)
                                              : mapTo(node, ints, strings, node.codeOf(defaultString), 0);
}

LogicalResult oneHotEncoder(Node &node) {
  auto texts = node.stringsAttr("cats_strings");
  auto numbers = node.intsAttr("cats_int64s");
  bool areZerosFine = node.intAttr("zeros", 1) != 0, isString = graph::isString(node.elementType(0));
  if (isString ? !texts : !numbers)
    return node.error(ErrorCode::BadAttribute) << node.type() << " has no categories for " << node.inputText(0);
  Value input = isString ? node.input(0) : castAs(node, node.input(0), node.builder().getI64Type(), "number");
  Value categories = isString ? node.strings(*texts, "categories") : node.ints(*numbers, "categories");
  Value apart = node.emit("Unsqueeze", {input, node.ints({-1}, "axis")}, {}, "apart");
  Value isEqual = node.emit("Equal", {apart, categories}, {}, "is_equal");
  if (!isEqual)
    return failure();
  Value result = castAs(node, isEqual, node.builder().getF32Type(), "");
  if (!areZerosFine) {
    Value greatest = node.emit("ReduceMax", {result, node.ints({-1}, "axis")}, {}, "greatest");
    Value isKnown = node.emit("Greater", {greatest, node.scalar(0, node.builder().getF32Type(), "zero")}, {}, "known");
    if (!isKnown || failed(node.requireAll(isKnown, "a category is not known")))
      return failure();
  }
  return node.finish(result);
}

// Rows of numbers as maps: how they leave the model, and nothing besides.
LogicalResult zipMap(Node &node) {
  std::optional<Labels> labels = labelsOf(node, "classlabels_int64s", "classlabels_strings");
  if (!labels)
    return failure();
  int64_t columns = labels->size();
  Value rows = rowsOf(node, node.input(0), columns);
  Operation *op = rows ? node.create("Identity", rows, {}, 1) : nullptr;
  if (!op)
    return failure();
  op->setAttr(keysAttrName, labels->strings.empty() ? Attribute(node.builder().getI64ArrayAttr(labels->ints))
                                                    : node.builder().getStrArrayAttr(labels->strings));
  return node.finish(op->getResult(0));
}

} // namespace

bool isZipMap(Value value) {
  Operation *op = value ? value.getDefiningOp() : nullptr;
  return op && op->hasAttr(keysAttrName);
}

ArrayRef<Rule> mlLabelRules() {
  static constexpr Rule rules[] = {{"LabelEncoder", 1, 1, labelEncoder, /*takesStrings=*/true},
                                   {"CategoryMapper", 1, 1, categoryMapper, /*takesStrings=*/true},
                                   {"OneHotEncoder", 1, 1, oneHotEncoder, /*takesStrings=*/true},
                                   {"ZipMap", 1, 1, zipMap}};
  return rules;
}

} // namespace fathom::importer
