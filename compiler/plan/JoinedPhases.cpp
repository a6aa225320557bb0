// The rewrites. In coordinates that begin with the padding, result s * q + p of a window of k taps meets taps p, p + s,
// p + 2 * s, ... at pixels q, q - 1, q - 2, ...: a convolution with windows of k / s pixels, rounded up, for each p.
#include "compiler/plan/JoinedPhases.h"

#include "compiler/graph/SizeMath.h"
#include "compiler/graph/Views.h"
#include "compiler/kernel/Choices.h"
#include "compiler/kernel/TransposedConv.h"
#include "compiler/passes/Decompose.h"
#include "llvm/Support/MathExtras.h"
#include <numeric>

using namespace mlir;
using namespace fathom::graph;

namespace fathom {
namespace {

bool are(ArrayRef<int64_t> values, int64_t all) {
  return llvm::all_of(values, [&](int64_t value) { return value == all; });
}

// Weights that are transformed ahead: inside of branches and loops nothing is folded.
bool hasConstantWeight(ConvTransposeOp op) {
  auto weight = cast<RankedTensorType>(op.getWeight().getType());
  return isa<func::FuncOp>(op->getParentOp()) && weight.hasStaticShape() && weight.getNumElements() > 0 &&
         weight.getElementType().isF32() && isConstantValue(op.getWeight());
}

ArrayRef<int64_t> weightShape(ConvTransposeOp op) {
  return cast<RankedTensorType>(op.getWeight().getType()).getShape();
}

int64_t product(ArrayRef<int64_t> values) {
  return std::accumulate(values.begin(), values.end(), int64_t(1), std::multiplies<>());
}

// Pixels of the window that each phase has at most, along each dimension.
SmallVector<int64_t> joinedWindow(const Window &window) {
  SmallVector<int64_t> taps;
  for (auto [kernel, stride] : llvm::zip_equal(window.kernel, window.strides))
    taps.push_back(llvm::divideCeil(kernel, stride));
  return taps;
}

// The padding at the end that makes the convolution reach the last result. The number of results and of strides in the
// input differ by the same for all sizes.
int64_t endPadding(ConvTransposeOp op, const Window &window, int64_t d) {
  int64_t extra = op.getOutputPadding() ? (*op.getOutputPadding())[d] : 0, stride = window.strides[d];
  int64_t more = extra + effectiveKernel(window, d) - stride - window.padsEnd[d];
  return more >= 0 ? int64_t(llvm::divideCeil(more, stride)) : -(-more / stride);
}

class Ops {
public:
  explicit Ops(ConvTransposeOp op) : op(op), b(op) {}

  // Folded however large it is: a transformed weight.
  Value ahead(Value value) {
    value.getDefiningOp()->setAttr("graph.ahead", b.getUnitAttr());
    return value;
  }

  Value transpose(StringRef suffix, Value value, ArrayRef<int64_t> order) {
    return createNamed<TransposeOp>(b, op, suffix, value, b.getDenseI64ArrayAttr(order));
  }
  Value reshape(StringRef suffix, Value value, ArrayRef<AffineExpr> sizes) {
    return fathom::reshape(b, op, suffix, value, sizes);
  }
  Value reshape(StringRef suffix, Value value, ArrayRef<int64_t> sizes) {
    return createNamed<ReshapeOp>(b, op, suffix, value, makeInts(b, op, sizes), b.getI64IntegerAttr(0));
  }
  // The results, from behind the padding at their begin on.
  Value cut(StringRef suffix, Value value, ArrayRef<int64_t> begins, ArrayRef<AffineExpr> sizes) {
    SmallVector<int64_t> axes, ones(begins.size(), 1);
    for (size_t d = 0; d < begins.size(); ++d)
      axes.push_back(2 + d);
    return createNamed<DynamicSliceOp>(b, op, suffix, value, makeInts(b, op, begins), sizesOperand(b, op, sizes),
                                       b.getDenseI64ArrayAttr(axes), b.getDenseI64ArrayAttr(ones));
  }
  void replaceBy(Value value) {
    op.getResult().replaceAllUsesWith(value);
    op->erase();
  }

  ConvTransposeOp op;
  OpBuilder b;
};

// Weights [C, K, taps...] as [phases * K, C, window...], each window back to front.
Value joinedWeight(Ops &ops, const Window &window) {
  ConvTransposeOp op = ops.op;
  ArrayRef<int64_t> shape = weightShape(op);
  SmallVector<int64_t> taps = joinedWindow(window), pads(2 * shape.size()), split{shape[0], shape[1]};
  SmallVector<int64_t> order, starts, ends, axes, joined{product(window.strides) * shape[1], shape[0]};
  for (size_t d = 0; d < taps.size(); ++d) {
    pads[shape.size() + 2 + d] = taps[d] * window.strides[d] - window.kernel[d];
    split.append({taps[d], window.strides[d]});
    order.push_back(3 + 2 * d);
    starts.push_back(-1), ends.push_back(INT64_MIN), axes.push_back(2 + 2 * d);
    joined.push_back(taps[d]);
  }
  order.append({1, 0});
  llvm::append_range(order, axes);
  OpBuilder &b = ops.b;
  Value none = makeNone(b, op.getLoc());
  Value padded = ops.ahead(createNamed<PadOp>(b, op, ".padded", op.getWeight(), makeInts(b, op, pads), none, none,
                                              b.getStringAttr("constant")));
  Value blocks = ops.ahead(ops.reshape(".split", padded, split));
  SmallVector<int64_t> steps(axes.size(), -1);
  Value turned = ops.ahead(createNamed<SliceOp>(b, op, ".turned", blocks, makeInts(b, op, starts),
                                                makeInts(b, op, ends), makeInts(b, op, axes), makeInts(b, op, steps)));
  return ops.ahead(ops.reshape(".joined", ops.ahead(ops.transpose(".windows", turned, order)), joined));
}

// The bias of every phase.
Value joinedBias(Ops &ops, int64_t phases) {
  ConvTransposeOp op = ops.op;
  if (isa<NoneType>(op.getBias().getType()))
    return op.getBias();
  int64_t columns = weightShape(op)[1];
  Value all = createNamed<ExpandOp>(ops.b, op, ".biases", op.getBias(), makeInts(ops.b, op, {phases, columns}));
  return ops.reshape(".bias", all, {phases * columns});
}

} // namespace

bool takesJoinedPhases(ConvTransposeOp op) {
  FailureOr<Window> window = getWindow(op);
  if (failed(window) || !hasConstantWeight(op) || op.getGroup() != 1 || !are(window->dilations, 1) ||
      are(window->strides, 1) || !hasPhases(op))
    return false;
  for (size_t d = 0; d < window->kernel.size(); ++d)
    if (endPadding(op, *window, d) < 0)
      return false;
  return true;
}

bool gainsFromJoinedPhases(ConvTransposeOp op, const Target &target) {
  return weightShape(op)[1] < target.lanes(32) && gainsFromJoining(op, product(joinedWindow(*getWindow(op))), target);
}

void joinPhases(ConvTransposeOp op) {
  Window window = *getWindow(op);
  Ops ops(op);
  OpBuilder &b = ops.b;
  int64_t spatial = window.kernel.size(), phases = product(window.strides), columns = weightShape(op)[1];
  SmallVector<int64_t> taps = joinedWindow(window), pads, ones(spatial, 1);
  for (int64_t count : taps)
    pads.push_back(count - 1);
  for (int64_t d = 0; d < spatial; ++d)
    pads.push_back(endPadding(op, window, d));
  Value weight = joinedWeight(ops, window), bias = joinedBias(ops, phases);
  // An attribute that is not named has its default.
  SmallVector<NamedAttribute> attributes{b.getNamedAttr("kernel_shape", b.getDenseI64ArrayAttr(taps)),
                                         b.getNamedAttr("pads", b.getDenseI64ArrayAttr(pads))};
  auto conv = ConvOp::create(b, op.getLoc(), TypeRange{placeholder(b.getContext())},
                             ValueRange{op.getInput(), weight, bias}, attributes);
  nameAfter(conv, op, ".phases");
  (void)inferResultTypes(conv);

  // Channels back, where they lie anyway; then each phase to its place.
  Sizes made = sizesOf(conv.getType()), split{made[0]}, whole{made[0], getAffineConstantExpr(columns, b.getContext())};
  SmallVector<int64_t> back{0}, order{0, 2 * spatial + 1};
  for (int64_t d = 0; d < spatial; ++d) {
    back.push_back(2 + d);
    split.push_back(made[2 + d]);
    order.append({1 + d, 1 + spatial + d});
    whole.push_back(size::mul(made[2 + d], window.strides[d]));
  }
  back.push_back(1);
  for (int64_t stride : window.strides)
    split.push_back(getAffineConstantExpr(stride, b.getContext()));
  split.push_back(getAffineConstantExpr(columns, b.getContext()));
  Value pixels = ops.reshape(".blocks", ops.transpose(".last", conv, back), split);
  Sizes result = sizesOf(op.getType());
  bool isWhole = are(window.padsBegin, 0) && ArrayRef(result).drop_front(2) == ArrayRef(whole).drop_front(2);
  Value image = ops.reshape(isWhole ? "" : ".image", ops.transpose(".moved", pixels, order), whole);
  ops.replaceBy(isWhole ? image : ops.cut("", image, window.padsBegin, ArrayRef(result).drop_front(2)));
}

bool takesProductOfPixel(ConvTransposeOp op) {
  FailureOr<Window> window = getWindow(op);
  if (failed(window) || !hasConstantWeight(op) || op.getGroup() != 1 || !are(window->dilations, 1))
    return false;
  Sizes input = sizesOf(op.getInput()), result = sizesOf(op.getType());
  for (auto [d, kernel] : llvm::enumerate(window->kernel)) {
    std::optional<int64_t> size = constantSize(result[2 + d]);
    if (!isConstant(input[2 + d], 1) || !size || window->padsBegin[d] + *size > kernel)
      return false;
  }
  return true;
}

void useProductOfPixel(ConvTransposeOp op) {
  Window window = *getWindow(op);
  Ops ops(op);
  OpBuilder &b = ops.b;
  ArrayRef<int64_t> shape = weightShape(op);
  int64_t rank = shape.size(), taps = product(window.kernel);
  bool hasBias = !isa<NoneType>(op.getBias().getType());
  SmallVector<int64_t> channelsLast{0}, back{0, rank - 1}, ones(rank, 1);
  MLIRContext *context = b.getContext();
  Sizes batch = sizesOf(op.getInput()), pixels{batch[0]};
  for (int64_t d = 2; d < rank; ++d) {
    channelsLast.push_back(d), back.push_back(d - 1);
    pixels.push_back(getAffineConstantExpr(shape[d], context));
  }
  channelsLast.push_back(1), pixels.push_back(getAffineConstantExpr(shape[1], context));
  Value windows = ops.ahead(ops.transpose(".windows", op.getWeight(), channelsLast));
  Value weight = ops.ahead(ops.reshape(".matrix", windows, {shape[0], taps * shape[1]}));
  Value rows = ops.reshape(".pixel", op.getInput(), {batch[0], batch[1]});
  Value product = createNamed<MatMulOp>(b, op, ".taps", rows, weight);
  bool isWhole = are(window.padsBegin, 0) && are(window.padsEnd, 0);
  Value image = ops.transpose(isWhole && !hasBias ? "" : ".image", ops.reshape(".blocks", product, pixels), back);
  if (!isWhole)
    image = ops.cut(hasBias ? ".cut" : "", image, window.padsBegin, ArrayRef(sizesOf(op.getType())).drop_front(2));
  if (hasBias) {
    ones[1] = shape[1];
    image = createNamed<AddOp>(b, op, "", image, ops.reshape(".bias", op.getBias(), ones));
  }
  ops.replaceBy(image);
}

} // namespace fathom
