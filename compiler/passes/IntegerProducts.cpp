// Sums of (left - a) * (right - b): b goes into the weights, and a times the sums of the weights' columns is added.
#include "compiler/passes/IntegerProducts.h"

#include "compiler/graph/ByteProducts.h"
#include "compiler/graph/SizeMath.h"
#include "compiler/passes/Decompose.h"
#include "mlir/IR/DialectResourceBlobManager.h"

using namespace mlir;
using namespace fathom::graph;

namespace fathom {
namespace {

RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }
bool isAbsent(Value value) { return !value || isa<NoneType>(value.getType()); }

// The bytes of a constant, or of its one element that stands for all. Scales are reshaped to broadcast.
std::optional<ArrayRef<char>> bytesOf(Value value) {
  while (auto reshape = value.getDefiningOp<ReshapeOp>())
    value = reshape.getInput();
  auto constant = value.getDefiningOp<ConstantOp>();
  if (!constant)
    return std::nullopt;
  if (auto dense = dyn_cast<DenseElementsAttr>(constant.getValue()))
    return dense.getRawData();
  auto resource = dyn_cast<DenseResourceElementsAttr>(constant.getValue());
  AsmResourceBlob *blob = resource ? resource.getRawHandle().getBlob() : nullptr;
  return blob ? std::optional(blob->getData()) : std::nullopt;
}

// The least and the largest byte of a constant, as its type has them.
std::optional<std::pair<int64_t, int64_t>> rangeOf(Value value) {
  std::optional<ArrayRef<char>> bytes = bytesOf(value);
  if (!bytes || bytes->empty())
    return std::nullopt;
  bool isUnsigned = typeOf(value).getElementType().isUnsignedInteger();
  auto number = [&](char byte) { return isUnsigned ? int64_t(uint8_t(byte)) : int64_t(int8_t(byte)); };
  auto [least, largest] =
      std::minmax_element(bytes->begin(), bytes->end(), [&](char x, char y) { return number(x) < number(y); });
  return std::pair(number(*least), number(*largest));
}

// Whether weights less their zero point are numbers of 8 bits with a sign.
bool fitsSigned(Value weights, Value zero) {
  bool isUnsigned = typeOf(weights).getElementType().isUnsignedInteger();
  if (onlyNumber(zero) == (isUnsigned ? 128 : 0))
    return true;
  auto numbers = rangeOf(weights);
  auto zeros = isAbsent(zero) ? std::optional(std::pair<int64_t, int64_t>(0, 0)) : rangeOf(zero);
  return numbers && zeros && numbers->first - zeros->second >= INT8_MIN && numbers->second - zeros->first <= INT8_MAX;
}

// Whether two neighbours along an axis, times any two bytes without a sign, add up to a number of 16 bits.
bool areNarrow(Value weights, int64_t axis) {
  std::optional<ArrayRef<char>> bytes = bytesOf(weights);
  ArrayRef<int64_t> shape = typeOf(weights).getShape();
  int64_t size = shape[axis], step = ShapedType::getNumElements(shape.drop_front(axis + 1));
  if (!bytes || int64_t(bytes->size()) != typeOf(weights).getNumElements())
    return false;
  for (int64_t at = 0; at < int64_t(bytes->size()); ++at) {
    if (at / step % size % 2 || at / step % size + 1 == size)
      continue;
    int64_t first = int8_t((*bytes)[at]), second = int8_t((*bytes)[at + step]);
    if (std::max<int64_t>(first, 0) + std::max<int64_t>(second, 0) > INT16_MAX / UINT8_MAX ||
        std::min<int64_t>(first, 0) + std::min<int64_t>(second, 0) < INT16_MIN / UINT8_MAX)
      return false;
  }
  return true;
}

// Makes the ops of one product.
class Maker {
public:
  Maker(OpBuilder &b, Operation *like, const Target &target)
      : b(b), like(like), i32(b.getI32Type()), form(target.byteProduct()) {}

  Value cast(Value value, Type element, StringRef suffix) {
    return typeOf(value).getElementType() == element
               ? value
               : createNamed<CastOp>(b, like, suffix, value, TypeAttr::get(element)).getResult();
  }
  // Computed of weights, while the model is compiled.
  template <typename Op, typename... Args> Value ahead(StringRef suffix, Args &&...args) {
    Op op = createNamed<Op>(b, like, suffix, std::forward<Args>(args)...);
    op->setAttr("graph.ahead", b.getUnitAttr());
    return op->getResult(0);
  }
  Value number(int64_t value) {
    return makeConstant(b, like, DenseElementsAttr::get(RankedTensorType::get({}, i32), int32_t(value)));
  }

  // Without a sign: 128 more than what has one.
  void makeUnsigned(ByteFactors &factors) {
    Type ui8 = b.getIntegerType(8, /*isSigned=*/false);
    auto moved = [&](Value value, StringRef suffix) {
      Value wide = createNamed<AddOp>(b, like, (suffix + ".moved").str(), cast(value, i32, (suffix + ".i32").str()),
                                      number(128));
      return cast(wide, ui8, suffix);
    };
    if (isAbsent(factors.leftZero))
      factors.leftZero =
          makeConstant(b, like,
                       DenseElementsAttr::get(RankedTensorType::get({}, typeOf(factors.left).getElementType()),
                                              b.getIntegerAttr(typeOf(factors.left).getElementType(), 0)));
    if (typeOf(factors.left).getElementType() == ui8)
      return;
    factors.left = moved(factors.left, ".left");
    factors.leftZero = moved(factors.leftZero, ".left.zero");
  }

  // With a sign, and no zero point.
  Value signedWeights(const ByteFactors &factors) {
    bool isSigned = !typeOf(factors.right).getElementType().isUnsignedInteger();
    if (isSigned && onlyNumber(factors.rightZero) == 0)
      return factors.right;
    Value wide = ahead<CastOp>(".weight.i32", factors.right, TypeAttr::get(i32));
    if (!isAbsent(factors.rightZero))
      wide =
          ahead<SubOp>(".weight.centred", wide, ahead<CastOp>(".weight.zero", factors.rightZero, TypeAttr::get(i32)));
    return ahead<CastOp>(".weight", wide, TypeAttr::get(b.getI8Type()));
  }

  // What is to be added to sums of the left factors, as instructions take them: the sums of the weights along these
  // axes, times what the factors are too large.
  Value correction(Value weights, Value leftZero, ArrayRef<int64_t> axes, bool keepsAxes) {
    Value wide = ahead<CastOp>(".weight.sums.i32", weights, TypeAttr::get(i32));
    Value sums = ahead<ReduceSumOp>(".weight.sums", wide, makeInts(b, like, axes), b.getI64IntegerAttr(keepsAxes),
                                    b.getI64IntegerAttr(0));
    Value zero = cast(leftZero, i32, ".left.zero.i32");
    Value by = createNamed<SubOp>(b, like, ".left.offset", number(isCentred() ? 128 : 0), zero);
    return createNamed<MulOp>(b, like, ".offset", sums, by);
  }

  Value quads(Value weights, int64_t axis) {
    isNarrow = form == ByteProduct::Pairs && areNarrow(weights, axis);
    return ahead<QuadsOp>(".quads", weights, axis);
  }

  Value padded(Value left, ArrayRef<int64_t> pads, Value zero) {
    if (llvm::all_of(pads, [](int64_t count) { return count == 0; }))
      return left;
    return createNamed<PadOp>(b, like, ".padded", left, makeInts(b, like, pads), zero, makeNone(b, like->getLoc()),
                              "constant");
  }

  template <typename Op> Value finished(Op op, StringRef suffix) {
    setQuads(op, isCentred() ? Quads::Centred : isNarrow ? Quads::Narrow : Quads::Plain);
    nameAfter(op, like, suffix);
    (void)inferResultTypes(op);
    return op.getResult();
  }

  bool isCentred() const { return form == ByteProduct::Signed; }

  OpBuilder &b;
  Operation *like;
  Type i32;
  ByteProduct form;
  bool isNarrow = false;
};

// A product of a byte without a sign and one with a sign is no larger.
constexpr int64_t largestProduct = 255 * 128;

// How many products a sum has; 0 where that is not known.
int64_t stepsOf(Value weights, int64_t depth) {
  Sizes sizes = sizesOf(weights);
  int64_t steps = constantSize(sizes[depth]).value_or(0);
  for (AffineExpr size : ArrayRef(sizes).drop_front(std::max<int64_t>(2, depth + 1)))
    steps *= constantSize(size).value_or(0);
  return steps;
}

// How many elements are missing to whole quads.
int64_t missing(AffineExpr size) { return llvm::alignTo(*constantSize(size), bytesOfQuad) - *constantSize(size); }

} // namespace

bool isWeightValue(Value value) {
  SmallVector<Value> open{value};
  for (size_t steps = 0; !open.empty(); ++steps) {
    Operation *op = open.pop_back_val().getDefiningOp();
    if (!op || steps > 64)
      return false;
    llvm::append_range(open, op->getOperands());
  }
  return true;
}

std::optional<int64_t> onlyNumber(Value zero) {
  if (isAbsent(zero))
    return 0;
  Type element = typeOf(zero).getElementType();
  if (element.isInteger(8)) {
    auto range = rangeOf(zero);
    return range && range->first == range->second ? std::optional(range->first) : std::nullopt;
  }
  std::optional<ArrayRef<char>> bytes = bytesOf(zero);
  bool isZero = bytes && llvm::all_of(*bytes, [](char byte) { return byte == 0; });
  return isZero ? std::optional<int64_t>(0) : std::nullopt;
}

std::optional<std::vector<float>> constantFloats(Value value) {
  std::optional<ArrayRef<char>> bytes = bytesOf(value);
  if (!bytes || !typeOf(value).getElementType().isF32())
    return std::nullopt;
  std::vector<float> floats(bytes->size() / sizeof(float));
  std::memcpy(floats.data(), bytes->data(), floats.size() * sizeof(float));
  return floats;
}

std::string whyNotBytes(const ByteFactors &factors, int64_t depth, int64_t group) {
  // Of a deeper sum 32 bits would not hold every result.
  constexpr int64_t deepest = INT32_MAX / largestProduct;
  auto isByte = [](Value value) { return typeOf(value).getElementType().isInteger(8); };
  if (!isByte(factors.left) || !isByte(factors.right))
    return "its operands are not numbers of 8 bits";
  if (!isWeightValue(factors.right))
    return "its weights are not constant";
  if (!fitsSigned(factors.right, factors.rightZero))
    return "its weights less their zero points are not numbers of 8 bits";
  int64_t steps = stepsOf(factors.right, depth);
  if (steps <= 0 || steps > deepest)
    return "it has no known depth of at most " + std::to_string(deepest);
  if (group > 1 && *constantSize(sizesOf(factors.right)[depth]) % bytesOfQuad)
    return "its groups have no multiple of four channels";
  return "";
}

bool fitsSums(Value bias, Value weights, int64_t depth) {
  std::optional<ArrayRef<char>> bytes = bytesOf(bias);
  int64_t most = INT32_MAX - largestProduct * stepsOf(weights, depth);
  for (ArrayRef<char> rest = bytes.value_or(ArrayRef<char>()); !rest.empty(); rest = rest.drop_front(sizeof(int32_t))) {
    int32_t number;
    std::memcpy(&number, rest.data(), sizeof number);
    if (std::abs(int64_t(number)) > most)
      return false;
  }
  return bytes.has_value();
}

Value byteMatMul(OpBuilder &b, Operation *like, const ByteFactors &given, const Target &target) {
  Maker make(b, like, target);
  ByteFactors factors = given;
  make.makeUnsigned(factors);
  Value weights = make.signedWeights(factors);
  int64_t axis = typeOf(weights).getRank() - 2, rank = typeOf(factors.left).getRank();
  SmallVector<int64_t> pads(2 * rank);
  pads.back() = missing(sizesOf(weights)[axis]);
  Value left = make.padded(factors.left, pads, makeNone(b, like->getLoc()));
  auto product = MatMulOp::create(b, like->getLoc(), placeholder(b.getContext()), left, make.quads(weights, axis));
  Value sums = make.finished(product, ".sums");
  Value offset = make.correction(weights, factors.leftZero, {axis}, /*keepsAxes=*/true);
  return createNamed<AddOp>(b, like, ".exact", sums, offset);
}

Value byteConv(OpBuilder &b, Operation *like, const ByteFactors &given, Value bias, int64_t group,
               const Target &target) {
  Maker make(b, like, target);
  Window window = *getWindow(like);
  ByteFactors factors = given;
  make.makeUnsigned(factors);
  Value weights = make.signedWeights(factors), zero = factors.leftZero;
  int64_t rank = typeOf(factors.left).getRank();
  // Zeros around an image are no bytes of zero, unless the zero point is.
  bool isZero = onlyNumber(zero) == 0;
  SmallVector<int64_t> pads(2 * rank), around;
  for (auto [d, low, high] : llvm::enumerate(window.padsBegin, window.padsEnd))
    if (!isZero)
      pads[2 + d] = std::exchange(low, 0), pads[rank + 2 + d] = std::exchange(high, 0);
  if (group == 1)
    pads[rank + 1] = missing(sizesOf(weights)[1]);
  llvm::append_range(around, window.padsBegin), llvm::append_range(around, window.padsEnd);
  Value scalar = typeOf(zero).getRank() ? reshape(b, like, ".zero", zero, {}) : zero;
  Value left = make.padded(factors.left, pads, scalar);
  SmallVector<int64_t> axes = llvm::to_vector(llvm::seq<int64_t>(1, rank));
  Value offset = make.correction(weights, scalar, axes, /*keepsAxes=*/false);
  Value start = bias ? createNamed<AddOp>(b, like, ".bias", bias, offset).getResult() : offset;
  auto conv = ConvOp::create(b, like->getLoc(), placeholder(b.getContext()), left, make.quads(weights, 1), start,
                             b.getStringAttr("NOTSET"), b.getDenseI64ArrayAttr(window.dilations),
                             b.getDenseI64ArrayAttr(window.kernel), b.getDenseI64ArrayAttr(around),
                             b.getDenseI64ArrayAttr(window.strides), b.getI64IntegerAttr(group));
  return make.finished(conv, ".sums");
}

} // namespace fathom
