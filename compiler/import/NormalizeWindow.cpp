// Rules of the window functions of signal processing: with a known size they are small tables.
#include "compiler/graph/Shape.h"
#include "compiler/import/ElementTypes.h"
#include "compiler/import/Normalize.h"
#include <cmath>
#include <numbers>

using namespace mlir;

namespace fathom::importer {

// Keeps a hostile size from filling the memory.
static constexpr int64_t longestWindow = 1 << 20;

// a0 - a1 cos(2 pi n / N) + a2 cos(4 pi n / N), of the precision of double.
static LogicalResult window(Node &node, double a0, double a1, double a2) {
  Type element = node.hasAttr("output_datatype") ? node.typeAttr("output_datatype") : node.builder().getF32Type();
  bool periodic = node.intAttr("periodic", 1) != 0;
  if (!element)
    return failure();
  std::optional<SmallVector<int64_t>> size = graph::constantElementsOf(node.input(0));
  if (!size || size->size() != 1)
    return node.error(ErrorCode::UnsupportedShape) << "the size of " << node.type() << " is not known";
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
