// Sizes of tensors, the module's symbols, and how shape functions are run and checked.
#include "compiler/graph/Shape.h"

#include "compiler/graph/Graph.h"
#include "compiler/graph/ShapeSupport.h"
#include "compiler/graph/SmallTypes.h"
#include "compiler/graph/SymbolCache.h"
#include "mlir/IR/Builders.h"

using namespace mlir;

namespace fathom::graph {

static const SymbolCache &cacheOf(Operation *op) {
  return *op->getContext()->getLoadedDialect<GraphDialect>()->getRegisteredInterface<SymbolCache>();
}

SymbolList symbolsOf(Operation *op) {
  auto list = op->getAttrOfType<ArrayAttr>(symbolsAttrName);
  return list ? cacheOf(op).read(list) : SymbolList();
}

void setSymbols(Operation *op, const SymbolList &symbols) { op->setAttr(symbolsAttrName, cacheOf(op).write(symbols)); }

SymbolList symbolsFor(Operation *op) {
  for (; op; op = op->getParentOp())
    if (op->hasAttr(symbolsAttrName))
      return symbolsOf(op);
  return {};
}

AffineExpr addComputedSymbol(ModuleOp module, const Twine &name, int64_t max) {
  SymbolList symbols = getSymbols(module);
  symbols.push_back(Symbol{name.str(), 0, max, /*isComputed=*/true, /*likely=*/0});
  setSymbols(module, symbols);
  return getAffineSymbolExpr(symbols.size() - 1, module.getContext());
}

void collectSymbols(AffineExpr size, llvm::SmallBitVector &positions) {
  size.walk([&](AffineExpr part) {
    auto symbol = dyn_cast<AffineSymbolExpr>(part);
    if (!symbol)
      return;
    if (symbol.getPosition() >= positions.size())
      positions.resize(symbol.getPosition() + 1);
    positions.set(symbol.getPosition());
  });
}

bool isComputed(AffineExpr size, const SymbolList &symbols) {
  llvm::SmallBitVector used;
  collectSymbols(size, used);
  return llvm::any_of(used.set_bits(),
                      [&](unsigned position) { return position < symbols.size() && symbols[position].isComputed; });
}

static thread_local CollectAssumptions *collector = nullptr;
CollectAssumptions::CollectAssumptions() : outer(collector) { collector = this; }
CollectAssumptions::~CollectAssumptions() { collector = outer; }

void assumeAtLeast(AffineExpr a, AffineExpr b, const Twine &why) {
  if (collector && a && b && !(constantSize(a) && constantSize(b)))
    collector->atLeast.push_back({a, b, why.str()});
}
void assumeEqual(AffineExpr a, AffineExpr b, const Twine &why) {
  if (collector && a && b && !size::same(a, b))
    collector->equal.push_back({a, b, why.str()});
}

static bool isElementType(Type type) {
  if (isa<Float16Type, BFloat16Type, Float32Type, Float64Type>(type) || isSmall(type))
    return true;
  auto integer = dyn_cast<IntegerType>(type);
  if (!integer)
    return false;
  unsigned width = integer.getWidth();
  if (integer.isSigned()) // a string, by its number in the vocabulary
    return width == 64;
  return width == 8 || width == 16 || width == 32 || width == 64 || (width == 1 && integer.isSignless());
}

bool isGraphTensor(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor || !isElementType(tensor.getElementType()))
    return false;
  auto encoding = dyn_cast_or_null<EncodingAttr>(tensor.getEncoding());
  if (tensor.getEncoding() && !encoding)
    return false;
  if (!tensor.hasStaticShape() &&
      (!encoding || !encoding.getShape() || encoding.getShape().getNumResults() != tensor.getRank()))
    return false;
  int64_t count = 1;
  for (int64_t size : tensor.getShape()) {
    if (ShapedType::isDynamic(size))
      continue;
    if (size > maxElements || count > maxElements / std::max<int64_t>(size, 1))
      return false;
    count *= std::max<int64_t>(size, 1);
  }
  return true;
}

Sizes sizesOf(RankedTensorType type) {
  Sizes sizes;
  auto encoding = dyn_cast_or_null<EncodingAttr>(type.getEncoding());
  AffineMap map = encoding ? encoding.getShape() : AffineMap();
  for (auto [dim, size] : llvm::enumerate(type.getShape()))
    sizes.push_back(map && dim < map.getNumResults() ? map.getResult(dim)
                                                     : getAffineConstantExpr(size, type.getContext()));
  return sizes;
}

AffineMap shapeMapOf(ArrayRef<AffineExpr> sizes, MLIRContext *context) {
  unsigned symbols = 0;
  for (AffineExpr size : sizes)
    size.walk([&](AffineExpr part) {
      if (auto symbol = dyn_cast<AffineSymbolExpr>(part))
        symbols = std::max(symbols, symbol.getPosition() + 1);
    });
  return AffineMap::get(0, symbols, sizes, context);
}

static RankedTensorType tensorOf(ArrayRef<AffineExpr> sizes, Type element, EncodingAttr layout) {
  SmallVector<int64_t> shape;
  for (AffineExpr size : sizes)
    shape.push_back(constantSize(size).value_or(ShapedType::kDynamic));
  AffineMap map = ShapedType::isDynamicShape(shape) ? shapeMapOf(sizes, element.getContext()) : AffineMap();
  EncodingAttr encoding;
  if (layout && layout.hasLayout())
    encoding = EncodingAttr::get(element.getContext(), map, layout.getOrder(), layout.getBlock(), layout.getHalo(),
                                 layout.getRoom());
  else if (map)
    encoding = EncodingAttr::get(element.getContext(), map, {}, 0, {}, {});
  return RankedTensorType::get(shape, element, encoding);
}
RankedTensorType tensorOf(ArrayRef<AffineExpr> sizes, Type element) { return tensorOf(sizes, element, EncodingAttr()); }
RankedTensorType withoutLayout(RankedTensorType type) { return tensorOf(sizesOf(type), type.getElementType()); }

std::optional<int64_t> constantSize(AffineExpr size) {
  auto constant = dyn_cast_or_null<AffineConstantExpr>(size);
  return constant ? std::optional(constant.getValue()) : std::nullopt;
}
bool isConstant(AffineExpr size, int64_t value) { return constantSize(size) == value; }

AffineExpr product(ArrayRef<AffineExpr> sizes, MLIRContext *context) {
  AffineExpr result = getAffineConstantExpr(1, context);
  for (AffineExpr size : sizes)
    result = size::mul(result, size);
  return result;
}

std::optional<int64_t> normalizeAxis(int64_t axis, int64_t rank) {
  if (axis < -rank || axis >= rank)
    return std::nullopt;
  return axis < 0 ? axis + rank : axis;
}

// The op must come after what it uses before shape functions may look at its operands: the verifier checks that only
// later.
static bool followsItsOperands(Operation *op) {
  for (Value operand : op->getOperands())
    if (Operation *definition = operand.getDefiningOp()) {
      Operation *ancestor = definition->getBlock() ? definition->getBlock()->findAncestorOpInBlock(*op) : nullptr;
      if (!ancestor || !definition->isBeforeInBlock(ancestor))
        return false;
    }
  return true;
}

static bool sameSizes(ArrayRef<AffineExpr> a, ArrayRef<AffineExpr> b) {
  return a.size() == b.size() &&
         llvm::all_of(llvm::zip(a, b), [](auto pair) { return size::same(std::get<0>(pair), std::get<1>(pair)); });
}

static LogicalResult checkResultCount(Operation *op, size_t expected) {
  if (op->getNumResults() == expected)
    return success();
  return emitError(op, ErrorCode::BadGraph)
         << "gives " << expected << " results, but " << op->getNumResults() << " are taken";
}

LogicalResult verifyShapes(Operation *op) {
  if (!followsItsOperands(op))
    return op->emitOpError("uses a value before its definition");
  SmallVector<Type> types;
  if (failed(cast<ShapeOpInterface>(op).inferTypes(types)) || failed(checkResultCount(op, types.size())))
    return failure();
  for (auto [index, inferred, type] : llvm::enumerate(types, op->getResultTypes())) {
    auto expected = cast<RankedTensorType>(inferred), actual = cast<RankedTensorType>(type);
    if (expected.getElementType() != actual.getElementType() || !sameSizes(sizesOf(expected), sizesOf(actual)))
      return emitError(op, ErrorCode::Internal)
             << "result " << index << " has type " << withoutLayout(actual) << " where the operands give " << expected;
  }
  return success();
}

// Operands that ONNX does not let a model leave out.
static unsigned requiredOperands(Operation *op) {
  return llvm::TypeSwitch<Operation *, unsigned>(op)
      .Case<SqueezeOp, SplitOp, TriluOp, ResizeOp, ClipOp, ReduceProdOp>([](auto) { return 1; })
      .Case<ReduceL1Op, ReduceL2Op, ReduceLogSumOp, ReduceLogSumExpOp, ReduceMaxOp, ReduceMeanOp, ReduceMinOp,
            ReduceSumOp, ReduceSumSquareOp>([](auto) { return 1; })
      .Case<GemmOp, ConvOp, WinogradConvOp, StrassenOp, ConvTransposeOp, PadOp, LayerNormalizationOp, QuantizeLinearOp,
            DequantizeLinearOp, TensorScatterOp, MatMulIntegerOp, ConvIntegerOp>([](auto) { return 2; })
      .Case<SliceOp, MatMulNBitsOp>([](auto) { return 3; })
      .Case<NonMaxSuppressionOp>([](auto) { return 4; })
      .Case<QLinearConvOp>([](auto) { return 8; })
      .Default([](Operation *op) { return op->getNumOperands(); });
}

LogicalResult inferResultTypes(Operation *op) {
  auto shaped = dyn_cast<ShapeOpInterface>(op);
  if (!shaped)
    return emitError(op, ErrorCode::Internal) << "has no shape function";
  // The op may come straight from a model and not be verified yet.
  unsigned required = requiredOperands(op);
  for (auto [index, type] : llvm::enumerate(op->getOperandTypes()))
    if (!isGraphTensor(type) && (!isa<NoneType>(type) || index < required))
      return isa<NoneType>(type)
                 ? emitError(op, ErrorCode::BadGraph) << "input " << index << " is missing"
                 : emitError(op, ErrorCode::UnsupportedType) << "input " << index << " has type " << type;
  narrowSymbols(op, {});
  SmallVector<Type> types;
  if (failed(shaped.inferTypes(types)) || failed(checkResultCount(op, types.size())))
    return failure();
  narrowSymbols(op, types);
  for (auto [result, type] : llvm::zip_equal(op->getResults(), types)) {
    auto inferred = cast<RankedTensorType>(type);
    auto current = dyn_cast<RankedTensorType>(result.getType());
    auto encoding = current ? dyn_cast_or_null<EncodingAttr>(current.getEncoding()) : EncodingAttr();
    if (encoding && encoding.hasLayout() && sameSizes(sizesOf(current), sizesOf(inferred)))
      inferred = tensorOf(sizesOf(inferred), inferred.getElementType(), encoding);
    if (current != inferred)
      result.setType(inferred);
  }
  return success();
}

} // namespace fathom::graph
