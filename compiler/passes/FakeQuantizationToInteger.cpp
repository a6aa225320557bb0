// Dequantise, compute, quantise as computing with the numbers themselves: products and convolutions with constant
// weights become sums of products of bytes, with the scales behind them; what only moves or chooses elements moves
// numbers.
#include "compiler/graph/ByteProducts.h"
#include "compiler/graph/SizeMath.h"
#include "compiler/passes/Decompose.h"
#include "compiler/passes/IntegerProducts.h"
#include "mlir/IR/IRMapping.h"
#include <cmath>

using namespace mlir;
using namespace fathom::graph;

namespace fathom {
#define GEN_PASS_DEF_FAKEQUANTIZATIONTOINTEGERPASS
#include "compiler/passes/Passes.h.inc"

namespace {

RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }
Type elementOf(Value value) { return typeOf(value).getElementType(); }
bool isAbsent(Value value) { return !value || isa<NoneType>(value.getType()); }
bool isSingle(Value value) { return typeOf(value).hasStaticShape() && typeOf(value).getNumElements() == 1; }
bool isByte(Value value) { return elementOf(value).isInteger(8); }

bool areEqual(Value x, Value y) {
  if (x == y)
    return true;
  auto a = constantFloats(x), b = constantFloats(y);
  return a && a == b;
}

// Whether two zero points are the same number of the same type.
bool areSameZeros(Value x, Value y) {
  auto a = onlyNumber(x), b = onlyNumber(y);
  return x == y || (a && a == b);
}

class Integers {
public:
  Integers(MLIRContext *context, const Target &target, bool isStrict)
      : b(context), target(target), isStrict(isStrict) {}

  void convert(func::FuncOp function) {
    SmallVector<Operation *> ops;
    auto overOps = [&](void (Integers::*step)(Operation *)) {
      ops.clear();
      function.walk([&](Operation *op) { ops.push_back(op); });
      for (Operation *op : ops) {
        b.setInsertionPoint(op);
        (this->*step)(op);
      }
      for (Operation *op : llvm::reverse(dead))
        if (op->use_empty())
          op->erase();
      dead.clear();
    };
    if (!isStrict)
      overOps(&Integers::dropSigns);
    overOps(&Integers::moveNumbers);
    overOps(&Integers::multiplyBytes);
    if (!isStrict)
      overOps(&Integers::quantizeSums);
    overOps(&Integers::dequantizeLate);
  }

private:
  void replace(Operation *op, Value by) {
    op->getResult(0).replaceAllUsesWith(by);
    dead.push_back(op);
  }

  // Numbers with a sign that are only dequantised are kept without one: their zero point moves along.
  void dropSigns(Operation *op) {
    auto quantize = dyn_cast<QuantizeLinearOp>(op);
    if (!quantize || !elementOf(quantize).isSignlessInteger(8) || isAbsent(quantize.getZeroPoint()))
      return;
    std::optional<int64_t> zero = onlyNumber(quantize.getZeroPoint());
    auto readers = llvm::to_vector(quantize->getUsers());
    bool areSame = zero && !readers.empty() && llvm::all_of(readers, [&](Operation *reader) {
                     auto dequantize = dyn_cast<DequantizeLinearOp>(reader);
                     return dequantize && dequantize.getInput() == quantize.getResult() &&
                            onlyNumber(dequantize.getZeroPoint()) == zero;
                   });
    if (!areSame)
      return;
    Type ui8 = b.getIntegerType(8, /*isSigned=*/false);
    auto type = RankedTensorType::get(typeOf(quantize.getZeroPoint()).getShape(), ui8);
    Value moved = makeConstant(b, op, DenseElementsAttr::get(type, b.getIntegerAttr(ui8, *zero + 128)));
    auto made = createNamed<QuantizeLinearOp>(b, op, "", quantize.getInput(), quantize.getScale(), moved);
    // Readers go first: what has another user is not divided ahead.
    dead.push_back(op);
    for (Operation *reader : readers) {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPoint(reader);
      Value scale = cast<DequantizeLinearOp>(reader).getScale();
      replace(reader, createNamed<DequantizeLinearOp>(b, reader, "", made, scale, moved));
    }
  }

  // What moves elements, or takes the largest of them, does so with numbers of one scale.
  static bool commutes(Operation *op) {
    if (auto pool = dyn_cast<MaxPoolOp>(op))
      return !pool.getIndices();
    return isReshape(op) || isa<TransposeOp, SliceOp, GatherOp, ExpandOp>(op);
  }

  DequantizeLinearOp dequantizedByOne(Value value) {
    auto dequantize = value.getDefiningOp<DequantizeLinearOp>();
    if (!dequantize || !isByte(dequantize.getInput()) || !isSingle(dequantize.getScale()))
      return {};
    auto scale = constantFloats(dequantize.getScale());
    bool hasZero = isAbsent(dequantize.getZeroPoint()) || isSingle(dequantize.getZeroPoint());
    return scale && scale->front() > 0 && hasZero ? dequantize : DequantizeLinearOp();
  }

  void moveNumbers(Operation *op) {
    if (auto quantize = dyn_cast<QuantizeLinearOp>(op)) {
      DequantizeLinearOp before = dequantizedByOne(quantize.getInput());
      if (before && before.getInput().getType() == quantize.getType() &&
          areEqual(before.getScale(), quantize.getScale()) &&
          areSameZeros(before.getZeroPoint(), quantize.getZeroPoint()))
        replace(op, before.getInput());
      return;
    }
    if (auto concat = dyn_cast<ConcatOp>(op); concat || commutes(op))
      moveNumbersThrough(op, concat ? op->getNumOperands() : 1);
  }

  void moveNumbersThrough(Operation *op, unsigned operands) {
    DequantizeLinearOp first = dequantizedByOne(op->getOperand(0));
    IRMapping numbers;
    for (Value operand : op->getOperands().take_front(operands)) {
      DequantizeLinearOp dequantize = dequantizedByOne(operand);
      if (!first || !dequantize || elementOf(dequantize.getInput()) != elementOf(first.getInput()) ||
          !areEqual(dequantize.getScale(), first.getScale()) ||
          !areSameZeros(dequantize.getZeroPoint(), first.getZeroPoint()))
        return;
      numbers.map(operand, dequantize.getInput());
    }
    Operation *moved = b.clone(*op, numbers);
    nameAfter(moved, op, ".numbers");
    (void)inferResultTypes(moved);
    // Scales of one element broadcast to everything.
    Value scale = asScalar(op, first.getScale(), ".scale"), zero = first.getZeroPoint();
    replace(op, createNamed<DequantizeLinearOp>(b, op, "", moved->getResult(0), scale,
                                                isAbsent(zero) ? zero : asScalar(op, zero, ".zero")));
  }

  Value asScalar(Operation *like, Value value, StringRef suffix) {
    return typeOf(value).getRank() ? reshape(b, like, suffix, value, {}) : value;
  }

  void multiplyBytes(Operation *op) {
    TypeSwitch<Operation *>(op)
        .Case([&](ConvOp conv) { convolve(conv); })
        .Case([&](MatMulOp product) { multiply(product, product.getLhs(), product.getRhs(), false, Value()); })
        .Case([&](GemmOp gemm) {
          if (!gemm.getTransA() && gemm.getAlpha().isExactlyValue(1) && gemm.getBeta().isExactlyValue(1))
            multiply(gemm, gemm.getLhs(), gemm.getRhs(), gemm.getTransB(), gemm.getBias());
        })
        .Case([&](QLinearConvOp conv) { convolve(conv); })
        .Case([&](QLinearMatMulOp product) { multiply(product); })
        .Case([&](ConvIntegerOp conv) {
          ByteFactors factors{conv.getInput(), conv.getInputZeroPoint(), conv.getWeight(), conv.getWeightZeroPoint()};
          if (takes(op, factors, 1, conv.getGroup()) && (isAbsent(factors.leftZero) || isSingle(factors.leftZero)))
            replace(op, byteConv(b, op, factors, Value(), conv.getGroup(), target));
        })
        .Case([&](MatMulIntegerOp product) {
          ByteFactors factors{product.getLhs(), product.getLhsZeroPoint(), product.getRhs(), product.getRhsZeroPoint()};
          if (takesMatrices(op, factors))
            replace(op, byteMatMul(b, op, factors, target));
        });
  }

  // Notes why not.
  bool takes(Operation *op, const ByteFactors &factors, int64_t depth, int64_t group) {
    std::string why = whyNotBytes(factors, depth, group);
    if (!why.empty())
      op->setAttr(whyFloatAttribute, b.getStringAttr(why));
    return why.empty();
  }
  bool takesMatrices(Operation *op, const ByteFactors &factors) {
    return typeOf(factors.left).getRank() >= 2 && typeOf(factors.right).getRank() == 2 && takes(op, factors, 0, 1);
  }

  Value asFloats(Operation *like, Value sums, Type element) {
    return createNamed<CastOp>(b, like, ".float", sums, TypeAttr::get(element));
  }
  // The scale of sums: that of the left factors, of which there is one, times those of the weights in this shape.
  Value scaleOfSums(Operation *like, Value left, Value right, ArrayRef<int64_t> shape) {
    SmallVector<AffineExpr> sizes;
    for (int64_t size : shape)
      sizes.push_back(b.getAffineConstantExpr(size));
    Value shaped =
        isSingle(right) ? asScalar(like, right, ".weight.scale") : reshape(b, like, ".weight.scale", right, sizes);
    return createNamed<MulOp>(b, like, ".scale", asScalar(like, left, ".left.scale"), shaped);
  }

  // The numbers of a bias that has the scale of the sums, column by column; null for any other, and where a sum with
  // them might need more than 32 bits, as with those that a quantiser has clipped.
  Value numbersOf(Value bias, Value left, Value right, Value weights, int64_t depth) {
    auto dequantize = isAbsent(bias) ? DequantizeLinearOp() : bias.getDefiningOp<DequantizeLinearOp>();
    if (!dequantize || !elementOf(dequantize.getInput()).isSignlessInteger(32) ||
        onlyNumber(dequantize.getZeroPoint()) != 0)
      return {};
    auto mine = constantFloats(dequantize.getScale()), one = constantFloats(left), each = constantFloats(right);
    if (!mine || !one || !each || mine->empty() || each->empty() || one->size() != 1)
      return {};
    bool isByColumns = mine->size() == 1 || typeOf(dequantize.getScale()).getShape().back() != 1;
    if (!isByColumns || !fitsSums(dequantize.getInput(), weights, depth))
      return {};
    for (size_t i = 0; i < std::max(mine->size(), each->size()); ++i) {
      float scale = one->front() * each->at(each->size() == 1 ? 0 : i % each->size());
      if (mine->at(mine->size() == 1 ? 0 : i % mine->size()) != scale)
        return {};
    }
    return dequantize.getInput();
  }

  // Sums less what an integer bias adds, as floats with the rest of the bias.
  Value scaled(Operation *op, Value sums, Value scale, Value bias) {
    bool isLast = isAbsent(bias);
    Value product = createNamed<MulOp>(b, op, isLast ? "" : ".scaled", asFloats(op, sums, elementOf(scale)), scale);
    return isLast ? product : createNamed<AddOp>(b, op, "", product, bias).getResult();
  }

  // A machine that widens bytes to multiply them does as many products at a time as it does of floats, and in tiles of
  // floats there are fewer.
  bool isFasterInTiles(ConvOp conv) {
    constexpr int64_t fewest = 16; // channels, with which transforms cost less than they save
    FailureOr<Window> window = getWindow(conv);
    auto are = [](ArrayRef<int64_t> values, int64_t all) {
      return llvm::all_of(values, [&](int64_t value) { return value == all; });
    };
    ArrayRef<int64_t> weight = typeOf(conv.getWeight()).getShape();
    return target.byteProduct() == ByteProduct::Pairs && succeeded(window) && weight.size() == 4 &&
           conv.getGroup() == 1 && are(window->kernel, 3) && are(window->strides, 1) && are(window->dilations, 1) &&
           std::min(weight[0], weight[1]) >= fewest;
  }

  static bool isScaledBySums(DequantizeLinearOp left, DequantizeLinearOp right, int64_t columns) {
    Value scale = right.getScale();
    return isSingle(left.getScale()) && elementOf(scale).isF32() && elementOf(left.getScale()).isF32() &&
           typeOf(scale).hasStaticShape() && (isSingle(scale) || typeOf(scale).getNumElements() == columns);
  }

  // Whether weights have a scale for each output channel, and not along another axis that is as long.
  static bool isOfOutputs(Value scale, int64_t rank, int64_t columns) {
    RankedTensorType type = typeOf(scale);
    return type.hasStaticShape() && type.getRank() == rank && type.getDimSize(0) == columns &&
           type.getNumElements() == columns;
  }

  // Whose products and reciprocal are far from what single precision cannot hold.
  static bool isOrdinary(float scale) { return scale > 1e-18f && scale < 1e18f; }

  // The largest magnitude of constant weights, or no less than it where they are bytes and a scale; nothing where it is
  // not known. That of what is no number is infinite.
  static std::optional<float> largestOf(Value weight) {
    auto dequantize = weight.getDefiningOp<DequantizeLinearOp>();
    if (dequantize && !isByte(dequantize.getInput()))
      return std::nullopt;
    auto floats = constantFloats(dequantize ? dequantize.getScale() : weight);
    if (!floats)
      return std::nullopt;
    float largest = 0;
    for (float value : *floats)
      largest = std::isnan(value) ? INFINITY : std::max(largest, std::fabs(value));
    return dequantize ? 255 * largest : largest;
  }

  // A convolution of single channels is one of floats, but may read the numbers: their scale goes into the weights.
  void widenImage(ConvOp conv, DequantizeLinearOp left) {
    RankedTensorType weight = typeOf(conv.getWeight());
    auto scale = constantFloats(left.getScale());
    std::optional<int64_t> zero = onlyNumber(left.getZeroPoint());
    bool isOfSingleChannels = conv.getGroup() > 1 && weight.getDimSize(1) == 1 && weight.getElementType().isF32() &&
                              weight.getDimSize(0) == conv.getGroup();
    auto largest = largestOf(conv.getWeight());
    bool isScaled = scale && scale->size() == 1 && isOrdinary(scale->front()) && largest &&
                    (*largest == 0 || isOrdinary(scale->front() * *largest));
    if (!isOfSingleChannels || !isScaled || !zero || !isByte(left.getInput()) || !isWeightValue(conv.getWeight()))
      return;
    auto cast = [&](Value value, Type element, StringRef suffix) {
      return createNamed<CastOp>(b, conv, suffix, value, TypeAttr::get(element)).getResult();
    };
    Value numbers = left.getInput();
    if (*zero) {
      Type i32 = b.getI32Type();
      auto moved = DenseElementsAttr::get(RankedTensorType::get({}, i32), int32_t(*zero));
      numbers = createNamed<SubOp>(b, conv, ".centred", cast(numbers, i32, ".i32"), makeConstant(b, conv, moved));
    }
    auto scaled = createNamed<MulOp>(b, conv, ".weight.scaled", conv.getWeight(),
                                     asScalar(conv, left.getScale(), ".image.scale"));
    scaled->setAttr("graph.ahead", b.getUnitAttr());
    conv.getInputMutable().assign(cast(numbers, b.getF32Type(), ".numbers"));
    conv.getWeightMutable().assign(scaled);
  }

  void convolve(ConvOp conv) {
    auto left = conv.getInput().getDefiningOp<DequantizeLinearOp>(),
         right = conv.getWeight().getDefiningOp<DequantizeLinearOp>();
    if (left && !isStrict)
      widenImage(conv, left);
    if (!left || !right || quadsOf(conv))
      return;
    if (isStrict)
      return conv->setAttr(whyFloatAttribute, b.getStringAttr("--fp strict asks for the model's own arithmetic")),
             void();
    ByteFactors factors{left.getInput(), left.getZeroPoint(), right.getInput(), right.getZeroPoint()};
    int64_t rank = conv.getType().getRank(), columns = typeOf(factors.right).getDimSize(0);
    bool isScaled = !ShapedType::isDynamic(columns) && isScaledBySums(left, right, columns) &&
                    (isAbsent(factors.leftZero) || isSingle(factors.leftZero)) &&
                    (isSingle(right.getScale()) || isOfOutputs(right.getScale(), rank, columns));
    if (!isScaled || !takes(conv, factors, 1, conv.getGroup()))
      return;
    if (isFasterInTiles(conv))
      return conv->setAttr(whyFloatAttribute, b.getStringAttr("Winograd's tiles take fewer instructions than the "
                                                              "target has for products of bytes")),
             void();
    Value bias = numbersOf(conv.getBias(), left.getScale(), right.getScale(), factors.right, 1);
    Value sums = byteConv(b, conv, factors, bias, conv.getGroup(), target);
    SmallVector<int64_t> shape(rank - 1, 1);
    shape[0] = columns;
    Value rest = bias || isAbsent(conv.getBias()) ? Value() : conv.getBias();
    if (rest)
      rest = reshape(b, conv, ".bias.shaped", rest, constantSizes(shape));
    replace(conv, scaled(conv, sums, scaleOfSums(conv, left.getScale(), right.getScale(), shape), rest));
  }

  SmallVector<AffineExpr> constantSizes(ArrayRef<int64_t> shape) {
    return llvm::map_to_vector(shape, [&](int64_t size) { return b.getAffineConstantExpr(size); });
  }

  void multiply(Operation *op, Value lhs, Value rhs, bool isTransposed, Value given) {
    auto left = lhs.getDefiningOp<DequantizeLinearOp>(), right = rhs.getDefiningOp<DequantizeLinearOp>();
    if (!left || !right || quadsOf(op))
      return;
    if (isStrict)
      return op->setAttr(whyFloatAttribute, b.getStringAttr("--fp strict asks for the model's own arithmetic")), void();
    ByteFactors factors{left.getInput(), left.getZeroPoint(), right.getInput(), right.getZeroPoint()};
    if (typeOf(factors.right).getRank() != 2)
      return;
    int64_t columns = typeOf(factors.right).getDimSize(isTransposed ? 0 : 1);
    ArrayRef<int64_t> scales = typeOf(right.getScale()).getShape();
    bool isAlongColumns = isSingle(right.getScale()) ||
                          (isTransposed ? scales.size() == 2 && scales[0] == columns : scales.back() == columns);
    if (!isScaledBySums(left, right, columns) || !isAlongColumns)
      return;
    if (isTransposed) {
      auto turned = [&](Value value, StringRef suffix) {
        auto op = createNamed<TransposeOp>(b, left, suffix, value, b.getDenseI64ArrayAttr({1, 0}));
        op->setAttr("graph.ahead", b.getUnitAttr());
        return op.getResult();
      };
      if (takes(op, factors, 1, 1)) {
        factors.right = turned(factors.right, ".weight.turned");
        if (!isAbsent(factors.rightZero) && typeOf(factors.rightZero).getRank() == 2)
          factors.rightZero = turned(factors.rightZero, ".weight.zero.turned");
      }
    } else {
      takes(op, factors, 0, 1);
    }
    if (op->hasAttr(whyFloatAttribute) || typeOf(factors.left).getRank() < 2)
      return;
    Value bias = numbersOf(given, left.getScale(), right.getScale(), factors.right, 0);
    Value sums = byteMatMul(b, op, factors, target);
    if (bias)
      sums = createNamed<AddOp>(b, op, ".biased", sums, bias);
    replace(op,
            scaled(op, sums, scaleOfSums(op, left.getScale(), right.getScale(), {columns}), bias ? Value() : given));
  }

  // ONNX's own definition: the quotient of scales is a float, and numbers are rounded once, the zero point added. The
  // reference has the product in double precision.
  Value requantized(Operation *op, Value sums, Value scale, Value resultScale, Value resultZero) {
    Value by = createNamed<DivOp>(b, op, ".requantized.scale", scale, asScalar(op, resultScale, ".result.scale"));
    Value zero = asScalar(op, resultZero, ".result.zero");
    Type element = isStrict ? Type(b.getF64Type()) : elementOf(scale);
    if (!isStrict) {
      Value product = createNamed<MulOp>(b, op, ".scaled", asFloats(op, sums, element), by);
      return createNamed<QuantizeLinearOp>(b, op, "", product, makeScalar(b, op, element, 1), zero);
    }
    auto wide = [&](Value value, StringRef suffix) {
      return createNamed<CastOp>(b, op, suffix, value, TypeAttr::get(element)).getResult();
    };
    Value product = createNamed<MulOp>(b, op, ".scaled", wide(sums, ".float"), wide(by, ".scale.double"));
    Value moved = createNamed<AddOp>(b, op, ".moved", product, wide(zero, ".zero.double"));
    Value rounded = createNamed<RoundOp>(b, op, ".rounded", moved);
    bool isUnsigned = elementOf(zero).isUnsignedInteger();
    Value limited = createNamed<ClipOp>(b, op, ".limited", rounded, makeScalar(b, op, element, isUnsigned ? 0 : -128),
                                        makeScalar(b, op, element, isUnsigned ? 255 : 127));
    return createNamed<CastOp>(b, op, "", limited, TypeAttr::get(elementOf(zero)));
  }

  void convolve(QLinearConvOp conv) {
    ByteFactors factors{conv.getInput(), conv.getInputZeroPoint(), conv.getWeight(), conv.getWeightZeroPoint()};
    int64_t rank = conv.getType().getRank(), columns = typeOf(factors.right).getDimSize(0);
    Value scale = conv.getWeightScale();
    bool isScaled = elementOf(scale).isF32() && (isSingle(scale) || isOfOutputs(scale, rank, columns)) &&
                    isSingle(conv.getInputScale()) && isSingle(conv.getScale()) && isSingle(conv.getZeroPoint()) &&
                    isSingle(factors.leftZero);
    if (!isScaled || !takes(conv, factors, 1, conv.getGroup()))
      return;
    Value bias = isAbsent(conv.getBias()) ? Value() : conv.getBias();
    Value sums = byteConv(b, conv, factors, bias, conv.getGroup(), target);
    SmallVector<int64_t> shape(rank - 1, 1);
    shape[0] = columns;
    replace(conv, requantized(conv, sums, scaleOfSums(conv, conv.getInputScale(), scale, shape), conv.getScale(),
                              conv.getZeroPoint()));
  }

  void multiply(QLinearMatMulOp op) {
    ByteFactors factors{op.getLhs(), op.getLhsZeroPoint(), op.getRhs(), op.getRhsZeroPoint()};
    int64_t rank = typeOf(factors.right).getRank(), columns = rank ? typeOf(factors.right).getShape().back() : 1;
    Value scale = op.getRhsScale();
    auto isOfColumns = [&](RankedTensorType type) {
      return type.hasStaticShape() && type.getNumElements() == columns && type.getShape().back() == columns;
    };
    bool isScaled = elementOf(scale).isF32() && (isSingle(scale) || isOfColumns(typeOf(scale))) &&
                    isSingle(op.getLhsScale()) && isSingle(op.getScale()) && isSingle(op.getZeroPoint());
    if (!isScaled || !takesMatrices(op, factors))
      return;
    Value sums = byteMatMul(b, op, factors, target);
    replace(op, requantized(op, sums, scaleOfSums(op, op.getLhsScale(), scale, {columns}), op.getScale(),
                            op.getZeroPoint()));
  }

  // Scaled sums that are only quantised: the scales are divided ahead. A limit that numbers have anyway is none.
  void quantizeSums(Operation *op) {
    auto quantize = dyn_cast<QuantizeLinearOp>(op);
    if (!quantize || !isByte(quantize) || !isSingle(quantize.getScale()) || isAbsent(quantize.getZeroPoint()))
      return;
    Value input = quantize.getInput();
    bool isUnsigned = elementOf(quantize).isUnsignedInteger();
    auto scale = constantFloats(quantize.getScale());
    auto zero = onlyNumber(quantize.getZeroPoint());
    int64_t least = isUnsigned ? 0 : -128;
    if (!scale || !zero || !(scale->front() > 0))
      return;
    if (auto relu = input.getDefiningOp<ReluOp>(); relu && *zero == least && relu->hasOneUse())
      input = relu.getInput();
    Value inSteps = dividedAhead(quantize, input);
    if (!inSteps)
      inSteps = timesReciprocal(quantize, input, scale->front());
    if (inSteps)
      replace(op, createNamed<QuantizeLinearOp>(b, op, "", inSteps, makeScalar(b, op, b.getF32Type(), 1),
                                                quantize.getZeroPoint()));
  }

  // Scaled sums, and what is added to them, by a scale that is divided by the quantiser's; null for anything else.
  Value dividedAhead(QuantizeLinearOp quantize, Value input) {
    auto add = input.getDefiningOp<AddOp>();
    Value shift = add && input.hasOneUse() && isWeightValue(add.getRhs()) ? add.getRhs() : Value();
    if (shift)
      input = add.getLhs();
    auto scaled = input.getDefiningOp<MulOp>();
    auto sums = scaled ? scaled.getLhs().getDefiningOp<CastOp>() : CastOp();
    if (!sums || !input.hasOneUse() || !elementOf(sums.getInput()).isSignlessInteger(32) ||
        !isWeightValue(scaled.getRhs()))
      return {};
    Value steps = asScalar(quantize, quantize.getScale(), ".result.scale");
    Value by = createNamed<DivOp>(b, quantize, ".requantized.scale", scaled.getRhs(), steps);
    Value product = createNamed<MulOp>(b, quantize, ".requantized", sums, by);
    return shift ? createNamed<AddOp>(b, quantize, ".shifted", product,
                                      createNamed<DivOp>(b, quantize, ".requantized.shift", shift, steps))
                       .getResult()
                 : product;
  }

  // What was computed, which has roundings of its own, is not divided: that takes as long as ten products.
  Value timesReciprocal(QuantizeLinearOp quantize, Value input, float scale) {
    if (!input.getDefiningOp() || scale == 1 || !isOrdinary(scale) || !elementOf(input).isF32())
      return {};
    return createNamed<MulOp>(b, quantize, ".steps", input, makeScalar(b, quantize, b.getF32Type(), 1 / double(scale)));
  }

  // In front of the first op that reads it: what is dequantised long before would be a kernel of its own, which takes
  // what follows from the one that should have it.
  void dequantizeLate(Operation *op) {
    if (!isa<DequantizeLinearOp>(op) || op->use_empty())
      return;
    Operation *first = nullptr;
    for (Operation *user : op->getUsers()) {
      Operation *here = op->getBlock()->findAncestorOpInBlock(*user);
      if (!first || here->isBeforeInBlock(first))
        first = here;
    }
    op->moveBefore(first);
  }

  OpBuilder b;
  const Target &target;
  bool isStrict;
  SmallVector<Operation *> dead;
};

struct FakeQuantizationToIntegerPass : impl::FakeQuantizationToIntegerPassBase<FakeQuantizationToIntegerPass> {
  LogicalResult runOnFunction(func::FuncOp function) override {
    const Target &target = context().target;
    if (target.byteProduct() == ByteProduct::None)
      return success();
    Integers(&getContext(), target, context().fp == FloatMode::Strict).convert(function);
    return settleTypes(function);
  }
};

} // namespace
} // namespace fathom
