// Rules of random numbers: a hash of each element's position and of the node's seed, by ordinary ops. The numbers are
// the same in every run, whatever the number of threads, and differ from node to node.
#include "compiler/graph/SizeMath.h"
#include "compiler/import/rules/Parts.h"
#include "llvm/Support/xxhash.h"
#include <cmath>
#include <numbers>

using namespace mlir;

namespace fathom::importer {
namespace {

class Random {
public:
  // Numbers of this type, single precision at least.
  Random(Node &node, Type element)
      : node(node), wide(element.isF64() ? element : Type(node.builder().getF32Type())),
        bits(node.builder().getIntegerType(64, /*isSigned=*/false)) {
    // A node that gives no seed has its own, so that two of them are not the same noise.
    seed = llvm::xxh3_64bits(node.hasAttr("seed") ? StringRef() : node.output(0));
    float given = node.floatAttr("seed", 0);
    seed ^= uint64_t(llvm::bit_cast<uint32_t>(given)) << 16;
  }

  // At least 0 and less than 1; or, `isInside`, never 0 either. Every stream is another sequence.
  Value uniform(ArrayRef<AffineExpr> sizes, uint64_t stream, bool isInside) {
    AffineExpr count = graph::product(sizes, node.context());
    if (!count) {
      node.error(ErrorCode::UnsupportedShape) << "the sizes of " << node.type() << " are too complex";
      return {};
    }
    // Steele, Lea and Flood's SplitMix64.
    constexpr uint64_t step = 0x9E3779B97F4A7C15;
    Value x = castAs(node, countUp(node, count, "positions"), bits, "positions");
    x = op("Add", op("Mul", x, number(step)), number(seed + (stream + 1) * 0xD1B54A32D192ED03));
    x = op("Mul", folded(x, 30), number(0xBF58476D1CE4E5B9));
    x = folded(op("Mul", folded(x, 27), number(0x94D049BB133111EB)), 31);
    int64_t kept = wide.isF64() ? 52 : 23;
    x = castAs(node, shifted(x, 64 - kept), wide, "uniform");
    if (isInside)
      x = withNumber(node, "Add", x, 0.5, "inside");
    return reshapeTo(node, withNumber(node, "Mul", x, std::ldexp(1, -kept), "uniform"), sizes, "uniform");
  }

  // By Box and Muller.
  Value normal(ArrayRef<AffineExpr> sizes) {
    Value log = node.emit("Log", uniform(sizes, 0, /*isInside=*/true), {}, "log");
    Value radius = node.emit("Sqrt", withNumber(node, "Mul", log, -2, "square"), {}, "radius");
    Value angle = withNumber(node, "Mul", uniform(sizes, 1, false), 2 * std::numbers::pi, "angle");
    return node.emit("Mul", {radius, node.emit("Cos", angle, {}, "cos")}, {}, "normal");
  }

private:
  Value op(StringRef name, Value a, Value b) { return node.emit(name, {a, b}, {}, "hash"); }
  Value number(uint64_t value) {
    auto type = RankedTensorType::get({}, bits);
    return node.constant(DenseElementsAttr::get(type, IntegerAttr::get(bits, APInt(64, value))), "number");
  }
  Value shifted(Value x, uint64_t by) {
    return node.emit("BitShift", {x, number(by)}, node.attr("direction", "RIGHT"), "hash");
  }
  Value folded(Value x, uint64_t by) { return op("BitwiseXor", x, shifted(x, by)); }

  Node &node;
  Type wide, bits;
  uint64_t seed;
};

// The element type of the result; null after a report.
Type elementOfResult(Node &node, Type otherwise) {
  Type element = node.hasAttr("dtype") ? node.typeAttr("dtype") : otherwise;
  return element;
}

// The sizes of RandomNormal and RandomUniform are attributes, those of their twins are the input's.
LogicalResult random(Node &node) {
  bool isLike = node.type().ends_with("Like"), isNormal = node.type().starts_with("RandomNormal");
  Type f32 = node.builder().getF32Type();
  Type element = elementOfResult(node, isLike && isa<FloatType>(node.elementType(0)) ? node.elementType(0) : f32);
  double first = isNormal ? node.floatAttr("mean", 0) : node.floatAttr("low", 0),
         second = isNormal ? node.floatAttr("scale", 1) : node.floatAttr("high", 1);
  graph::Sizes sizes;
  if (isLike)
    sizes = graph::sizesOf(node.input(0));
  else
    for (int64_t size : node.intsAttr("shape").value_or(SmallVector<int64_t>{-1})) {
      if (size < 0 || size > INT32_MAX)
        return node.error(ErrorCode::BadAttribute) << "shape of " << node.type() << " is missing or holds " << size;
      sizes.push_back(getAffineConstantExpr(size, node.context()));
    }
  if (!element)
    return failure();
  if (!isa<FloatType>(element))
    return node.error(ErrorCode::BadAttribute) << "dtype of " << node.type() << " must be a type of floats";
  Random numbers(node, element);
  Value value = isNormal ? numbers.normal(sizes) : numbers.uniform(sizes, 0, false);
  value = withNumber(node, "Mul", value, isNormal ? second : second - first, "scaled");
  return node.finish(castAs(node, withNumber(node, "Add", value, first, "moved"), element, ""));
}

LogicalResult bernoulli(Node &node) {
  Type element = elementOfResult(node, node.elementType(0));
  if (!element)
    return failure();
  if (!isa<FloatType>(node.elementType(0)))
    return node.error(ErrorCode::BadType) << "the input of Bernoulli must hold floats";
  Value uniform = Random(node, node.elementType(0)).uniform(graph::sizesOf(node.input(0)), 0, false);
  if (!uniform)
    return failure();
  Value odds = castAs(node, node.input(0), getElementTypeOrSelf(uniform.getType()), "odds");
  return node.finish(castAs(node, node.emit("Less", {uniform, odds}, {}, "hits"), element, ""));
}

// The largest of the scores, each with noise of Gumbel's distribution.
LogicalResult multinomial(Node &node) {
  Type element = elementOfResult(node, node.builder().getI32Type());
  int64_t samples = node.intAttr("sample_size", 1);
  if (!element)
    return failure();
  if (node.rank(0) != 2 || !isa<FloatType>(node.elementType(0)) || samples < 1 || samples > INT32_MAX)
    return node.error(ErrorCode::BadShape)
           << "Multinomial of " << samples << " samples of a tensor of type " << node.inputText(0);
  graph::Sizes scores = graph::sizesOf(node.input(0));
  SmallVector<AffineExpr> sizes{scores[0], getAffineConstantExpr(samples, node.context()), scores[1]};
  Value uniform = Random(node, node.elementType(0)).uniform(sizes, 0, /*isInside=*/true);
  if (!uniform)
    return failure();
  auto minusLog = [&](Value value) { return node.emit("Neg", node.emit("Log", value, {}, "log"), {}, "noise"); };
  Value noise = minusLog(minusLog(uniform));
  Value given = castAs(node, node.input(0), getElementTypeOrSelf(uniform.getType()), "scores");
  Value noisy =
      node.emit("Add", {node.emit("Unsqueeze", {given, node.ints({1}, "axis")}, {}, "scores"), noise}, {}, "noisy");
  Value best = node.emit("ArgMax", noisy, {node.attr("axis", int64_t(2)), node.attr("keepdims", int64_t(0))}, "best");
  return node.finish(castAs(node, best, element, ""));
}

} // namespace

ArrayRef<Rule> randomRules() {
  static constexpr Rule rules[] = {{"RandomNormal", 0, 0, random},     {"RandomUniform", 0, 0, random},
                                   {"RandomNormalLike", 1, 1, random}, {"RandomUniformLike", 1, 1, random},
                                   {"Bernoulli", 1, 1, bernoulli},     {"Multinomial", 1, 1, multinomial}};
  return rules;
}

} // namespace fathom::importer
