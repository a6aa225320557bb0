// The rewrites, and the small matrices that they multiply weights with.
#include "compiler/plan/TransformedWeights.h"

#include "compiler/graph/Views.h"
#include "compiler/kernel/ConvAlgorithm.h"
#include "compiler/kernel/Strassen.h"
#include "compiler/kernel/Winograd.h"
#include "compiler/passes/Passes.h"

using namespace mlir;
using namespace fathom::graph;

namespace fathom {
namespace {

// Weights that can be transformed ahead. Inside branches and loops nothing is folded, so that they would be transformed
// in every run.
bool canTransform(Operation *op, Value weight) {
  auto type = cast<RankedTensorType>(weight.getType());
  Operation *made = weight.getDefiningOp(); // may be transformed already
  return isa<func::FuncOp>(op->getParentOp()) && type.hasStaticShape() && type.getElementType().isF32() &&
         (isConstantValue(weight) || (made && made->hasAttr("graph.ahead")));
}

bool are(ArrayRef<int64_t> values, int64_t all) {
  return llvm::all_of(values, [&](int64_t value) { return value == all; });
}

// Ops over weights, to be folded.
class Ahead {
public:
  Ahead(OpBuilder &b, Operation *like) : b(b), like(like) {}

  Value transpose(Value value, ArrayRef<int64_t> order) {
    return mark(createNamed<TransposeOp>(b, like, ".windows", value, b.getDenseI64ArrayAttr(order)));
  }
  Value reshape(Value value, StringRef suffix, ArrayRef<int64_t> shape) {
    return mark(createNamed<ReshapeOp>(b, like, suffix, value, makeInts(b, like, shape)));
  }
  // The elements that lie at these places of the second dimension instead.
  Value pick(Value value, ArrayRef<int64_t> places) {
    auto type = RankedTensorType::get(cast<RankedTensorType>(value.getType()).getShape(), b.getI64Type());
    Value indices = makeConstant(b, like, DenseElementsAttr::get(type, places));
    return mark(createNamed<GatherElementsOp>(b, like, ".swapped", value, indices, 1));
  }
  Value multiply(ArrayRef<float> matrix, int64_t rows, Value value) {
    auto type = RankedTensorType::get({rows, int64_t(matrix.size()) / rows}, b.getF32Type());
    Value left = makeConstant(b, like, DenseElementsAttr::get(type, matrix));
    return mark(createNamed<MatMulOp>(b, like, ".transformed", left, value));
  }

private:
  template <typename Op> Value mark(Op op) {
    op->setAttr("graph.ahead", b.getUnitAttr());
    return op.getResult();
  }

  OpBuilder &b;
  Operation *like;
};

// The weights [K, C / group, 3, 3] as [positions, C / group, K]: every window multiplied by the transform from both
// sides.
Value winogradWeight(OpBuilder &b, ConvOp conv, int64_t tile) {
  const TransformMatrix &g = winograd::weightTransform(tile);
  SmallVector<float> both;
  for (const auto &down : g.rows)
    for (const auto &across : g.rows)
      for (double y : down)
        for (double x : across)
          both.push_back(float(y * x));
  int64_t positions = g.rows.size() * g.rows.size();
  ArrayRef<int64_t> shape = cast<RankedTensorType>(conv.getWeight().getType()).getShape();
  Ahead ahead(b, conv);
  Value windows = ahead.transpose(conv.getWeight(), {2, 3, 1, 0});
  Value flat = ahead.reshape(windows, ".flat", {9, shape[1] * shape[0]});
  return ahead.reshape(ahead.multiply(both, positions, flat), ".positions", {positions, shape[1], shape[0]});
}

// Weights [K, N] as [stored, K / 2, N / 2]: sums of quarters, as the seven products take them.
Value strassenWeight(Ahead &ahead, Value weight, int64_t stored) {
  SmallVector<float> sums;
  for (const auto &row : ArrayRef(strassen::rightTransform().rows).take_front(stored))
    sums.append(row.begin(), row.end());
  ArrayRef<int64_t> shape = cast<RankedTensorType>(weight.getType()).getShape();
  int64_t depth = shape[0] / 2, columns = shape[1] / 2;
  Value split = ahead.reshape(weight, ".split", {2, depth, 2, columns});
  Value quarters = ahead.reshape(ahead.transpose(split, {0, 2, 1, 3}), ".flat", {4, depth * columns});
  return ahead.reshape(ahead.multiply(sums, stored, quarters), ".factors", {stored, depth, columns});
}

// Whether rows of this type, times weights of this depth and so many columns, can be halved.
bool canHalve(RankedTensorType rows, int64_t depth, int64_t columns) {
  return rows.hasStaticShape() && rows.getNumElements() > 0 && depth % 2 == 0 && columns > 0 && columns % 2 == 0;
}

void replaceBy(Operation *op, Operation *made) {
  op->getResult(0).replaceAllUsesWith(made->getResult(0));
  op->erase();
}

} // namespace

bool takesWinograd(ConvOp conv) {
  FailureOr<Window> window = getWindow(conv);
  int64_t groupChannels = cast<RankedTensorType>(conv.getWeight().getType()).getDimSize(1);
  return succeeded(window) && canTransform(conv, conv.getWeight()) && conv.getType().getRank() == 4 &&
         (conv.getGroup() == 1 || groupChannels > 1) && are(window->kernel, 3) && are(window->strides, 1) &&
         are(window->dilations, 1) && llvm::all_of(window->padsBegin, [](int64_t p) { return p >= 0; }) &&
         llvm::all_of(window->padsEnd, [](int64_t p) { return p >= 0; });
}

void useWinograd(ConvOp conv, int64_t tile) {
  OpBuilder b(conv);
  Window window = *getWindow(conv);
  SmallVector<int64_t> pads(window.padsBegin);
  llvm::append_range(pads, window.padsEnd);
  Value weight = winogradWeight(b, conv, tile);
  replaceBy(conv, createNamed<WinogradConvOp>(b, conv, "", conv.getInput(), weight, conv.getBias(), pads, tile,
                                              conv.getGroup()));
}

bool takesStrassen(MatMulOp product) {
  auto left = cast<RankedTensorType>(product.getLhs().getType());
  ArrayRef<int64_t> weight = cast<RankedTensorType>(product.getRhs().getType()).getShape();
  return canTransform(product, product.getRhs()) && left.getRank() >= 2 && weight.size() == 2 &&
         canHalve(left, weight[0], weight[1]);
}

bool takesStrassen(ConvOp conv) {
  ArrayRef<int64_t> weight = cast<RankedTensorType>(conv.getWeight().getType()).getShape();
  FailureOr<Window> window = getWindow(conv);
  return succeeded(window) && canTransform(conv, conv.getWeight()) && conv.getGroup() == 1 && are(window->kernel, 1) &&
         are(window->strides, 1) && are(window->padsBegin, 0) && are(window->padsEnd, 0) &&
         canHalve(cast<RankedTensorType>(conv.getInput().getType()), weight[1], weight[0]);
}

void useStrassen(MatMulOp product, int64_t stored) {
  OpBuilder b(product);
  Ahead ahead(b, product);
  Value weight = strassenWeight(ahead, product.getRhs(), stored), none = makeNone(b, product.getLoc());
  int64_t axis = product.getType().getRank() - 1;
  replaceBy(product, createNamed<StrassenOp>(b, product, "", product.getLhs(), weight, none, axis));
}

void useStrassen(ConvOp conv, int64_t stored) {
  OpBuilder b(conv);
  Ahead ahead(b, conv);
  ArrayRef<int64_t> shape = cast<RankedTensorType>(conv.getWeight().getType()).getShape();
  Value matrix = ahead.transpose(ahead.reshape(conv.getWeight(), ".matrix", {shape[0], shape[1]}), {1, 0});
  Value weight = strassenWeight(ahead, matrix, stored);
  replaceBy(conv, createNamed<StrassenOp>(b, conv, "", conv.getInput(), weight, conv.getBias(), 1));
}

// Which axis numbers the samples is not known. Where a matrix has but one axis, it may be that one.
bool keepsSamplesApart(MatMulOp product) {
  ArrayRef<int64_t> rows = cast<RankedTensorType>(product.getLhs().getType()).getShape().drop_back();
  return rows.size() > 1 && llvm::count_if(rows, [](int64_t size) { return size != 1; }) <= 1;
}

bool keepsSamplesApart(ConvOp conv) {
  auto type = cast<RankedTensorType>(conv.getType());
  int64_t images = type.getDimSize(0), pixels = type.getNumElements() / (images * type.getDimSize(1));
  return images == 1 || pixels % 2 == 0;
}

bool takesSwappedPairs(ConvOp conv) {
  ArrayRef<int64_t> weight = cast<RankedTensorType>(conv.getWeight().getType()).getShape();
  return takesSpatialPack(conv) && !hasSwappedPairs(conv) && canTransform(conv, conv.getWeight()) &&
         conv.getGroup() > 1 && weight[1] == 2 && weight[0] == 2 * conv.getGroup();
}

void swapPairs(ConvOp conv) {
  OpBuilder b(conv);
  ArrayRef<int64_t> shape = cast<RankedTensorType>(conv.getWeight().getType()).getShape();
  int64_t taps = ShapedType::getNumElements(shape.drop_front(2));
  SmallVector<int64_t> channels;
  for (int64_t output = 0; output < shape[0]; ++output)
    for (int64_t input : {0, 1})
      channels.append(taps, (input + output) % 2);
  conv.getWeightMutable().assign(Ahead(b, conv).pick(conv.getWeight(), channels));
  setSwappedPairs(conv);
}

} // namespace fathom
