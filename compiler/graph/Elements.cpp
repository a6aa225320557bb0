// Elements of small tensors that are known at compile time: reads constants and asks the ops that compute on sizes.
#include "compiler/graph/ShapeSupport.h"

#include "mlir/IR/DialectResourceBlobManager.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace fathom::graph {
namespace {

constexpr int64_t maxKnownElements = 1024;
// Models decide how long a chain of ops is; the stack does not grow with it.
constexpr int maxDepth = 100;
constexpr int maxFloatDepth = 12;

// What one outermost question has found out so far: a diamond of ops is evaluated once and not once per path.
struct Evaluation {
  llvm::DenseMap<Value, std::optional<Elements>> known;
  int depth = 0;
};
thread_local Evaluation *currentEvaluation = nullptr;

// Whether the elements of such a tensor are worth knowing; in a layout their order is another one.
bool isSmall(RankedTensorType type) {
  return type && type.hasStaticShape() && type.getNumElements() <= maxKnownElements && !type.getEncoding();
}

// The bits of every element, whether the constant is in the IR or a resource; nullopt when a resource does not fit its
// type.
std::optional<SmallVector<APInt>> readBits(ElementsAttr value) {
  ShapedType type = value.getShapedType();
  if (!type.hasStaticShape() || type.getNumElements() > maxKnownElements)
    return std::nullopt;
  SmallVector<APInt> bits;
  if (auto dense = dyn_cast<DenseElementsAttr>(value)) {
    if (isa<FloatType>(type.getElementType()))
      for (APFloat element : dense.getValues<APFloat>())
        bits.push_back(element.bitcastToAPInt());
    else
      llvm::append_range(bits, dense.getValues<APInt>());
    return bits;
  }
  auto resource = dyn_cast<DenseResourceElementsAttr>(value);
  AsmResourceBlob *blob = resource ? resource.getRawHandle().getBlob() : nullptr;
  if (!blob)
    return std::nullopt;
  unsigned width = type.getElementTypeBitWidth(), bytes = llvm::divideCeil(width, 8u);
  ArrayRef<char> data = blob->getData();
  if (data.size() != size_t(type.getNumElements()) * bytes || bytes > sizeof(uint64_t))
    return std::nullopt;
  for (int64_t i = 0; i < type.getNumElements(); ++i) {
    uint64_t raw = 0;
    std::memcpy(&raw, data.data() + i * bytes, bytes);
    bits.push_back(APInt(64, raw).trunc(width));
  }
  return bits;
}

double roundTo(Type type, double value) {
  if (type.isF64())
    return value;
  APFloat rounded(value);
  bool losesInfo;
  rounded.convert(cast<FloatType>(type).getFloatSemantics(), APFloat::rmNearestTiesToEven, &losesInfo);
  return rounded.convertToDouble();
}

std::optional<SmallVector<double>> floatsOf(Value value, int depth);

template <typename Function> std::optional<SmallVector<double>> combine(Operation *op, int depth, Function function) {
  auto a = floatsOf(op->getOperand(0), depth), b = floatsOf(op->getOperand(1), depth);
  if (!a || !b || (a->size() != b->size() && a->size() != 1 && b->size() != 1))
    return std::nullopt;
  SmallVector<double> result;
  for (size_t i = 0, count = a->size() == 1 ? b->size() : a->size(); i < count; ++i)
    result.push_back(function((*a)[a->size() == 1 ? 0 : i], (*b)[b->size() == 1 ? 0 : i]));
  return result;
}

template <typename Function> std::optional<SmallVector<double>> transform(Operation *op, int depth, Function function) {
  auto input = floatsOf(op->getOperand(0), depth);
  if (input)
    for (double &element : *input)
      element = function(element);
  return input;
}

// Enough of arithmetic to see the scales and sizes that exporters compute in floating point.
std::optional<SmallVector<double>> evaluateFloats(Operation *op, int depth) {
  using Result = std::optional<SmallVector<double>>;
  return llvm::TypeSwitch<Operation *, Result>(op)
      .Case<IdentityOp, ReshapeOp, SqueezeOp, UnsqueezeOp>([&](auto op) { return floatsOf(op.getInput(), depth); })
      .Case<AddOp>([&](auto op) { return combine(op, depth, [](double a, double b) { return a + b; }); })
      .Case<SubOp>([&](auto op) { return combine(op, depth, [](double a, double b) { return a - b; }); })
      .Case<MulOp>([&](auto op) { return combine(op, depth, [](double a, double b) { return a * b; }); })
      .Case<DivOp>([&](auto op) { return combine(op, depth, [](double a, double b) { return a / b; }); })
      .Case<FloorOp>([&](auto op) { return transform(op, depth, [](double a) { return std::floor(a); }); })
      .Case<CeilOp>([&](auto op) { return transform(op, depth, [](double a) { return std::ceil(a); }); })
      .Case<CastOp>([&](CastOp op) -> Result {
        if (isa<FloatType>(elementOf(op.getInput())))
          return floatsOf(op.getInput(), depth);
        auto integers = constantElementsOf(op.getInput());
        return integers ? Result(SmallVector<double>(integers->begin(), integers->end())) : std::nullopt;
      })
      .Case<ConcatOp>([&](ConcatOp op) -> Result {
        SmallVector<double> joined;
        for (Value input : op.getInputs()) {
          auto part = rankOf(input) == 1 ? floatsOf(input, depth) : std::nullopt;
          if (!part)
            return std::nullopt;
          joined.append(*part);
        }
        return joined;
      })
      .Default([](Operation *) -> Result { return std::nullopt; });
}

std::optional<SmallVector<double>> floatsOf(Value value, int depth) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  Operation *op = value.getDefiningOp();
  if (!op || !isSmall(type) || !isa<FloatType>(type.getElementType()) || depth > maxFloatDepth)
    return std::nullopt;
  SmallVector<double> result;
  if (auto constant = dyn_cast<ConstantOp>(op)) {
    auto floatType = dyn_cast<FloatType>(constant.getValue().getElementType());
    std::optional<SmallVector<APInt>> bits = floatType ? readBits(constant.getValue()) : std::nullopt;
    if (!bits)
      return std::nullopt;
    for (const APInt &element : *bits)
      result.push_back(APFloat(floatType.getFloatSemantics(), element).convertToDouble());
    return result;
  }
  std::optional<SmallVector<double>> computed = evaluateFloats(op, depth + 1);
  if (!computed || int64_t(computed->size()) != type.getNumElements())
    return std::nullopt;
  for (double &element : *computed)
    element = roundTo(type.getElementType(), element);
  return computed;
}

} // namespace

std::optional<Elements> ConstantOp::elements() {
  std::optional<SmallVector<APInt>> bits = readBits(getValue());
  auto type = dyn_cast<IntegerType>(getValue().getElementType());
  if (!bits || !type)
    return std::nullopt;
  bool isSigned = type.isSignless() && type.getWidth() > 1;
  Elements result;
  for (const APInt &element : *bits) {
    if (!isSigned && element.getActiveBits() > 63)
      return std::nullopt;
    result.push_back(
        getAffineConstantExpr(isSigned ? element.getSExtValue() : int64_t(element.getZExtValue()), getContext()));
  }
  return result;
}

std::optional<Elements> elementsOf(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  auto result = dyn_cast<OpResult>(value);
  if (!result || result.getResultNumber() != 0 || !isSmall(type) || !isa<IntegerType>(type.getElementType()))
    return std::nullopt;
  auto op = dyn_cast<ShapeOpInterface>(result.getOwner());
  if (!op)
    return std::nullopt;
  Evaluation outermost;
  bool isOutermost = !currentEvaluation;
  if (isOutermost)
    currentEvaluation = &outermost;
  auto done = llvm::scope_exit([&] {
    if (isOutermost)
      currentEvaluation = nullptr;
  });
  Evaluation &evaluation = *currentEvaluation;
  if (auto it = evaluation.known.find(value); it != evaluation.known.end())
    return it->second;
  if (evaluation.depth >= maxDepth)
    return std::nullopt;
  ++evaluation.depth;
  std::optional<Elements> elements = op.elements();
  --evaluation.depth;
  if (elements && (int64_t(elements->size()) != type.getNumElements() || llvm::is_contained(*elements, AffineExpr())))
    elements = std::nullopt;
  evaluation.known[value] = elements;
  return elements;
}

std::optional<Elements> partialElementsOf(Value value) {
  if (std::optional<Elements> known = elementsOf(value))
    return known;
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!isSmall(type) || !isa<IntegerType>(type.getElementType()))
    return std::nullopt;
  Elements result;
  auto concat = value.getDefiningOp<ConcatOp>();
  if (!concat || type.getRank() != 1)
    return Elements(type.getNumElements());
  for (Value input : concat.getInputs()) {
    std::optional<Elements> part = partialElementsOf(input);
    if (!part)
      return std::nullopt;
    result.append(*part);
  }
  return result;
}

std::optional<SmallVector<int64_t>> constantElementsOf(Value value) {
  std::optional<Elements> elements = elementsOf(value);
  if (!elements)
    return std::nullopt;
  SmallVector<int64_t> constants;
  for (AffineExpr element : *elements) {
    std::optional<int64_t> constant = constantSize(element);
    if (!constant)
      return std::nullopt;
    constants.push_back(*constant);
  }
  return constants;
}

std::optional<SmallVector<double>> constantFloatsOf(Value value) { return floatsOf(value, 0); }

} // namespace fathom::graph
