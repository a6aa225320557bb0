// One walk over the ops. What an op reads is looked at one step deep, so that the walk is linear.
#include "compiler/passes/select/GraphFeatures.h"

#include "compiler/graph/Views.h"
#include "compiler/passes/FastMath.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/Hashing.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace fathom::graph;

namespace fathom {
namespace {

using enum GraphFeature;

constexpr size_t manyOperands = 128; // of a concatenation

bool isConstantLike(Operation *op) { return op->hasTrait<OpTrait::ConstantLike>(); }

// Whether all values of a type but for the channels' dimension are one, seen from an image of this rank.
bool mayBePerChannel(Value value, int64_t rank) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type || type.getRank() > rank)
    return false;
  for (int64_t d = 0; d < type.getRank(); ++d)
    if (type.getDimSize(d) != 1 && d + rank - type.getRank() != 1)
      return false;
  return true;
}

bool scalesConvolution(Operation *op) {
  for (int side : {0, 1}) {
    Value conv = op->getOperand(side);
    if (isa_and_nonnull<ConvOp, ConvTransposeOp>(conv.getDefiningOp()) &&
        mayBePerChannel(op->getOperand(1 - side), cast<RankedTensorType>(conv.getType()).getRank()))
      return true;
  }
  return false;
}

bool hasVectorOrColumn(MatMulOp op) {
  auto isVector = [](Value value) { return cast<RankedTensorType>(value.getType()).getRank() < 2; };
  return isVector(op.getLhs()) || isVector(op.getRhs()) || isConstant(sizesOf(op.getRhs()).back(), 1);
}

// Whether the op hands on what it reads, or is one with what it reads.
bool isNeutral(Operation *op) {
  if (isa<IdentityOp>(op))
    return true;
  if (isa<CastOp, ExpandOp, ReshapeOp>(op))
    return op->getOperand(0).getType() == op->getResult(0).getType();
  if (auto transposed = dyn_cast<TransposeOp>(op)) {
    int64_t rank = transposed.getType().getRank();
    return rank < 2 || transposed.getInput().getDefiningOp<TransposeOp>() ||
           (transposed.getPerm() && llvm::equal(*transposed.getPerm(), llvm::seq<int64_t>(0, rank)));
  }
  if (auto concat = dyn_cast<ConcatOp>(op))
    return concat.getInputs().size() == 1 || llvm::any_of(concat.getInputs(), [](Value part) {
             return part.getDefiningOp<SliceOp>() ||
                    llvm::is_contained(cast<RankedTensorType>(part.getType()).getShape(), 0);
           });
  return false;
}

// Whether it is arithmetic on integers whose results are known.
bool hasKnownElements(Operation *op) {
  if (!isa<ShapeOpInterface>(op) || op->getNumResults() != 1 || isConstantLike(op))
    return false;
  auto type = dyn_cast<RankedTensorType>(op->getResult(0).getType());
  if (!type || !type.hasStaticShape() || !isa<IntegerType>(type.getElementType()))
    return false;
  std::optional<Elements> elements = elementsOf(op->getResult(0));
  return elements && (!isa<SizesOp>(op) || llvm::all_of(*elements, [](AffineExpr e) { return constantSize(e); }));
}

bool readsConstantsOnly(Operation *op) {
  if (op->getNumOperands() == 0 || op->getNumResults() == 0 || op->getNumRegions() ||
      (isConstantValue(op->getResult(0)) && !op->hasAttr("graph.ahead")))
    return false;
  return llvm::all_of(op->getOperands(),
                      [](Value value) { return isa<NoneType>(value.getType()) || isConstantValue(value); });
}

// Whether there may be algebra for it.
bool isSimplifiable(Operation *op) {
  if (isa<AddOp, SubOp, MulOp, DivOp, PowOp>(op))
    return llvm::any_of(op->getOperands(), [](Value value) {
      auto constant = value.getDefiningOp<ConstantOp>();
      auto dense = constant ? dyn_cast<DenseElementsAttr>(constant.getValue()) : DenseElementsAttr();
      return dense && dense.isSplat();
    });
  Operation *inner = op->getNumOperands() ? op->getOperand(0).getDefiningOp() : nullptr;
  if (isReshape(op))
    return isReshape(inner);
  if (isa<SliceOp>(op))
    return op->getOperand(0).getType() == op->getResult(0).getType();
  if (isa<ClipOp>(op))
    return isa<NoneType>(op->getOperand(1).getType()) && isa<NoneType>(op->getOperand(2).getType());
  return isa<NegOp, NotOp, BitwiseNotOp, ReluOp, AbsOp, FloorOp, CeilOp, RoundOp, SignOp>(op) && inner &&
         inner->getName() == op->getName();
}

GraphFeatures featuresOfCast(CastOp op) {
  GraphFeatures features;
  if (op.getInput().getDefiningOp<CastOp>())
    features |= CastChain;
  if (!op->hasOneUse())
    features |= SharedCast;
  return features;
}

GraphFeatures featuresOfKind(Operation *op) {
  return TypeSwitch<Operation *, GraphFeatures>(op)
      .Case<GemmOp>([](auto) { return Gemm; })
      .Case<GlobalAveragePoolOp, GlobalMaxPoolOp>([](auto) { return GlobalPool; })
      .Case<SplitOp>([](auto) { return Split; })
      .Case<InstanceNormalizationOp, GroupNormalizationOp, LRNOp, LpPoolOp, GlobalLpPoolOp, DepthToSpaceOp,
            SpaceToDepthOp>([](auto) { return Composite; })
      .Case<MatMulOp>([](MatMulOp op) {
        GraphFeatures features = Contraction;
        if (hasVectorOrColumn(op))
          features |= Composite;
        if (op.getLhs().getDefiningOp<TransposeOp>() && op.getRhs().getDefiningOp<TransposeOp>())
          features |= TransposedFactors;
        return features;
      })
      .Case<ConvOp, ConvTransposeOp>([](auto) { return Contraction; })
      .Case<BatchNormalizationOp>(
          [](auto op) { return op.getTrainingMode() || op->getNumResults() != 1 ? Composite : Normalization; })
      .Case<MatMulIntegerOp, QLinearMatMulOp, ConvIntegerOp, QLinearConvOp, DynamicQuantizeLinearOp>(
          [](auto) { return Quantized; })
      // Scaled sums that are quantised need not come from numbers that are.
      .Case<DequantizeLinearOp, QuantizeLinearOp>([](auto) { return Dequantized; })
      .Case<AddOp, MulOp>([](auto op) { return scalesConvolution(op) ? GraphFeatures(ScaledConv) : GraphFeatures(); })
      .Case<CastOp>(featuresOfCast)
      .Case<PadOp>([](auto) { return Padding; })
      .Case<LoopOp>([](auto) { return Loop; })
      .Case<PinOp>([](auto) { return Pin; })
      .Default([](Operation *) { return GraphFeatures(); });
}

// Numbers for values: equal ones for what equal ops compute, and others as far as a hash tells.
class Numbering {
public:
  // Whether an op like this one came before.
  bool isRepeated(Operation *op) {
    llvm::hash_code hash = llvm::hash_value(op->getName().getAsOpaquePointer());
    for (NamedAttribute attribute : op->getAttrs())
      if (attribute.getName() != "graph.name")
        hash = llvm::hash_combine(hash, attribute.getName(), attribute.getValue());
    for (Value operand : op->getOperands())
      hash = llvm::hash_combine(hash, numberOf(operand));
    for (Type type : op->getResultTypes())
      hash = llvm::hash_combine(hash, type);
    // What has regions is like nothing else.
    if (op->getNumRegions())
      hash = llvm::hash_combine(hash, op);
    for (OpResult result : op->getResults())
      numbers[result] = llvm::hash_combine(hash, result.getResultNumber());
    return !seen.insert(size_t(hash)).second && op->getNumResults() && !isConstantLike(op);
  }

private:
  size_t numberOf(Value value) {
    auto known = numbers.find(value);
    return known == numbers.end() ? size_t(llvm::hash_value(value.getAsOpaquePointer())) : known->second;
  }

  DenseMap<Value, size_t> numbers;
  DenseSet<size_t> seen;
};

} // namespace

ArrayRef<FeatureText> featureTable() {
  static const FeatureText table[] = {
      {Symbols, "symbolic sizes"},
      {Dead, "op that nobody uses"},
      {Equal, "equal ops"},
      {Neutral, "op that changes nothing"},
      {Gemm, "Gemm"},
      {GlobalPool, "global pooling"},
      {Split, "Split"},
      {Composite, "operator that others express"},
      {KnownElements, "integers that are known"},
      {Quantized, "quantised product or convolution"},
      {Dequantized, "numbers that are quantised or dequantised"},
      {Normalization, "normalisation with fixed statistics"},
      {ScaledConv, "scale or shift behind a convolution"},
      {Padding, "Pad"},
      {Loop, "loop"},
      {ManyConcats, "second concatenation"},
      {Foldable, "op over constants alone"},
      {Pin, "size that is read from data"},
      {Function, "function besides main"},
      {Contraction, "convolution or product"},
      {CastChain, "cast of a cast"},
      {SharedCast, "cast that several ops read"},
      {Simplifiable, "arithmetic with a constant number, reshape of a reshape, or op that repeats another"},
      {TransposedFactors, "product of transposed matrices"},
      {ParallelConvs, "convolutions of one input"},
      {ParallelProducts, "products of one input"},
      {Approximable, "function that has a cheaper form"},
  };
  return table;
}

GraphFeatures featuresOf(ModuleOp module) {
  GraphFeatures features;
  if (!getSymbols(module).empty())
    features |= Symbols;
  Numbering numbering;
  DenseSet<Value> convolved, multiplied;
  size_t concats = 0;
  if (!llvm::hasNItemsOrLess(module.getOps<func::FuncOp>(), 1))
    features |= Function;
  module.walk([&](Operation *op) {
    if (!isa_and_nonnull<GraphDialect>(op->getDialect()))
      return;
    features |= featuresOfKind(op);
    if (numbering.isRepeated(op))
      features |= Equal;
    if (isConstantLike(op))
      return;
    if (op->use_empty() && wouldOpBeTriviallyDead(op))
      features |= Dead;
    if (isNeutral(op))
      features |= Neutral;
    if (hasKnownElements(op))
      features |= KnownElements;
    if (readsConstantsOnly(op))
      features |= Foldable;
    if (isSimplifiable(op))
      features |= Simplifiable;
    if (isApproximable(op))
      features |= Approximable;
    if (isa<ConvOp>(op) && !convolved.insert(op->getOperand(0)).second)
      features |= ParallelConvs;
    if (isa<MatMulOp>(op) && !multiplied.insert(op->getOperand(0)).second)
      features |= ParallelProducts;
    if (auto concat = dyn_cast<ConcatOp>(op); concat && (++concats > 1 || concat.getInputs().size() > manyOperands))
      features |= ManyConcats;
  });
  return features;
}

} // namespace fathom
