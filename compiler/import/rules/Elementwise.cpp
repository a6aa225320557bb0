// Rules of elementwise operators: variadic ones as chains of pairs, limits and types as inputs and types, Dropout as
// inference sees it.
#include "compiler/graph/Shape.h"
#include "compiler/graph/SmallTypes.h"
#include "compiler/graph/TypeText.h"
#include "compiler/import/rules/Parts.h"
#include "compiler/import/rules/Small.h"

using namespace mlir;

namespace fathom::importer {

// Max, Min and Sum of any number of inputs, one pair at a time; null on failure. `last` is the suffix of the last op.
static Value chain(Node &node, StringRef op, StringRef last) {
  Value result = node.input(0);
  unsigned count = node.numInputs();
  for (unsigned i = 1; i < count; ++i) {
    std::string suffix = i + 1 == count ? last.str() : "pair" + std::to_string(i);
    result = node.emit(op, {result, node.input(i)}, {}, suffix);
  }
  return result;
}

static LogicalResult variadic(Node &node) {
  if (node.numInputs() == 1)
    return node.finish(node.emit("Identity", node.input(0)));
  return node.finish(chain(node, node.type() == "Sum" ? "Add" : node.type(), ""));
}

static LogicalResult mean(Node &node) {
  if (node.numInputs() == 1)
    return node.finish(node.emit("Identity", node.input(0)));
  Value factor = node.scalar(1.0 / node.numInputs(), node.elementType(0), "factor");
  return node.finish(node.emit("Mul", {chain(node, "Add", "sum"), factor}));
}

static LogicalResult clip(Node &node) {
  if (node.opset() >= 11)
    return copyNode(node);
  Value low = node.none(), high = node.none();
  if (node.hasAttr("min"))
    low = node.scalar(node.floatAttr("min", 0), node.elementType(0), "min");
  if (node.hasAttr("max"))
    high = node.scalar(node.floatAttr("max", 0), node.elementType(0), "max");
  return node.finish(node.emit("Clip", {node.input(0), low, high}));
}

static LogicalResult cast(Node &node) {
  // Both only matter where the result is a float of 8 bits.
  SmallRounding rounding{node.intAttr("saturate", 1) != 0, node.stringAttr("round_mode", "up")};
  if (!llvm::is_contained({"up", "down", "nearest"}, rounding.mode))
    return node.error(ErrorCode::BadAttribute)
           << "round_mode of " << node.type() << " is '" << rounding.mode << "', not up, down or nearest";
  bool isLike = node.type() == "CastLike";
  if (!isLike && !node.hasAttr("to"))
    return node.finishAs("Cast", node.input(0)); // which says so
  Type to = isLike ? node.elementType(1) : node.typeAttr("to");
  if (!to)
    return failure();
  if (graph::isSmall(to) || graph::isSmall(node.elementType(0)))
    return node.finish(castSmall(node, node.input(0), to, rounding, ""));
  return node.finish(node.emit("Cast", node.input(0), node.attr("to", TypeAttr::get(to))));
}

static LogicalResult bitCast(Node &node) {
  if (!node.hasAttr("to"))
    return node.error(ErrorCode::BadAttribute) << "to is missing";
  Type from = node.elementType(0), to = node.typeAttr("to");
  if (!to)
    return failure();
  // Elements of less than a byte have a byte each here, so that their bits are never those of a wider type. A bool is a
  // byte.
  auto width = [](Type type) { return type.isInteger(1) ? 8 : type.getIntOrFloatBitWidth(); };
  if (width(from) != width(to))
    return node.error(ErrorCode::BadType) << "BitCast of " << graph::elementText(from) << " to "
                                          << graph::elementText(to) << ", which has another number of bits";
  auto toType = [&](Type type) { return node.attr("to", TypeAttr::get(type)); };
  if (from == to)
    return node.finish(node.emit("Identity", node.input(0)));
  if (from.isInteger(1) || to.isInteger(1)) {
    Type byte = node.builder().getIntegerType(8, /*isSigned=*/false);
    Value bytes = from.isInteger(1) ? node.emit("Cast", node.input(0), toType(byte), "byte")
                                    : node.emit("BitCast", node.input(0), toType(byte), "byte");
    return node.finish(node.emit(to.isInteger(1) ? "Cast" : "BitCast", bytes, toType(to)));
  }
  return node.finish(node.emit("BitCast", node.input(0), toType(to)));
}

// Its attributes are floats, also where the input holds integers: what is left of a difference is rounded towards zero.
static LogicalResult shrink(Node &node) {
  FailureOr<SmallVector<NamedAttribute>> attrs = node.takeAttrs("Shrink");
  if (failed(attrs))
    return failure();
  Type element = node.elementType(0);
  if (!isa<IntegerType>(element) || element.isInteger(1))
    return node.finish(node.emit("Shrink", node.allInputs(), *attrs));
  Value wide = node.emit("Cast", node.input(0), node.attr("to", TypeAttr::get(node.builder().getF64Type())), "wide");
  return node.finish(
      node.emit("Cast", node.emit("Shrink", wide, *attrs, "shrunk"), node.attr("to", TypeAttr::get(element))));
}

static Value allTrue(Node &node, Type element) {
  auto type = RankedTensorType::get({1}, element);
  NamedAttribute value = node.attr("value", DenseElementsAttr::get(type, Attribute(numberOf(1, element))));
  return node.emit("ConstantOfShape", shapeOf(node, node.input(0), "mask.shape"), value, "mask");
}

static LogicalResult dropout(Node &node) {
  node.ignoreAttr("seed");
  node.ignoreAttr("ratio");
  if (node.hasInput(2)) {
    std::optional<SmallVector<int64_t>> training = graph::constantElementsOf(node.input(2));
    std::optional<SmallVector<double>> ratio = SmallVector<double>{0.5};
    if (node.hasInput(1))
      ratio = graph::constantFloatsOf(node.input(1));
    bool drops = !training || (llvm::any_of(*training, [](int64_t on) { return on != 0; }) &&
                               (!ratio || llvm::any_of(*ratio, [](double part) { return part != 0; })));
    if (drops)
      return node.error(ErrorCode::UnsupportedAttribute) << "Dropout in training mode is not supported";
  }
  SmallVector<Value> results{node.emit("Identity", node.input(0))};
  // The mask was of the input's type before it was bool.
  if (node.hasOutput(1))
    results.push_back(allTrue(node, node.opset() < 10 ? node.elementType(0) : node.builder().getI1Type()));
  return node.finish(results);
}

ArrayRef<Rule> elementwiseRules() {
  static constexpr Rule rules[] = {
      {"Max", 1, anyNumber, variadic},
      {"Min", 1, anyNumber, variadic},
      {"Sum", 1, anyNumber, variadic},
      {"Mean", 1, anyNumber, mean},
      {"Clip", 1, 3, clip},
      {"Cast", 1, 1, cast},
      {"CastLike", 2, 2, cast},
      {"BitCast", 1, 1, bitCast},
      {"Shrink", 1, 1, shrink},
      {"Dropout", 1, 3, dropout},
  };
  return rules;
}

} // namespace fathom::importer
