// Rules of normalisations: old batch and group forms, and those that are made of reductions.
#include "compiler/graph/Shape.h"
#include "compiler/import/node/Normalize.h"

using namespace mlir;

namespace fathom::importer {

static LogicalResult batchNormalization(Node &node) {
  if (node.opset() < 9 && node.intAttr("spatial", 1) == 0)
    return node.error(ErrorCode::UnsupportedAttribute) << "BatchNormalization with spatial = 0 is not supported";
  if (node.opset() < 14 && node.numOutputs() > 1)
    return node.error(ErrorCode::UnsupportedAttribute)
           << "BatchNormalization in training form is not supported before operator set 14";
  FailureOr<SmallVector<NamedAttribute>> attrs = node.takeAttrs("BatchNormalization");
  if (failed(attrs))
    return failure();
  bool training = llvm::any_of(*attrs, [](NamedAttribute attribute) {
    return attribute.getName() == "training_mode" && cast<IntegerAttr>(attribute.getValue()).getInt() != 0;
  });
  // Statistics may have another type than the input, mostly a wider one: computed is in a type that holds both.
  SmallVector<Value> inputs = llvm::to_vector(node.allInputs());
  Type own = node.elementType(0), statistics = node.elementType(3), wide = own;
  for (unsigned i = 1; i < inputs.size(); ++i)
    if (Type other = node.elementType(i); other != wide && isa<FloatType>(other) && isa<FloatType>(wide))
      wide = wide.isF64() || other.isF64() ? Type(node.builder().getF64Type()) : Type(node.builder().getF32Type());
  for (auto [i, input] : llvm::enumerate(inputs))
    if (node.elementType(i) != wide)
      input = node.emit("Cast", input, node.attr("to", TypeAttr::get(wide)), "wide");
  if (llvm::is_contained(inputs, Value()))
    return failure();
  Operation *op = node.create("BatchNormalization", inputs, *attrs, training ? 3 : 1);
  if (!op)
    return failure();
  SmallVector<Value> results(op->getResults());
  for (auto [i, result] : llvm::enumerate(results))
    if (Type type = i ? statistics : own; type != wide)
      result = node.emit("Cast", result, node.attr("to", TypeAttr::get(type)));
  return node.finish(results);
}

// Before 21 there was one scale and bias for each group, now for each channel.
static LogicalResult groupNormalization(Node &node) {
  // It names the type of intermediate results; theirs is never narrower here.
  node.ignoreAttr("stash_type");
  if (node.opset() >= 21)
    return node.finishAs("GroupNormalization", node.allInputs());
  int64_t groups = node.intAttr("num_groups", 0);
  graph::Sizes sizes = graph::sizesOf(node.input(0));
  std::optional<int64_t> channels = sizes.size() > 1 ? graph::constantSize(sizes[1]) : std::nullopt;
  if (!channels || groups < 1 || *channels % groups != 0)
    return node.error(ErrorCode::BadShape) << "GroupNormalization needs a known number of channels in equal groups";
  auto perChannel = [&](unsigned index, StringRef name) {
    Value column = reshape(node, node.input(index), {groups, 1}, (name + ".column").str());
    Value matrix = node.emit("Expand", {column, node.ints({groups, *channels / groups}, (name + ".sizes").str())}, {},
                             (name + ".matrix").str());
    return reshape(node, matrix, {*channels}, name);
  };
  return node.finishAs("GroupNormalization", {node.input(0), perChannel(1, "scale"), perChannel(2, "bias")},
                       node.attr("num_groups", groups));
}

static LogicalResult meanVariance(Node &node) {
  SmallVector<int64_t> axes = node.intsAttr("axes").value_or(SmallVector<int64_t>{0, 2, 3});
  Value input = node.input(0), axesInput = node.ints(axes, "axes");
  Type element = node.elementType(0);
  Value mean = node.emit("ReduceMean", {input, axesInput}, {}, "mean");
  Value centred = node.emit("Sub", {input, mean}, {}, "centred");
  Value square = node.emit("Mul", {centred, centred}, {}, "square");
  Value deviation = node.emit("Sqrt", node.emit("ReduceMean", {square, axesInput}, {}, "variance"), {}, "deviation");
  Value divisor = node.emit("Add", {deviation, node.scalar(1e-9, element, "epsilon")}, {}, "divisor");
  return node.finish(node.emit("Div", {centred, divisor}));
}

static LogicalResult lpNormalization(Node &node) {
  int64_t axis = node.intAttr("axis", -1), p = node.intAttr("p", 2);
  if (p != 1 && p != 2)
    return node.error(ErrorCode::BadAttribute) << "p = " << p << " of LpNormalization, where 1 and 2 are defined";
  Value input = node.input(0);
  Value norm = node.emit(p == 1 ? "ReduceL1" : "ReduceL2", {input, node.ints(axis, "axis")}, {}, "norm");
  // Where the norm is zero the result is zero, not NaN.
  Value isZero = node.emit("Equal", {norm, node.scalar(0, node.elementType(0), "zero")}, {}, "is_zero");
  Value divisor = node.emit("Where", {isZero, node.scalar(1, node.elementType(0), "one"), norm}, {}, "divisor");
  return node.finish(node.emit("Div", {input, divisor}));
}

ArrayRef<Rule> normalizationRules() {
  static constexpr Rule rules[] = {{"BatchNormalization", 5, 5, batchNormalization},
                                   {"GroupNormalization", 3, 3, groupNormalization},
                                   {"MeanVarianceNormalization", 1, 1, meanVariance},
                                   {"LpNormalization", 1, 1, lpNormalization}};
  return rules;
}

} // namespace fathom::importer
