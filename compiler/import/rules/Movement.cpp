// Rules of operators that make or move data: mostly attributes of old versions that are inputs today.
#include "compiler/graph/Shape.h"
#include "compiler/import/node/Normalize.h"

using namespace mlir;

namespace fathom::importer {

static LogicalResult constant(Node &node) {
  Value value;
  Builder &builder = node.builder();
  auto typeOf = [](ArrayRef<int64_t> sizes, Type element) { return RankedTensorType::get(sizes, element); };
  if (node.hasAttr("value")) {
    value = node.constant(node.tensorAttr("value"), "");
  } else if (node.hasAttr("value_int")) {
    int64_t number = node.intAttr("value_int", 0);
    value = node.constant(DenseElementsAttr::get(typeOf({}, builder.getI64Type()), number), "");
  } else if (node.hasAttr("value_float")) {
    float number = node.floatAttr("value_float", 0);
    value = node.constant(DenseElementsAttr::get(typeOf({}, builder.getF32Type()), number), "");
  } else if (node.hasAttr("value_ints")) {
    if (auto numbers = node.intsAttr("value_ints"))
      value = node.ints(*numbers, "");
  } else if (node.hasAttr("value_floats")) {
    if (auto numbers = node.floatsAttr("value_floats")) {
      SmallVector<float> floats(numbers->begin(), numbers->end());
      auto type = typeOf({int64_t(floats.size())}, builder.getF32Type());
      value = node.constant(DenseElementsAttr::get(type, ArrayRef<float>(floats)), "");
    }
  } else if (node.hasAttr("sparse_value") || node.hasAttr("value_string") || node.hasAttr("value_strings")) {
    return node.error(ErrorCode::UnsupportedType) << "sparse and string constants are not supported";
  } else {
    return node.error(ErrorCode::BadAttribute) << "Constant has no value";
  }
  return node.finish(value);
}

// Squeeze and Unsqueeze.
static LogicalResult axesToInput(Node &node) {
  if (node.opset() >= 13)
    return node.type() == "Squeeze" ? squeezeDynamic(node) : unsqueezeDynamic(node);
  Value axes = node.none();
  if (auto list = node.intsAttr("axes"))
    axes = node.ints(*list, "axes");
  else
    return node.type() == "Squeeze" ? squeezeOnes(node)
                                    : node.error(ErrorCode::BadAttribute) << "Unsqueeze has no axes";
  return node.finishAs(node.type(), {node.input(0), axes});
}

static LogicalResult pad(Node &node) {
  if (node.opset() >= 11)
    return padDynamic(node);
  auto pads = node.intsAttr("pads");
  if (!pads)
    return node.error(ErrorCode::BadAttribute) << "Pad has no pads";
  Value value = node.scalar(node.floatAttr("value", 0), node.elementType(0), "value");
  return node.finishAs("Pad", {node.input(0), node.ints(*pads, "pads"), value});
}

static LogicalResult slice(Node &node) {
  if (node.opset() >= 10)
    return sliceDynamic(node);
  auto starts = node.intsAttr("starts"), ends = node.intsAttr("ends"), axes = node.intsAttr("axes");
  if (!starts || !ends)
    return node.error(ErrorCode::BadAttribute) << "Slice has no starts or no ends";
  node.appendInput(node.ints(*starts, "starts"));
  node.appendInput(node.ints(*ends, "ends"));
  if (axes)
    node.appendInput(node.ints(*axes, "axes"));
  return sliceDynamic(node);
}

static LogicalResult split(Node &node) {
  Value sizes = node.input(1);
  if (node.opset() < 13)
    if (auto list = node.intsAttr("split"))
      sizes = node.ints(*list, "split");
  if (node.numOutputs() == 0)
    return node.error(ErrorCode::BadGraph) << "Split has no outputs";
  int64_t axis = node.intAttr("axis", 0), parts = node.intAttr("num_outputs", node.numOutputs());
  if (parts != int64_t(node.numOutputs()))
    return node.error(ErrorCode::BadAttribute)
           << "Split has num_outputs " << parts << ", but " << node.numOutputs() << " outputs";
  SmallVector<NamedAttribute> attrs{node.attr("axis", axis)};
  if (isa<NoneType>(sizes.getType()) && node.opset() >= 18)
    attrs.push_back(node.attr("num_outputs", parts));
  if (!isa<NoneType>(sizes.getType()))
    sizes = node.pinned(withLength(node, sizes, parts, "split"), "split");
  Operation *op = node.create("Split", {node.input(0), sizes}, attrs, parts);
  return op ? node.finish(op->getResults()) : failure();
}

static LogicalResult topK(Node &node) {
  if (node.opset() >= 10 && !node.hasInput(1))
    return node.error(ErrorCode::BadGraph) << "TopK has no k";
  Value k = node.opset() < 10 ? node.ints(node.intAttr("k", 0), "k") : withLength(node, node.input(1), 1, "k");
  FailureOr<SmallVector<NamedAttribute>> attrs = node.takeAttrs("TopK");
  if (failed(attrs))
    return failure();
  Operation *op = node.create("TopK", {node.input(0), node.pinned(k, "k", "k is negative or too large")}, *attrs, 2);
  return op ? node.finish(op->getResults()) : failure();
}

// ONNX lets depth and indices be of any type of number.
static LogicalResult oneHot(Node &node) {
  Type i64 = node.builder().getI64Type();
  auto asIndex = [&](unsigned index, StringRef suffix) {
    if (isa<IntegerType>(node.elementType(index)))
      return node.input(index);
    if (std::optional<SmallVector<double>> numbers = graph::constantFloatsOf(node.input(index))) {
      SmallVector<Attribute> values(llvm::map_range(*numbers, [&](double number) { return numberOf(number, i64); }));
      return node.constant(DenseElementsAttr::get(node.inputType(index).clone(i64), values), suffix);
    }
    return node.emit("Cast", node.input(index), node.attr("to", TypeAttr::get(i64)), suffix);
  };
  return node.finishAs("OneHot",
                       {asIndex(0, "indices"), node.pinned(withLength(node, asIndex(1, "depth"), 1, "depth"), "depth"),
                        withLength(node, node.input(2), 2, "values")});
}

static LogicalResult scatter(Node &node) { return node.finishAs("ScatterElements", node.allInputs()); }

ArrayRef<Rule> movementRules() {
  static constexpr Rule rules[] = {
      {"Constant", 0, 0, constant}, {"Squeeze", 1, 2, axesToInput}, {"Unsqueeze", 1, 2, axesToInput},
      {"Pad", 1, 4, pad},           {"Slice", 1, 5, slice},         {"Split", 1, 2, split},
      {"TopK", 1, 2, topK},         {"Scatter", 3, 3, scatter},     {"OneHot", 3, 3, oneHot},
  };
  return rules;
}

} // namespace fathom::importer
