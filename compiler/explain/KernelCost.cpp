// Counting of operations and bytes, and the estimate of the kernel's family.
#include "compiler/explain/KernelCost.h"

#include "compiler/graph/Layout.h"
#include "compiler/graph/SizeMath.h"
#include "compiler/kernel/Strassen.h"

using namespace mlir;
using namespace fathom::graph;

namespace fathom {
namespace {

AffineExpr constant(int64_t value, MLIRContext *context) { return getAffineConstantExpr(value, context); }

AffineExpr elements(Value value) { return product(sizesOf(value), value.getContext()); }

// A product that passes null, for "unknown", on.
AffineExpr times(AffineExpr a, AffineExpr b) { return a && b ? size::mul(a, b) : AffineExpr(); }
AffineExpr times(AffineExpr a, int64_t b) { return a ? size::mul(a, b) : AffineExpr(); }

// Operations on an element of softmaxes and normalisations: maximum, difference, exponential, sum and quotient; two
// sums, difference, square, product with the inverse deviation, scale and bias.
constexpr int64_t softmaxFlop = 5, layerNormFlop = 7, rmsNormFlop = 4;

AffineExpr convolutionFlop(Operation *op, Value perElement) {
  // All but the first dimension of the weight belong to one output (or, transposed, to one input) channel.
  Sizes weight = sizesOf(op->getOperand(1));
  AffineExpr each = product(ArrayRef(weight).drop_front(), op->getContext());
  return times(times(elements(perElement), each), 2);
}

// What is really multiplied: whole tiles, at each of their positions.
AffineExpr winogradFlop(WinogradConvOp op) {
  Sizes sizes = sizesOf(op.getType()), weight = sizesOf(op.getWeight());
  AffineExpr tiles = sizes[0];
  for (int64_t d : {2, 3})
    tiles = times(tiles, size::ceilDiv(sizes[d], op.getTile()));
  return times(times(tiles, product(weight, op.getContext())), 2);
}

// The same: whole pairs of rows, seven times.
AffineExpr strassenFlop(StrassenOp op) {
  Sizes sizes = sizesOf(op.getType());
  sizes.erase(sizes.begin() + op.getAxis());
  AffineExpr rows = product(sizes, op.getContext());
  AffineExpr pairs = rows ? size::ceilDiv(rows, 2) : AffineExpr();
  Sizes weight = sizesOf(op.getWeight());
  return times(times(pairs, product(ArrayRef(weight).drop_front(), op.getContext())), 2 * strassen::products);
}

template <typename Pool> AffineExpr poolFlop(Pool op) {
  FailureOr<Window> window = getWindow(op);
  if (failed(window))
    return {};
  int64_t taps = 1;
  for (int64_t size : window->kernel)
    taps *= size;
  return times(elements(op->getResult(0)), taps);
}

bool isFloat(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && isa<FloatType>(type.getElementType());
}

// Whether an op only selects some elements of its first operand.
bool selects(Operation *op) { return isa<GatherOp, GatherElementsOp, GatherNDOp, SliceOp, DynamicSliceOp>(op); }

// What is read of an operand: all of it, unless all that use it select.
AffineExpr readBytes(BlockArgument argument) {
  auto type = cast<RankedTensorType>(argument.getType());
  AffineExpr sum = constant(0, type.getContext());
  for (OpOperand &use : argument.getUses()) {
    if (!selects(use.getOwner()) || use.getOperandNumber() != 0)
      return bufferBytes(withoutRoom(type));
    AffineExpr part = times(elements(use.getOwner()->getResult(0)), elementBytes(type.getElementType()));
    sum = part ? size::add(sum, part) : AffineExpr();
    if (!sum)
      return {};
  }
  return sum;
}

} // namespace

AffineExpr flopOf(Operation *op) {
  MLIRContext *context = op->getContext();
  if (op->getNumResults() == 0 || !isFloat(op->getResult(0)))
    return constant(0, context);
  AffineExpr results = elements(op->getResult(0));
  return llvm::TypeSwitch<Operation *, AffineExpr>(op)
      .Case([&](MatMulOp op) { return times(times(results, sizesOf(op.getLhs()).back()), 2); })
      .Case([&](MatMulNBitsOp op) { return times(times(results, op.getK()), 2); })
      .Case([&](ConvOp op) { return convolutionFlop(op, op.getResult()); })
      .Case([&](WinogradConvOp op) { return winogradFlop(op); })
      .Case([&](StrassenOp op) { return strassenFlop(op); })
      .Case([&](ConvTransposeOp op) { return convolutionFlop(op, op.getInput()); })
      .Case<MaxPoolOp, AveragePoolOp, LpPoolOp>([&](auto op) { return poolFlop(op); })
      .Case<SoftmaxOp, LogSoftmaxOp, HardmaxOp>([&](auto) { return times(results, softmaxFlop); })
      .Case([&](LayerNormalizationOp) { return times(results, layerNormFlop); })
      .Case([&](RMSNormalizationOp) { return times(results, rmsNormFlop); })
      .Case<CastOp, BitCastOp, WhereOp>([&](auto) { return constant(0, context); })
      .Default([&](Operation *op) {
        if (op->hasTrait<Reduction>())
          return elements(op->getOperand(0));
        return op->hasTrait<Elementwise>() ? results : constant(0, context);
      });
}

KernelCost costOf(func::FuncOp kernel) {
  MLIRContext *context = kernel.getContext();
  KernelCost cost{constant(0, context), constant(0, context)};
  auto add = [](AffineExpr &sum, AffineExpr part) { sum = sum && part ? size::add(sum, part) : AffineExpr(); };
  Block &body = kernel.getBody().front();
  for (Operation &op : body.without_terminator())
    add(cost.flop, flopOf(&op));
  for (BlockArgument argument : body.getArguments())
    add(cost.bytes, readBytes(argument));
  for (Value result : body.getTerminator()->getOperands())
    add(cost.bytes, bufferBytes(withoutRoom(cast<RankedTensorType>(result.getType()))));
  return cost;
}

KernelEstimate estimateOf(func::FuncOp kernel, const KernelClass &klass, const Schedule &schedule,
                          const Target &target) {
  cost::Estimate estimate = klass.family.spaceOf(anchorOrEnd(kernel), target)->estimate(schedule);
  return {estimate.parts(), estimate.parts(target.cores, target.slowestCore)};
}

} // namespace fathom
