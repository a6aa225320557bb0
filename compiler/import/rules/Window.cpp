// Rules of the window functions of signal processing: with a known size they are small tables, else computed.
#include "compiler/graph/Shape.h"
#include "compiler/import/node/Normalize.h"
#include "compiler/import/read/ElementTypes.h"
#include <cmath>
#include <numbers>

using namespace mlir;

namespace fathom::importer {

// Keeps a hostile size from filling the memory.
static constexpr int64_t longestWindow = 1 << 20;

// a0 - a1 cos(2 pi n / N) + a2 cos(4 pi n / N) of a size that is known when the model runs.
static Value windowOf(Node &node, Type element, bool periodic, ArrayRef<double> factors) {
  Type i64 = node.builder().getI64Type(), wide = element.isF64() ? element : Type(node.builder().getF32Type());
  auto castTo = [&](Value value, Type type, StringRef suffix) {
    return node.emit("Cast", value, node.attr("to", TypeAttr::get(type)), suffix);
  };
  auto op = [&](StringRef name, Value a, Value b) { return node.emit(name, {a, b}, {}, "window"); };
  auto number = [&](double value) { return node.scalar(value, wide, "number"); };
  Value size = node.pinned(castTo(reshape(node, node.input(0), {}, "size"), i64, "size"), "size");
  Value numbers = node.emit("Range", {node.scalar(0, i64, "first"), size, node.scalar(1, i64, "by")}, {}, "numbers");
  Value period = op("Max", op("Sub", castTo(size, wide, "period"), number(periodic ? 0 : 1)), number(1));
  Value angle = op("Div", op("Mul", castTo(numbers, wide, "numbers"), number(2 * std::numbers::pi)), period);
  Value once = op("Mul", node.emit("Cos", angle, {}, "cos"), number(factors[1]));
  Value twice = op("Mul", node.emit("Cos", op("Mul", angle, number(2)), {}, "cos"), number(factors[2]));
  return castTo(op("Add", op("Sub", number(factors[0]), once), twice), element, "");
}

// a0 - a1 cos(2 pi n / N) + a2 cos(4 pi n / N), of the precision of double.
static LogicalResult window(Node &node, double a0, double a1, double a2) {
  Type element = node.hasAttr("output_datatype") ? node.typeAttr("output_datatype") : node.builder().getF32Type();
  bool periodic = node.intAttr("periodic", 1) != 0;
  if (!element)
    return failure();
  std::optional<SmallVector<int64_t>> size = graph::constantElementsOf(node.input(0));
  if (!size)
    return node.finish(windowOf(node, element, periodic, {a0, a1, a2}));
  if (size->size() != 1)
    return node.error(ErrorCode::BadShape) << "the size of " << node.type() << " must be one number";
  int64_t count = size->front();
  if (count < 0)
    return node.error(ErrorCode::BadShape) << "the size of " << node.type() << " is " << count;
  if (count > longestWindow)
    return node.error(ErrorCode::Limit) << "the size of " << node.type() << " is " << count << ", the limit is "
                                        << longestWindow;
  double period = periodic ? count : count - 1;
  SmallVector<Attribute> values;
  for (int64_t i = 0; i < count; ++i) {
    double angle = period == 0 ? 0 : 2 * std::numbers::pi * i / period;
    values.push_back(numberOf(a0 - a1 * std::cos(angle) + a2 * std::cos(2 * angle), element));
  }
  return node.finish(node.constant(DenseElementsAttr::get(RankedTensorType::get({count}, element), values), ""));
}

static LogicalResult hann(Node &node) { return window(node, 0.5, 0.5, 0); }
static LogicalResult hamming(Node &node) { return window(node, 25.0 / 46.0, 21.0 / 46.0, 0); }
static LogicalResult blackman(Node &node) { return window(node, 0.42, 0.5, 0.08); }

ArrayRef<Rule> windowRules() {
  static constexpr Rule rules[] = {
      {"HannWindow", 1, 1, hann}, {"HammingWindow", 1, 1, hamming}, {"BlackmanWindow", 1, 1, blackman}};
  return rules;
}

} // namespace fathom::importer
