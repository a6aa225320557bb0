// Nodes of operator sets before 7: the attributes that have gone since, and the explicit broadcasting of that time.
#include "compiler/import/node/Normalize.h"

using namespace mlir;

namespace fathom::importer {

namespace {
struct Since {
  StringLiteral op;
  int64_t version;
};
} // namespace

// Operators whose earlier versions say what they do in other ways.
static constexpr Since changed[] = {{"Cast", 6},    {"Concat", 4}, {"GlobalLpPool", 2}, {"LpPool", 2}, {"Pad", 2},
                                    {"Reshape", 5}, {"Selu", 6},   {"Split", 2},        {"Tile", 6},   {"Upsample", 7},
                                    {"GRU", 7},     {"LSTM", 7},   {"RNN", 7}};
static constexpr StringLiteral broadcasting[] = {"Add",  "And", "Div", "Equal", "Gemm", "Greater",
                                                 "Less", "Mul", "Or",  "Pow",   "Sub",  "Xor"};

static LogicalResult replace(Node &node, Value second) {
  if (!second)
    return failure();
  node.setInput(1, second);
  return success();
}

// The second input lay along the axes of the first from `axis` on, or along its last ones.
static LogicalResult broadcast(Node &node) {
  bool aligned = node.hasAttr("axis") && node.hasInput(0) && node.hasInput(1);
  bool enabled = node.intAttr("broadcast", 0) != 0;
  int64_t axis = node.intAttr("axis", 0);
  if (!aligned || !enabled)
    return success();
  int64_t rank = node.rank(0), inner = node.rank(1);
  if (axis < 0)
    axis += rank;
  int64_t trailing = rank - axis - inner;
  if (axis < 0 || trailing < 0)
    return node.error(ErrorCode::BadAttribute)
           << "axis " << axis << " of " << node.type() << " for ranks " << rank << " and " << inner;
  SmallVector<int64_t> axes;
  for (int64_t i = 0; i < trailing; ++i)
    axes.push_back(inner + i);
  return axes.empty()
             ? success()
             : replace(node, node.emit("Unsqueeze", {node.input(1), node.ints(axes, "axes")}, {}, "broadcast"));
}

LogicalResult modernize(Node &node) {
  for (const Since &since : changed)
    if (since.op == node.type() && node.opset() < since.version)
      return node.error(ErrorCode::UnsupportedOp) << node.type() << " of operator set " << node.opset()
                                                  << " is not supported, from " << since.version << " on it is";
  // A hint for running in place.
  node.ignoreAttr("consumed_inputs");
  if (llvm::is_contained(broadcasting, node.type()))
    return broadcast(node);
  if (node.type() == "Dropout" || node.type() == "BatchNormalization")
    node.ignoreAttr("is_test"); // told by the number of outputs as well
  if (node.type() == "PRelu" && node.hasInput(1) && node.hasInput(0) && node.rank(1) == 1 && node.rank(0) > 2) {
    // One slope for each channel, or one for all.
    SmallVector<int64_t> sizes(node.rank(0) - 1, 1);
    sizes[0] = -1;
    return replace(node, reshape(node, node.input(1), sizes, "slope"));
  }
  return success();
}

} // namespace fathom::importer
