// The rule of GroupQueryAttention: attention with a cache of keys and values that either grows with every call or has
// room for all positions from the start and is written in place.
#include "compiler/graph/Graph.h"
#include "compiler/graph/SizeMath.h"
#include "compiler/import/rules/microsoft/Microsoft.h"

using namespace mlir;

namespace fathom::importer {
namespace {

enum Input { Query, Key, ValueInput, PastKey, PastValue, Lengths, Total, Cos, Sin, Positions, Bias, Sink };

class GroupQuery {
public:
  explicit GroupQuery(Node &node)
      : node(node), heads(node.intAttr("num_heads", 0)), groups(node.intAttr("kv_num_heads", 0)),
        window(node.intAttr("local_window_size", -1)), isCausal(node.intAttr("causal", 1)),
        doesRotate(node.intAttr("do_rotary", 0)), isInterleaved(node.intAttr("rotary_interleaved", 0)),
        isSmooth(node.intAttr("smooth_softmax", 0)), i64(node.builder().getI64Type()) {
    attention.scale = node.floatAttr("scale", 0);
    attention.softcap = node.floatAttr("softcap", 0);
  }

  LogicalResult run() {
    if (failed(checkSupported()) || failed(splitInputs()))
      return failure();
    // The position of the first new element in every sequence; a prompt may be padded behind its end.
    Value lengths = castAs(node, node.input(Lengths), i64, "last");
    Value before =
        withNumber(node, "Add", node.emit("Sub", {lengths, number(sequence, "sequence")}, {}, "rest"), 1, "before");
    first = withNumber(node, "Max", before, 0, "first");
    Value column = node.emit("Unsqueeze", {first, node.ints({1}, "axis")}, {}, "first_column");
    Value positions = node.emit("Add", {column, countUp(node, sequence, "steps")}, {}, "positions");
    // Lengths are checked before anything is read or written by them.
    if (!positions || (node.hasInput(PastKey) && failed(readCache())) || failed(checkLengths()) ||
        (doesRotate && failed(rotateBoth(positions))))
      return failure();
    attention.key = transpose(node, attention.key, {0, 2, 1, 3}, "new_key");
    attention.value = transpose(node, attention.value, {0, 2, 1, 3}, "new_value");
    if (node.hasInput(PastKey) && failed(extendCache()))
      return failure();
    Value presentKey = attention.key, presentValue = attention.value;
    if (!presentKey || !presentValue || failed(addMask(positions, lengths)) || failed(addBias()))
      return failure();
    if (node.hasInput(Sink))
      attention.sink = node.input(Sink);
    else if (isSmooth)
      attention.sink =
          node.emit("Expand", {node.scalar(0, element(), "no_sink"), node.ints({heads}, "heads")}, {}, "sinks");
    return node.finish({attend(node, attention, ""), presentKey, presentValue});
  }

private:
  Type element() { return node.elementType(Query); }
  Value number(AffineExpr size, StringRef name) { return node.sizesValue({size}, true, name); }
  AffineExpr constant(int64_t value) { return getAffineConstantExpr(value, node.context()); }

  LogicalResult checkSupported() {
    if (node.stringAttr("k_quant_type", "NONE") != "NONE" || node.stringAttr("v_quant_type", "NONE") != "NONE" ||
        node.intAttr("kv_cache_bit_width", 0) != 0)
      return node.error(ErrorCode::UnsupportedAttribute) << "a quantized cache of GroupQueryAttention is not supported";
    if (node.intAttr("sliding_window_cache", 0) != 0 || node.intAttr("qk_output", 0) != 0)
      return node.error(ErrorCode::UnsupportedAttribute)
             << "sliding_window_cache and qk_output of GroupQueryAttention are not supported";
    node.ignoreAttr("qk_norm_epsilon");
    for (unsigned index : {Lengths, Total})
      if (!node.hasInput(index))
        return node.error(ErrorCode::BadGraph) << "input " << index << " of GroupQueryAttention is missing";
    if (heads < 1 || groups < 1 || heads % groups != 0)
      return node.error(ErrorCode::BadAttribute)
             << "num_heads = " << heads << " must be a positive multiple of kv_num_heads = " << groups;
    if (node.hasInput(PastKey) != node.hasInput(PastValue) || node.hasInput(Key) != node.hasInput(ValueInput))
      return node.error(ErrorCode::BadGraph) << "GroupQueryAttention has keys without values, or values without keys";
    if (doesRotate && (!node.hasInput(Cos) || !node.hasInput(Sin)))
      return node.error(ErrorCode::BadGraph) << "do_rotary of GroupQueryAttention needs cos_cache and sin_cache";
    if (node.hasInput(Positions) && !sizesOfRank(node, node.input(Positions), 2, "position_ids"))
      return failure();
    return success(sizesOfRank(node, node.input(Lengths), 1, "seqlens_k") &&
                   sizesOfRank(node, node.input(Query), 3, "query"));
  }

  // Queries, keys and values with a dimension for the heads, behind the positions.
  LogicalResult splitInputs() {
    Value query = node.input(Query);
    graph::Sizes sizes = graph::sizesOf(query);
    batch = sizes[0], sequence = room = sizes[1];
    if (node.hasInput(Key)) {
      attention.query = splitHeads(node, query, heads, "query");
      attention.key = attention.query ? splitHeads(node, node.input(Key), groups, "key") : Value();
      attention.value = attention.key ? splitHeads(node, node.input(ValueInput), groups, "value") : Value();
    } else if (Value all = splitHeads(node, query, heads + 2 * groups, "query")) {
      attention.query = part(node, all, 2, 0, heads, "query_heads");
      attention.key = part(node, all, 2, heads, heads + groups, "key_heads");
      attention.value = part(node, all, 2, heads + groups, heads + 2 * groups, "value_heads");
    }
    if (!attention.query || !attention.key || !attention.value)
      return failure();
    graph::Sizes key = graph::sizesOf(attention.key), value = graph::sizesOf(attention.value);
    if (!graph::size::same(key[1], sequence) || key[3] != graph::sizesOf(attention.query)[3] || value[3] != key[3])
      return node.error(ErrorCode::UnsupportedShape)
             << "query, key and value of GroupQueryAttention must have the same length and size of head";
    return success();
  }

  LogicalResult rotateBoth(Value positions) {
    Rotation rotation{node.input(Cos), node.input(Sin), positions, isInterleaved};
    if (node.hasInput(Positions))
      rotation.positions = castAs(node, node.input(Positions), i64, "given_positions");
    attention.query = rotate(node, attention.query, rotation, false, "rotated_query");
    attention.key = attention.query ? rotate(node, attention.key, rotation, false, "rotated_key") : Value();
    return success(attention.query && attention.key);
  }

  // A past with room for the new elements is one buffer that is written at their place; otherwise they come behind it.
  LogicalResult readCache() {
    if (!sizesOfRank(node, node.input(PastKey), 4, "past_key") ||
        !sizesOfRank(node, node.input(PastValue), 4, "past_value"))
      return failure();
    if (node.elementType(PastKey) != element() || node.elementType(PastValue) != element())
      return node.error(ErrorCode::UnsupportedType) << "a cache of another type than the query's is not supported";
    AffineExpr past = graph::sizesOf(node.input(PastKey))[2], grown = graph::size::add(past, sequence);
    std::optional<graph::Elements> total = graph::elementsOf(node.input(Total));
    AffineExpr wanted = total && total->size() == 1 ? total->front() : AffineExpr();
    graph::SymbolList symbols = node.symbols();
    bool hasRoom = wanted && graph::size::isAtLeast(past, wanted, symbols);
    bool lacksRoom =
        graph::isConstant(past, 0) || (wanted && graph::size::isAtLeast(wanted, graph::size::add(past, 1), symbols));
    isShared = hasRoom || (graph::constantSize(past) && !lacksRoom);
    SmallVector<AffineExpr> needs;
    if (isShared && wanted && !hasRoom)
      needs.push_back(graph::size::sub(past, wanted));
    if (!isShared && wanted && !graph::size::same(wanted, grown)) {
      needs.push_back(graph::size::sub(wanted, grown));
      needs.push_back(graph::size::sub(grown, wanted));
    }
    if (!needs.empty() && !llvm::is_contained(needs, AffineExpr()))
      node.requireSizes(needs, "total_sequence_length does not fit the cache");
    room = isShared ? past : grown;
    return success();
  }

  // Keys and values of all positions.
  LogicalResult extendCache() {
    auto extend = [&](unsigned pastInput, Value added, StringRef name) -> Value {
      Value before = node.input(pastInput);
      if (!isShared && graph::isConstant(batch, 1))
        return node.emit("Concat", {before, added}, node.attr("axis", int64_t(2)), name);
      // Sequences of different lengths end at different places.
      if (!isShared) {
        AffineExpr zero = constant(0);
        Value pads = node.sizesValue({zero, zero, zero, zero, zero, zero, sequence, zero}, false, "pads");
        before = node.emit("Pad", {before, pads}, {}, "room");
      }
      return node.emit("TensorScatter", {before, added, first}, node.attr("axis", int64_t(2)), name);
    };
    attention.key = extend(PastKey, attention.key, "present_key");
    attention.value = attention.key ? extend(PastValue, attention.value, "present_value") : Value();
    return success(attention.key && attention.value);
  }

  LogicalResult checkLengths() {
    return success(
        succeeded(node.requireBelow(node.input(Lengths), room, "seqlens_k is negative or not inside the cache")) &&
        succeeded(node.requireBelow(node.input(Total), graph::size::add(room, 1),
                                    "total_sequence_length is not positive or above the cache", /*least=*/1)));
  }

  // What each position sees: everything up to itself, or up to the end of a sequence that is shorter than the batch's.
  LogicalResult addMask(Value positions, Value lengths) {
    Value end = node.emit("Unsqueeze", {lengths, node.ints({1}, "axis")}, {}, "end");
    Value last = isCausal ? node.emit("Min", {positions, end}, {}, "last_seen") : end;
    last = node.emit("Unsqueeze", {last, node.ints({1, 2, 4}, "mask_axes")}, {}, "last_column");
    Value keys = countUp(node, graph::sizesOf(attention.key)[2], "keys");
    attention.visible = node.emit("LessOrEqual", {keys, last}, {}, "up_to_last");
    if (window >= 0) {
      Value since = withNumber(node, "Sub", last, double(window), "before_window");
      attention.visible =
          node.emit("And", {attention.visible, node.emit("Greater", {keys, since}, {}, "in_window")}, {}, "visible");
    }
    return success(bool(attention.visible));
  }

  LogicalResult addBias() {
    if (!node.hasInput(Bias))
      return success();
    std::optional<graph::Sizes> sizes = sizesOfRank(node, node.input(Bias), 4, "attention_bias");
    if (!sizes)
      return failure();
    AffineExpr length = graph::sizesOf(attention.key)[2], one = constant(1);
    Value bias = node.input(Bias);
    // It covers the positions so far, of a cache that may have room for more.
    if (!graph::size::same((*sizes)[3], length)) {
      AffineExpr zero = constant(0), rest = graph::size::sub(length, (*sizes)[3]);
      if (!rest)
        return node.error(ErrorCode::UnsupportedShape) << "attention_bias has a length that is not known";
      Value pads = node.sizesValue({zero, zero, zero, zero, zero, zero, zero, rest}, false, "bias_pads");
      bias = node.emit("Pad", {bias, pads}, {}, "wide_bias");
    }
    bool isPerHead = !graph::isConstant((*sizes)[1], 1);
    AffineExpr outer = isPerHead ? constant(groups) : one, inner = isPerHead ? constant(heads / groups) : one;
    attention.bias = reshapeTo(node, bias, {(*sizes)[0], outer, inner, (*sizes)[2], length}, "bias");
    return success(bool(attention.bias));
  }

  Node &node;
  int64_t heads, groups, window;
  bool isCausal, doesRotate, isInterleaved, isSmooth;
  Type i64;
  AffineExpr batch, sequence, room; // positions that there are in all
  bool isShared = false;
  Value first;
  Attention attention;
};

LogicalResult groupQueryAttention(Node &node) { return GroupQuery(node).run(); }

} // namespace

ArrayRef<Rule> microsoftGroupQueryRules() {
  static constexpr Rule rules[] = {{"GroupQueryAttention", 1, 12, groupQueryAttention}};
  return rules;
}

} // namespace fathom::importer
