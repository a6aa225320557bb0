// Products and convolutions of halves, whose sums are still of single precision, and between them what loses nothing by
// it. Inputs and results of the model keep their types: there are casts where one becomes the other.
#include "compiler/passes/Passes.h"

#include "mlir/IR/DialectResourceBlobManager.h"

using namespace mlir;
using namespace fathom::graph;

namespace fathom {
#define GEN_PASS_DEF_TOMIXEDPRECISIONPASS
#include "compiler/passes/Passes.h.inc"

namespace {

// Always of halves.
bool isProduct(Operation *op) { return isa<ConvOp, ConvTransposeOp, GemmOp, MatMulOp>(op); }

// Of halves where what they read is: they move numbers, or make each of a few near it. All others, whose results may
// be much larger, much smaller or sums of many, never are.
bool canFollow(Operation *op) {
  return isa<AbsOp, AddOp, ClipOp, ConcatOp, ExpandOp, FlattenOp, GatherOp, HardSigmoidOp, HardSwishOp, IdentityOp,
             LeakyReluOp, MaxOp, MaxPoolOp, MinOp, MulOp, NegOp, PReluOp, PadOp, ReluOp, ReshapeOp, SliceOp, SplitOp,
             SqueezeOp, SubOp, TransposeOp, UnsqueezeOp>(op);
}

bool isSingle(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && type.getElementType().isF32();
}

class Narrowing {
public:
  explicit Narrowing(Type type) : type(type) {}

  LogicalResult narrow(Operation *op) {
    SmallVector<OpResult> results = llvm::to_vector(llvm::make_filter_range(op->getResults(), isSingle));
    if (!(isProduct(op) || follows(op)) || results.empty() || !fitsAll(op))
      return success();
    OpBuilder b(op);
    for (OpOperand &operand : op->getOpOperands())
      if (isSingle(operand.get()))
        operand.set(narrowed(b, operand.get(), op, operand.getOperandNumber()));
    if (failed(inferResultTypes(op)))
      return failure();
    b.setInsertionPointAfter(op);
    for (OpResult result : results) {
      auto wide = createNamed<CastOp>(b, op, ".wide", result, TypeAttr::get(b.getF32Type()));
      result.replaceAllUsesExcept(wide, wide);
      narrowOf[wide.getResult()] = result;
      casts.push_back(wide);
    }
    return success();
  }

  // Those that nobody reads any more.
  void removeCasts() {
    for (CastOp cast : llvm::reverse(casts))
      if (cast->use_empty())
        cast->erase();
  }

private:
  bool follows(Operation *op) const {
    bool readsOne = false;
    for (Value operand : op->getOperands()) {
      if (!isSingle(operand))
        continue;
      bool isOne = narrowOf.contains(operand);
      if (!isOne && !operand.getDefiningOp<ConstantOp>())
        return false;
      readsOne |= isOne;
    }
    return canFollow(op) && readsOne;
  }

  // A number that the type has not would be infinite, which masks of attention must not be.
  bool fitsAll(Operation *op) {
    return llvm::all_of(op->getOperands(), [&](Value operand) {
      auto constant = operand.getDefiningOp<ConstantOp>();
      return !constant || !isSingle(operand) || fits(constant.getValue());
    });
  }
  bool fits(ElementsAttr value) {
    auto [known, isNew] = fitting.try_emplace(value, true);
    if (!isNew)
      return known->second;
    auto &semantics = cast<FloatType>(type).getFloatSemantics();
    float largest = APFloat::getLargest(semantics).convertToDouble();
    auto isLarge = [&](float number) { return std::abs(number) > largest; };
    if (auto dense = dyn_cast<DenseElementsAttr>(value))
      known->second = llvm::none_of(dense.getValues<float>(), isLarge);
    else if (auto resource = dyn_cast<DenseResourceElementsAttr>(value);
             AsmResourceBlob *blob = resource ? resource.getRawHandle().getBlob() : nullptr)
      for (ArrayRef<char> data = blob->getData(); data.size() >= sizeof(float); data = data.drop_front(sizeof(float))) {
        float number;
        std::memcpy(&number, data.data(), sizeof number);
        known->second &= !isLarge(number);
      }
    return known->second;
  }

  Value narrowed(OpBuilder &b, Value wide, Operation *reader, unsigned operand) {
    if (Value known = narrowOf.lookup(wide))
      return known;
    // One cast for all that read it in a block: they stand behind the first of them.
    Value &known = castsOf[{wide, reader->getBlock()}];
    if (!known)
      known = createNamed<CastOp>(b, reader, ".narrow" + std::to_string(operand), wide, TypeAttr::get(type));
    return known;
  }

  Type type;
  DenseMap<Value, Value> narrowOf; // the halves that a value was widened from
  DenseMap<std::pair<Value, Block *>, Value> castsOf;
  DenseMap<Attribute, bool> fitting;
  SmallVector<CastOp> casts;
};

struct ToMixedPrecisionPass : impl::ToMixedPrecisionPassBase<ToMixedPrecisionPass> {
  using ToMixedPrecisionPassBase::ToMixedPrecisionPassBase;

  StringRef problem() const override {
    return type == "f16" || type == "bf16" ? "" : "there is type=f16 and type=bf16";
  }

  LogicalResult runOnFunction(func::FuncOp function) override {
    Builder b(&getContext());
    Narrowing narrowing(type == "bf16" ? Type(b.getBF16Type()) : Type(b.getF16Type()));
    SmallVector<Operation *> ops;
    function.walk<WalkOrder::PreOrder>([&](Operation *op) { ops.push_back(op); });
    for (Operation *op : ops)
      if (failed(narrowing.narrow(op)))
        return failure();
    narrowing.removeCasts();
    return settleTypes(function);
  }
};

} // namespace
} // namespace fathom
