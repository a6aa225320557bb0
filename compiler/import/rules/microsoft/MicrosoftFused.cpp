// Rules of operators of domain com.microsoft that are several of ONNX's in one: with an activation, a bias, a layout or
// quantisation around them.
#include "compiler/graph/SizeMath.h"
#include "compiler/import/rules/microsoft/Microsoft.h"

using namespace mlir;

namespace fathom::importer {
namespace {

// An activation by name, with its parameters in the order of its attributes; null after a report.
Value activated(Node &node, Value value, StringRef name, ArrayRef<double> given, StringRef suffix) {
  auto number = [&](size_t index, double absent) { return index < given.size() ? given[index] : absent; };
  if (!value || name.empty())
    return value;
  if (llvm::is_contained({"Relu", "Tanh", "Sigmoid", "Softplus", "Softsign", "HardSwish"}, name))
    return node.emit(name, value, {}, suffix);
  if (name == "LeakyRelu" || name == "Elu")
    return node.emit(name, value, node.floatAttrOf("alpha", number(0, name == "Elu" ? 1 : 0.01)), suffix);
  if (name == "HardSigmoid")
    return node.emit(name, value, {node.floatAttrOf("alpha", number(0, 0.2)), node.floatAttrOf("beta", number(1, 0.5))},
                     suffix);
  if (name == "Clip") {
    Type element = cast<RankedTensorType>(value.getType()).getElementType();
    return node.emit(
        name,
        {value, node.scalar(number(0, -INFINITY), element, "least"), node.scalar(number(1, INFINITY), element, "most")},
        {}, suffix);
  }
  node.error(ErrorCode::UnsupportedAttribute)
      << "activation '" << name << "' of " << node.type() << " is not supported";
  return {};
}

LogicalResult fusedConv(Node &node) {
  std::string activation = node.stringAttr("activation", "").str();
  SmallVector<double> numbers = node.floatsAttr("activation_params").value_or(SmallVector<double>());
  FailureOr<SmallVector<NamedAttribute>> attrs = node.takeAttrs("Conv");
  if (failed(attrs))
    return failure();
  Value result = node.emit("Conv", {node.input(0), node.input(1), node.input(2)}, *attrs, "conv");
  if (node.hasInput(3))
    result = node.emit("Add", {result, node.input(3)}, {}, "sum");
  return node.finish(activated(node, result, activation, numbers, ""));
}

LogicalResult fusedGemm(Node &node) {
  std::string activation = node.stringAttr("activation", "").str();
  SmallVector<double> numbers;
  for (StringRef name : {"activation_alpha", "activation_beta"}) {
    if (!node.hasAttr(name))
      break;
    numbers.push_back(node.floatAttr(name, 0));
  }
  node.ignoreAttr("activation_beta");
  node.ignoreAttr("activation_gamma");
  FailureOr<SmallVector<NamedAttribute>> attrs = node.takeAttrs("Gemm");
  if (failed(attrs))
    return failure();
  Value product = node.emit("Gemm", {node.input(0), node.input(1), node.input(2)}, *attrs, "product");
  return node.finish(activated(node, product, activation, numbers, ""));
}

LogicalResult gemmFastGelu(Node &node) {
  Value product = node.emit("MatMul", {node.input(0), node.input(1)}, {}, "product");
  if (node.hasInput(2))
    product = node.emit("Add", {product, node.input(2)}, {}, "biased");
  return node.finish(node.emit("Gelu", product, node.attr("approximate", "tanh")));
}

LogicalResult biasAdd(Node &node) {
  Value biased = node.emit("Add", {node.input(0), node.input(1)}, {}, "biased");
  return node.finish(node.emit("Add", {biased, node.input(2)}));
}

// The first half of the columns times the Gelu of the second.
LogicalResult biasSplitGelu(Node &node) {
  Value biased = node.emit("Add", {node.input(0), node.input(1)}, {}, "biased");
  std::optional<int64_t> columns = biased ? graph::constantSize(graph::sizesOf(biased).back()) : std::nullopt;
  if (!columns || *columns % 2)
    return node.error(ErrorCode::BadShape)
           << "the columns of BiasSplitGelu must be an even number, but its input has type " << node.inputText(0);
  int64_t axis = graph::sizesOf(biased).size() - 1;
  Value left = part(node, biased, axis, 0, *columns / 2, "left"),
        right = part(node, biased, axis, *columns / 2, *columns, "right");
  return node.finish(node.emit("Mul", {left, node.emit("Gelu", right, {}, "gelu")}));
}

// The sum of the embeddings of words, positions and segments, normalised; the second output counts what is not masked.
LogicalResult embedLayerNormalization(Node &node) {
  NamedAttribute epsilon = node.floatAttrOf("epsilon", node.floatAttr("epsilon", 1e-12));
  node.ignoreAttr("mask_index_type"); // how kernels for one kind of device want the second output
  if (node.rank(0) != 2 || !node.hasInput(6))
    return node.error(ErrorCode::BadShape)
           << "EmbedLayerNormalization needs ids of rank 2 and two vectors to normalise by";
  graph::Sizes sizes = graph::sizesOf(node.input(0));
  auto look = [&](unsigned table, Value ids, StringRef name) {
    return node.emit("Gather", {node.input(table), ids}, {}, name);
  };
  Value positions = node.hasInput(8) ? node.input(8) : countUp(node, sizes[1], "position_ids");
  Value sum = node.emit("Add", {look(2, node.input(0), "words"), look(3, positions, "positions")}, {}, "sum");
  if (node.hasInput(1) && node.hasInput(4))
    sum = node.emit("Add", {sum, look(4, node.input(1), "segments")}, {}, "sum");
  Operation *op = sum ? node.create("LayerNormalization", {sum, node.input(5), node.input(6)}, epsilon, 3) : nullptr;
  if (!op)
    return failure();
  Type i32 = node.builder().getI32Type();
  Value count;
  if (node.hasInput(7)) {
    Value isOne = withNumber(node, "Equal", node.input(7), 1, "is_one");
    count = node.emit("ReduceSum", {castAs(node, isOne, i32, "ones"), node.ints({1}, "axis")},
                      node.attr("keepdims", int64_t(0)), "mask_index");
  } else {
    count = node.emit("Expand", {node.scalar(0, i32, "zero"), node.sizesValue({sizes[0]}, false, "batch")}, {},
                      "mask_index");
  }
  return node.finish({op->getResult(0), count, sum});
}

// Groups of channels, which are the last dimension unless told otherwise, and perhaps x * sigmoid(x) behind.
LogicalResult groupNorm(Node &node) {
  bool hasSkip = node.type() == "SkipGroupNorm";
  double epsilon = node.floatAttr("epsilon", 1e-5);
  int64_t groups = node.intAttr("groups", 0), activation = node.intAttr("activation", 0),
          isLast = node.intAttr("channels_last", 1), rank = node.rank(0);
  if (rank < 3 || activation < 0 || activation > 1)
    return node.error(ErrorCode::BadAttribute)
           << "activation " << activation << " of " << node.type() << " for an input of type " << node.inputText(0);
  Value sum = node.input(0);
  if (hasSkip) {
    Value skip = node.input(3);
    if (node.rank(3) == 2) // one number for a channel of an image
      skip = node.emit("Unsqueeze", {skip, isLast ? node.ints({1, 2}, "axes") : node.ints({2, 3}, "axes")}, {}, "skip");
    sum = node.emit("Add", {sum, skip}, {}, "sum");
    if (node.hasInput(4)) {
      Value bias =
          isLast ? node.input(4) : node.emit("Unsqueeze", {node.input(4), node.ints({1, 2}, "axes")}, {}, "bias");
      sum = node.emit("Add", {sum, bias}, {}, "biased");
    }
  }
  SmallVector<int64_t> front{0, rank - 1}, back{0};
  for (int64_t d = 1; d < rank - 1; ++d)
    front.push_back(d);
  for (int64_t d = 2; d < rank; ++d)
    back.push_back(d);
  back.push_back(1);
  Value value = sum && isLast ? transpose(node, sum, front, "channels_first") : sum;
  Type wide = node.builder().getF32Type(), element = node.elementType(0);
  value = node.emit("GroupNormalization",
                    {castAs(node, value, wide, "wide"), castAs(node, node.input(1), wide, "gamma"),
                     castAs(node, node.input(2), wide, "beta")},
                    {node.floatAttrOf("epsilon", epsilon), node.attr("num_groups", groups)}, "normal");
  if (activation == 1)
    value = node.emit("Swish", value, {}, "activated");
  value = castAs(node, value, element, "narrow");
  if (value && isLast)
    value = transpose(node, value, back, "");
  return node.finish({value, sum});
}

} // namespace

ArrayRef<Rule> microsoftFusedRules() {
  static constexpr Rule rules[] = {
      {"FusedConv", 2, 4, fusedConv},
      {"FusedGemm", 2, 3, fusedGemm},
      {"GemmFastGelu", 2, 3, gemmFastGelu},
      {"BiasAdd", 3, 3, biasAdd},
      {"BiasSplitGelu", 2, 2, biasSplitGelu},
      {"EmbedLayerNormalization", 1, 9, embedLayerNormalization},
      {"GroupNorm", 3, 3, groupNorm},
      {"SkipGroupNorm", 4, 5, groupNorm},
      // ONNX's own operators in another domain.
      {"QuantizeLinear", 2, 3, normalize},
      {"DequantizeLinear", 2, 3, normalize},
      {"GridSample", 2, 2, normalize},
      {"Trilu", 1, 2, normalize},
      {"GatherND", 2, 2, normalize},
      {"Range", 2, 3, normalize},
  };
  return rules;
}

} // namespace fathom::importer
