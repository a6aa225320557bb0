// Rotary embeddings and attention as ordinary ops, and the rule of ONNX Runtime's RotaryEmbedding.
#include "compiler/graph/SizeMath.h"
#include "compiler/import/rules/microsoft/Microsoft.h"
#include <cmath>

using namespace mlir;

namespace fathom::importer {

namespace {

LogicalResult rotaryEmbedding(Node &node) {
  int64_t heads = node.intAttr("num_heads", 0), dim = node.intAttr("rotary_embedding_dim", 0);
  Rotation rotation{node.input(2), node.input(3), node.input(1), node.intAttr("interleaved", 0) != 0};
  // It scales tables that the operator would extend, which no implementation does.
  node.ignoreAttr("scale");
  if (node.intAttr("is_packed_batching", 0) != 0)
    return node.error(ErrorCode::UnsupportedAttribute) << "packed batches of RotaryEmbedding are not supported";
  bool areHeadsFirst = node.rank(0) == 4;
  if (!areHeadsFirst && !sizesOfRank(node, node.input(0), 3, "the input"))
    return failure();
  std::optional<graph::Sizes> table = sizesOfRank(node, rotation.cos, 2, "cos_cache");
  if (!table)
    return failure();
  std::optional<int64_t> half = graph::constantSize((*table)[1]);
  if (dim > 0 && half && 2 * *half != dim)
    return node.error(ErrorCode::BadShape)
           << "rotary_embedding_dim is " << dim << ", but cos_cache has " << *half << " columns, not half of it";
  graph::Sizes sizes = graph::sizesOf(node.input(0));
  Value input = node.input(0);
  if (!areHeadsFirst) {
    std::optional<int64_t> hidden = graph::constantSize(sizes[2]);
    if (heads == 0 && half && hidden && *half > 0)
      heads = *hidden / (2 * *half);
    input = splitHeads(node, input, heads, "input");
    if (!input)
      return failure();
  }
  // A single position is that of the first element.
  AffineExpr sequence = graph::sizesOf(input)[areHeadsFirst ? 2 : 1];
  if (node.rank(1) < 2) {
    Value first = reshape(node, node.input(1), {1, 1}, "first_position");
    rotation.positions = node.emit("Add", {first, countUp(node, sequence, "steps")}, {}, "positions");
  } else if (node.rank(1) > 2) {
    return node.error(ErrorCode::BadShape) << "position_ids has rank " << node.rank(1) << ", at most 2 is defined";
  }
  if (!rotation.positions)
    return failure();
  if (areHeadsFirst)
    return node.finish(rotate(node, input, rotation, true, ""));
  return node.finish(reshapeTo(node, rotate(node, input, rotation, false, "rotated_heads"), sizes, ""));
}

} // namespace

ArrayRef<Rule> microsoftAttentionRules() {
  static constexpr Rule rules[] = {{"RotaryEmbedding", 4, 4, rotaryEmbedding}};
  return rules;
}

} // namespace fathom::importer
