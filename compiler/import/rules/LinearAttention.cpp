// LinearAttention: a loop over the positions that carries the state, a matrix for each head of the keys, in single
// precision whatever the inputs are.
#include "compiler/import/rules/LinearAttention.h"
#include "compiler/graph/SizeMath.h"
#include "compiler/import/rules/AttentionParts.h"
#include <cmath>

using namespace mlir;

namespace fathom::importer {
namespace {

class LinearAttention {
public:
  explicit LinearAttention(Node &node) : node(node), f32(node.builder().getF32Type()) {}

  LogicalResult run() {
    heads = node.intAttr("q_num_heads", 0), groups = node.intAttr("kv_num_heads", 0);
    StringRef rule = node.stringAttr("update_rule", "gated_delta");
    double given = node.floatAttr("scale", 0);
    node.ignoreAttr("chunk_size"); // a hint about speed
    if (!llvm::is_contained({"linear", "gated", "delta", "gated_delta"}, rule))
      return node.error(ErrorCode::BadAttribute)
             << "update_rule '" << rule << "' is not linear, gated, delta or gated_delta";
    bool isGated = rule.starts_with("gated"), isDelta = rule.ends_with("delta");
    if (heads < 1 || groups < 1 || heads % groups != 0)
      return node.error(ErrorCode::BadAttribute)
             << "q_num_heads " << heads << " is not a positive multiple of kv_num_heads " << groups;
    if (node.hasInput(4) != isGated || node.hasInput(5) != isDelta)
      return node.error(ErrorCode::BadGraph) << "update_rule '" << rule << "' needs " << (isGated ? "a" : "no")
                                             << " decay and " << (isDelta ? "a" : "no") << " beta";
    Value query = byPosition(0, heads, "query"), key = byPosition(1, groups, "key"),
          value = byPosition(2, groups, "value");
    if (!query || !key || !value)
      return failure();
    graph::Sizes q = graph::sizesOf(query), k = graph::sizesOf(key), v = graph::sizesOf(value);
    length = q[0], batch = q[1];
    for (const graph::Sizes &other : {k, v})
      if (failed(node.requireSame(other[0], length, "the number of positions")) ||
          failed(node.requireSame(other[1], batch, "the batch")))
        return failure();
    if (q[3] != k[3])
      return node.error(ErrorCode::BadShape)
             << "a head of the query has another number of columns than one of the key: " << node.inputText(0)
             << " and " << node.inputText(1);
    columns = *graph::constantSize(k[3]), width = *graph::constantSize(v[3]);
    double scale = given != 0 ? given : 1 / std::sqrt(double(columns));
    // The heads of the query that share a state are rows of one product.
    query = reshapeTo(node, withNumber(node, "Mul", query, scale, "scaled"),
                      {length, batch, constant(groups), constant(heads / groups), constant(columns)}, "rows");
    Value decay, beta;
    if (isGated && !(decay = readDecay()))
      return failure();
    if (isDelta && !(beta = readBeta()))
      return failure();
    Value state = readState();
    if (!query || !state)
      return failure();

    auto body = [&](Value i, Value condition, ValueRange carried) -> FailureOr<SmallVector<Value>> {
      auto at = [&](Value list) { return node.emit("Gather", {list, i}, node.attr("axis", int64_t(0)), "at"); };
      auto along = [&](Value tensor, int64_t axis) {
        return tensor ? node.emit("Unsqueeze", {tensor, node.ints({axis}, "axis")}, {}, "along") : Value();
      };
      auto op = [&](StringRef name, Value a, Value b) { return node.emit(name, {a, b}, {}, "step"); };
      Value keyNow = at(key), row = along(at(value), -2), now = carried[0];
      if (decay)
        now = op("Mul", now, along(at(decay), -1));
      if (beta)
        row = op("Mul", along(at(beta), -1), op("Sub", row, op("MatMul", along(keyNow, -2), now)));
      now = op("Add", now, op("Mul", along(keyNow, -1), row));
      Value read = op("MatMul", at(query), now);
      if (!now || !read)
        return failure();
      return SmallVector<Value>{condition, now, read};
    };
    auto made = node.loop(node.sizesValue({length}, /*isScalar=*/true, "length"), Value(), state, body);
    if (failed(made))
      return failure();
    Value output = transpose(node, (*made)[1], {1, 0, 2, 3, 4}, "by_batch");
    output = reshapeTo(node, castAs(node, output, node.elementType(0), "output"),
                       {batch, length, constant(heads * width)}, "");
    Type stateType = node.hasInput(3) ? node.elementType(3) : node.elementType(0);
    return node.finish({output, castAs(node, (*made)[0], stateType, "present_state")});
  }

private:
  AffineExpr constant(int64_t value) { return getAffineConstantExpr(value, node.context()); }

  // (batch, positions, heads * columns) as (positions, batch, heads, columns); null after a report.
  Value byPosition(unsigned index, int64_t count, StringRef name) {
    Value split = splitHeads(node, node.input(index), count, name);
    return split ? castAs(node, transpose(node, split, {1, 0, 2, 3}, "by_position"), f32, "wide") : Value();
  }

  // By how much the state shrinks before each position, for its rows or for all of it.
  Value readDecay() {
    std::optional<graph::Sizes> sizes = sizesOfRank(node, node.input(4), 3, "decay");
    std::optional<int64_t> last = sizes ? graph::constantSize(sizes->back()) : std::nullopt;
    if (!last || (*last != groups && *last != groups * columns)) {
      if (sizes)
        node.error(ErrorCode::BadShape) << "decay is " << node.inputText(4) << ", whose last size is neither " << groups
                                        << " nor " << groups * columns;
      return {};
    }
    Value decay = byPosition(4, groups, "decay");
    return decay ? node.emit("Exp", decay, {}, "shrinking") : Value();
  }

  // How much of what is new is written, for each head or for all.
  Value readBeta() {
    std::optional<graph::Sizes> sizes = sizesOfRank(node, node.input(5), 3, "beta");
    std::optional<int64_t> last = sizes ? graph::constantSize(sizes->back()) : std::nullopt;
    if (!last || (*last != groups && *last != 1)) {
      if (sizes)
        node.error(ErrorCode::BadShape) << "beta is " << node.inputText(5) << ", whose last size is neither " << groups
                                        << " nor 1";
      return {};
    }
    return byPosition(5, *last, "beta");
  }

  Value readState() {
    SmallVector<AffineExpr> sizes{batch, constant(groups), constant(columns), constant(width)};
    if (!node.hasInput(3))
      return node.emit("Expand", {node.scalar(0, f32, "zero"), node.sizesValue(sizes, false, "sizes")}, {}, "state");
    std::optional<graph::Sizes> own = sizesOfRank(node, node.input(3), 4, "past_state");
    if (!own)
      return {};
    for (auto [given, wanted] : llvm::zip_equal(*own, sizes))
      if (failed(node.requireSame(given, wanted, "a size of past_state")))
        return {};
    // A loop's state keeps its type, so that sizes are spelled as those that it is computed with.
    return reshapeTo(node, castAs(node, node.input(3), f32, "state"), sizes, "state");
  }

  Node &node;
  Type f32;
  int64_t heads = 0, groups = 0, columns = 0, width = 0;
  AffineExpr length, batch;
};

LogicalResult linearAttention(Node &node) { return LinearAttention(node).run(); }

} // namespace

ArrayRef<Rule> linearAttentionRules() {
  static constexpr Rule rules[] = {{"LinearAttention", 3, 6, linearAttention}};
  return rules;
}

} // namespace fathom::importer
