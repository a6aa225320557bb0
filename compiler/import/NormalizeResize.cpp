// Rules of Resize and of Upsample, which it replaced: before version 11 there was one way to map coordinates.
#include "compiler/graph/Shape.h"
#include "compiler/import/Normalize.h"

using namespace mlir;

namespace fathom::importer {

// An empty tensor stood for an absent input before inputs could be absent.
static Value noneIfEmpty(Node &node, unsigned index) {
  if (!node.hasInput(index))
    return node.none();
  graph::Sizes sizes = graph::sizesOf(node.input(index));
  bool empty = sizes.size() == 1 && graph::isConstant(sizes[0], 0);
  return empty ? node.none() : node.input(index);
}

// Upsample, and Resize of version 10.
static LogicalResult upsample(Node &node) {
  Value scales = node.input(1);
  if (auto list = node.floatsAttr("scales")) {
    SmallVector<float> floats(list->begin(), list->end());
    auto type = RankedTensorType::get({int64_t(floats.size())}, node.builder().getF32Type());
    scales = node.constant(DenseElementsAttr::get(type, ArrayRef<float>(floats)), "scales");
  }
  StringRef mode = node.stringAttr("mode", "nearest");
  if (mode != "nearest" && mode != "linear")
    return node.error(ErrorCode::BadAttribute) << "mode '" << mode << "' of " << node.type();
  // The nearest element was the one before when enlarging and the one after when shrinking.
  StringRef nearest = "floor";
  std::optional<SmallVector<double>> factors = graph::constantFloatsOf(scales);
  if (mode == "nearest" && factors && llvm::any_of(*factors, [](double factor) { return factor < 1; })) {
    if (llvm::any_of(*factors, [](double factor) { return factor > 1; }))
      return node.error(ErrorCode::UnsupportedAttribute)
             << node.type() << " of operator set " << node.opset() << " that shrinks one axis and enlarges another";
    nearest = "ceil";
  }
  SmallVector<NamedAttribute> attrs{node.attr("coordinate_transformation_mode", "asymmetric"),
                                    node.attr("nearest_mode", nearest), node.attr("mode", mode)};
  return node.finish(node.emit("Resize", {node.input(0), node.none(), scales}, attrs));
}

static LogicalResult resize(Node &node) {
  if (node.opset() < 11)
    return upsample(node);
  return node.finishAs("Resize", {node.input(0), noneIfEmpty(node, 1), noneIfEmpty(node, 2), noneIfEmpty(node, 3)});
}

ArrayRef<Rule> resizeRules() {
  static constexpr Rule rules[] = {{"Upsample", 1, 2, upsample}, {"Resize", 1, 4, resize}};
  return rules;
}

} // namespace fathom::importer
