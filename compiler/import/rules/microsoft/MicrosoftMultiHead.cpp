// The rules of MultiHeadAttention and Attention, which ONNX Runtime's optimizer makes of encoders and older decoders.
#include "compiler/graph/SizeMath.h"
#include "compiler/import/rules/microsoft/Microsoft.h"

using namespace mlir;

namespace fathom::importer {
namespace {

int64_t rankOf(Value value) { return cast<RankedTensorType>(value.getType()).getRank(); }

// What both operators have in common: masks, and a cache that grows.
class MultiHead {
public:
  explicit MultiHead(Node &node)
      : node(node), heads(node.intAttr("num_heads", 0)), isCausal(node.intAttr("unidirectional", 0)),
        filter(node.floatAttr("mask_filter_value", -10000)) {
    attention.scale = node.floatAttr("scale", 0);
  }

protected:
  Value unsqueeze(Value value, ArrayRef<int64_t> axes, StringRef suffix) {
    return node.emit("Unsqueeze", {value, node.ints(axes, "axes")}, {}, suffix);
  }
  // Heads before positions.
  Value headsFirst(Value value, StringRef suffix) {
    return value ? transpose(node, value, {0, 2, 1, 3}, suffix) : Value();
  }
  Value behind(Value past, Value added, StringRef suffix) {
    return node.emit("Concat", {past, added}, node.attr("axis", rankOf(past) - 2), suffix);
  }

  // A number that is added where a mask hides a key: one for each key, each pair, or the lengths of the sequences.
  LogicalResult addPadding(unsigned index) {
    if (!node.hasInput(index))
      return success();
    Value mask = node.input(index), shown;
    if (rankOf(mask) == 2 || rankOf(mask) == 3) {
      bool isPerPair = rankOf(mask) == 3;
      mask = isPerPair ? unsqueeze(mask, {1, 2}, "pairs") : unsqueeze(mask, {1, 2, 3}, "keys");
      shown = withNumber(node, "Greater", mask, 0, "shown");
    } else if (rankOf(mask) == 1) {
      shown = insideLengths(mask);
    } else {
      return node.error(ErrorCode::UnsupportedShape) << "a mask of rank " << rankOf(mask) << " is not supported";
    }
    if (!shown)
      return failure();
    Type element = node.elementType(0);
    Value bias = node.emit("Where", {shown, node.scalar(0, element, "nothing"), node.scalar(filter, element, "filter")},
                           {}, "padding");
    return addBias(bias);
  }

  // Ends of the sequences, and where there are twice as many numbers, then their starts.
  Value insideLengths(Value mask) {
    AffineExpr batch = graph::sizesOf(attention.query)[0], count = graph::sizesOf(mask)[0];
    Value keys = countUp(node, graph::sizesOf(attention.key)[2], "key_numbers");
    mask = castAs(node, mask, node.builder().getI64Type(), "limits");
    bool hasStarts = graph::size::same(count, graph::size::mul(batch, 2));
    std::optional<int64_t> known = graph::constantSize(batch), given = graph::constantSize(count);
    if (!hasStarts && known && given && *known != *given) {
      node.error(ErrorCode::UnsupportedShape) << "a mask of " << *given << " numbers for " << *known << " sequences";
      return {};
    }
    if (!hasStarts)
      return node.emit("Less", {keys, unsqueeze(mask, {1, 2, 3, 4}, "ends")}, {}, "before_end");
    Value both = reshapeTo(node, mask, {constant(node, 2), batch}, "ends_and_starts");
    auto half = [&](int64_t which, StringRef name) {
      Value row = reshapeTo(node, both ? part(node, both, 0, which, which + 1, name) : Value(), {batch}, name);
      return row ? unsqueeze(row, {1, 2, 3, 4}, name) : Value();
    };
    Value beforeEnd = node.emit("Less", {keys, half(0, "ends")}, {}, "before_end");
    return node.emit("And", {beforeEnd, node.emit("GreaterOrEqual", {keys, half(1, "starts")}, {}, "after_start")}, {},
                     "inside");
  }

  LogicalResult addAttentionBias(unsigned index) {
    if (!node.hasInput(index))
      return success();
    if (!sizesOfRank(node, node.input(index), 4, "attention_bias"))
      return failure();
    return addBias(unsqueeze(node.input(index), {2}, "attention_bias"));
  }
  LogicalResult addBias(Value bias) {
    attention.bias = attention.bias ? node.emit("Add", {attention.bias, bias}, {}, "biases") : bias;
    return success(bool(attention.bias));
  }

  // Position i of the queries is position i of what follows the past.
  LogicalResult addCausalMask(AffineExpr past) {
    if (!isCausal)
      return success();
    Value row = countUp(node, graph::sizesOf(attention.query)[1], "row_numbers");
    Value last = node.emit("Add", {row, node.sizesValue({past}, true, "past_length")}, {}, "last_seen");
    attention.visible = node.emit("LessOrEqual",
                                  {countUp(node, graph::sizesOf(attention.key)[2], "key_numbers"),
                                   last ? unsqueeze(last, {1}, "last_column") : Value()},
                                  {}, "visible");
    return success(bool(attention.visible));
  }

  LogicalResult checkHeads() {
    if (heads < 1)
      return node.error(ErrorCode::BadAttribute) << "num_heads of " << node.type() << " must be positive";
    return success();
  }

  Node &node;
  int64_t heads;
  bool isCausal;
  double filter;
  Attention attention;
};

class MultiHeadAttention : MultiHead {
public:
  using MultiHead::MultiHead;
  enum Input { Query, Key, ValueInput, Bias, Mask, AttentionBias, PastKey, PastValue, PastLength, Indirection };

  LogicalResult run() {
    if (failed(checkHeads()))
      return failure();
    if (node.hasInput(PastLength) || node.hasInput(Indirection))
      return node.error(ErrorCode::UnsupportedAttribute)
             << "past_sequence_length and cache_indirection of MultiHeadAttention are not supported";
    if (node.hasInput(PastKey) != node.hasInput(PastValue))
      return node.error(ErrorCode::BadGraph) << "MultiHeadAttention has a past of keys or of values alone";
    if (failed(splitInputs()))
      return failure();
    AffineExpr past = constant(node, 0);
    if (node.hasInput(PastKey)) {
      std::optional<graph::Sizes> sizes = sizesOfRank(node, node.input(PastKey), 4, "past_key");
      if (!sizes || !sizesOfRank(node, node.input(PastValue), 4, "past_value"))
        return failure();
      past = (*sizes)[2];
      attention.key = behind(node.input(PastKey), attention.key, "present_key");
      attention.value = attention.key ? behind(node.input(PastValue), attention.value, "present_value") : Value();
    }
    if (!attention.key || !attention.value || failed(addPadding(Mask)) || failed(addAttentionBias(AttentionBias)) ||
        failed(addCausalMask(past)))
      return failure();
    return node.finish({attend(node, attention, ""), attention.key, attention.value});
  }

private:
  // Packed inputs have a dimension that tells queries, keys and values apart.
  Value unpacked(Value input, int64_t which, StringRef suffix) {
    return node.emit("Gather", {input, node.scalar(double(which), node.builder().getI64Type(), "which")},
                     node.attr("axis", int64_t(3)), suffix);
  }
  // One of the three parts of the bias, added to an input of rank 3.
  Value biased(Value input, AffineExpr from, AffineExpr columns, StringRef suffix) {
    if (!node.hasInput(Bias))
      return input;
    Value part = node.emit("Slice",
                           {node.input(Bias), node.sizesValue({from}, false, "from"),
                            node.sizesValue({graph::size::add(from, columns)}, false, "to")},
                           {}, "bias");
    return node.emit("Add", {input, part}, {}, suffix);
  }

  LogicalResult splitInputs() {
    Value query = node.input(Query);
    if (rankOf(query) == 5) {
      if (node.hasInput(Key) || node.hasInput(Bias))
        return node.error(ErrorCode::UnsupportedShape) << "packed queries beside keys or a bias are not supported";
      attention.query = unpacked(query, 0, "query");
      attention.key = headsFirst(unpacked(query, 1, "key"), "keys");
      attention.value = headsFirst(unpacked(query, 2, "value"), "values");
      return success(attention.query && attention.key && attention.value);
    }
    std::optional<graph::Sizes> sizes = sizesOfRank(node, query, 3, "query");
    if (!sizes || !node.hasInput(Key))
      return sizes ? node.error(ErrorCode::BadGraph) << "MultiHeadAttention has no keys" : failure();
    AffineExpr hidden = (*sizes)[2], zero = constant(node, 0);
    query = biased(query, zero, hidden, "biased_query");
    attention.query = query ? splitHeads(node, query, heads, "query") : Value();
    if (!attention.query)
      return failure();
    Value key = node.input(Key);
    if (rankOf(key) == 5 && !node.hasInput(ValueInput)) {
      if (node.hasInput(Bias))
        return node.error(ErrorCode::UnsupportedShape) << "a bias of packed keys is not supported";
      attention.key = headsFirst(unpacked(key, 0, "key"), "keys");
      attention.value = headsFirst(unpacked(key, 1, "value"), "values");
    } else if (!node.hasInput(ValueInput)) {
      return node.error(ErrorCode::BadGraph) << "MultiHeadAttention has no values";
    } else if (rankOf(key) == 4 && rankOf(node.input(ValueInput)) == 4) {
      attention.key = key, attention.value = node.input(ValueInput);
    } else {
      std::optional<graph::Sizes> keySizes = sizesOfRank(node, key, 3, "key"),
                                  valueSizes = sizesOfRank(node, node.input(ValueInput), 3, "value");
      if (!keySizes || !valueSizes)
        return failure();
      key = biased(key, hidden, hidden, "biased_key");
      Value value = biased(node.input(ValueInput), graph::size::mul(hidden, 2), (*valueSizes)[2], "biased_value");
      attention.key = headsFirst(key ? splitHeads(node, key, heads, "key") : Value(), "keys");
      attention.value = headsFirst(value ? splitHeads(node, value, heads, "value") : Value(), "values");
    }
    return success(attention.query && attention.key && attention.value);
  }
};

class MergedAttention : MultiHead {
public:
  using MultiHead::MultiHead;
  enum Input { Data, Weights, Bias, Mask, Past, AttentionBias, PastLength };

  LogicalResult run() {
    if (node.intAttr("do_rotary", 0) != 0 || node.intAttr("past_present_share_buffer", 0) != 0 ||
        node.hasInput(PastLength))
      return node.error(ErrorCode::UnsupportedAttribute)
             << "rotary embeddings and shared buffers of Attention are not supported";
    node.ignoreAttr("rotary_embedding_dim");
    std::optional<SmallVector<int64_t>> given = node.intsAttr("qkv_hidden_sizes");
    std::optional<graph::Sizes> weights = sizesOfRank(node, node.input(Weights), 2, "weights");
    if (failed(checkHeads()) || !weights || !sizesOfRank(node, node.input(Data), 3, "input"))
      return failure();
    std::optional<int64_t> columns = graph::constantSize((*weights)[1]);
    SmallVector<int64_t> sizes = given.value_or(SmallVector<int64_t>(3, columns ? *columns / 3 : 0));
    if (!columns || sizes.size() != 3 || sizes[0] < 1 || sizes[0] != sizes[1] || sizes[2] < 1 ||
        sizes[0] + sizes[1] + sizes[2] != *columns)
      return node.error(ErrorCode::BadShape)
             << "the weights of Attention do not have a known number of columns for queries, keys and values";
    Value all = node.emit("MatMul", {node.input(Data), node.input(Weights)}, {}, "projected");
    if (node.hasInput(Bias))
      all = node.emit("Add", {all, node.input(Bias)}, {}, "biased");
    if (!all)
      return failure();
    auto split = [&](int64_t from, int64_t count, StringRef name) {
      Value columns = part(node, all, 2, from, from + count, (name + "_columns").str());
      return columns ? splitHeads(node, columns, heads, name) : Value();
    };
    attention.query = split(0, sizes[0], "query");
    if (!attention.query)
      return failure();
    attention.key = headsFirst(split(sizes[0], sizes[1], "key"), "keys");
    attention.value = headsFirst(split(sizes[0] + sizes[1], sizes[2], "value"), "values");
    return attention.key && attention.value ? finish() : failure();
  }

private:
  // Keys and values of all positions, one behind the other, are the second result.
  LogicalResult finish() {
    AffineExpr past = constant(node, 0);
    Value present;
    if (node.hasInput(Past) || node.hasOutput(1)) {
      present =
          node.emit("Concat", {unsqueeze(attention.key, {0}, "one_key"), unsqueeze(attention.value, {0}, "one_value")},
                    node.attr("axis", int64_t(0)), "added");
      if (node.hasInput(Past)) {
        std::optional<graph::Sizes> sizes = sizesOfRank(node, node.input(Past), 5, "past");
        if (!sizes || !present)
          return failure();
        past = (*sizes)[3];
        present = behind(node.input(Past), present, "present");
        auto half = [&](int64_t which, StringRef name) {
          return node.emit("Gather", {present, node.scalar(double(which), node.builder().getI64Type(), "which")},
                           node.attr("axis", int64_t(0)), name);
        };
        attention.key = half(0, "present_key");
        attention.value = half(1, "present_value");
      }
    }
    if (!attention.key || !attention.value || failed(addPadding(Mask)) || failed(addAttentionBias(AttentionBias)) ||
        failed(addCausalMask(past)))
      return failure();
    SmallVector<Value> results{attend(node, attention, "")};
    if (node.hasOutput(1))
      results.push_back(present);
    return node.finish(results);
  }
};

LogicalResult multiHeadAttention(Node &node) { return MultiHeadAttention(node).run(); }
LogicalResult mergedAttention(Node &node) { return MergedAttention(node).run(); }

} // namespace

ArrayRef<Rule> microsoftMultiHeadRules() {
  static constexpr Rule rules[] = {{"MultiHeadAttention", 1, 10, multiHeadAttention},
                                   {"Attention", 2, 7, mergedAttention}};
  return rules;
}

} // namespace fathom::importer
