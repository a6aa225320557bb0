// Rules of what gated networks are made of: the gate of a linear layer and causal convolutions that carry a state.
#include "compiler/graph/SizeMath.h"
#include "compiler/import/rules/Parts.h"

using namespace mlir;

namespace fathom::importer {
namespace {

LogicalResult swiGlu(Node &node) {
  NamedAttribute alpha = node.floatAttrOf("alpha", node.floatAttr("alpha", 1));
  if (node.rank(0) != node.rank(1))
    return node.error(ErrorCode::BadShape) << "the inputs of SwiGLU have types " << node.inputText(0) << " and "
                                           << node.inputText(1) << " where equal sizes are needed";
  return node.finish(node.emit("Mul", {node.emit("Swish", node.input(0), alpha, "gate"), node.input(1)}));
}

// A depthwise convolution over the input with what came before it in front.
LogicalResult causalConv(Node &node) {
  StringRef activation = node.stringAttr("activation", "none");
  if (activation != "none" && activation != "silu" && activation != "swish")
    return node.error(ErrorCode::BadAttribute) << "activation '" << activation << "' of CausalConvWithState";
  if (node.rank(0) != 3 || node.rank(1) != 3)
    return node.error(ErrorCode::BadShape) << "CausalConvWithState of an input of type " << node.inputText(0)
                                           << " and a weight of type " << node.inputText(1);
  graph::Sizes input = graph::sizesOf(node.input(0)), weight = graph::sizesOf(node.input(1));
  std::optional<int64_t> channels = graph::constantSize(weight[0]), taps = graph::constantSize(weight[2]);
  if (!channels || !taps || *taps < 1)
    return node.error(ErrorCode::UnsupportedShape)
           << "the channels and the length of the weight of CausalConvWithState are only known when the model runs";
  AffineExpr before = getAffineConstantExpr(*taps - 1, node.context());
  Value past = node.input(3);
  if (!node.hasInput(3))
    past = node.emit(
        "Expand",
        {node.scalar(0, node.elementType(0), "zero"), node.sizesValue({input[0], input[1], before}, false, "sizes")},
        {}, "past");
  Value all = node.emit("Concat", {past, node.input(0)}, node.attr("axis", int64_t(2)), "all");
  Value result = node.emit("Conv", {all, node.input(1), node.input(2)}, node.attr("group", *channels), "conv");
  if (activation != "none")
    result = node.emit("Swish", result, {}, "");
  // The last positions are what comes before the next ones.
  Value present =
      node.emit("Slice",
                {all, node.sizesValue({input[2]}, false, "from"),
                 node.sizesValue({graph::size::add(input[2], before)}, false, "to"), node.ints({2}, "axis")},
                {}, "present");
  return node.finish({result, present});
}

} // namespace

ArrayRef<Rule> gatedRules() {
  static constexpr Rule rules[] = {{"SwiGLU", 2, 2, swiGlu}, {"CausalConvWithState", 2, 4, causalConv}};
  return rules;
}

} // namespace fathom::importer
