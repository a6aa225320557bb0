// Rules of convolutions and pools: their gradients are convolutions and transposed convolutions.
#include "compiler/passes/gradient/Parts.h"
#include "compiler/passes/gradient/Rules.h"
#include "compiler/passes/gradient/Window.h"

#include "compiler/graph/SizeMath.h"
#include "compiler/support/Diagnostics.h"

using namespace mlir;
using namespace fathom::graph;

namespace fathom::gradient {
namespace {

LogicalResult addBias(Value bias, Backward &back) {
  return back.addIfActive(bias, [&] {
    SmallVector<int64_t> axes{0};
    llvm::append_range(axes, llvm::seq<int64_t>(2, back.adjoint().rank()));
    return back.adjoint().sum(axes, /*keeps=*/false);
  });
}

LogicalResult addConv(ConvOp op, Backward &back) {
  FailureOr<Window> window = getWindow(op);
  if (failed(window) || failed(addBias(op.getBias(), back)))
    return failure();
  if (failed(back.addIfActive(op.getInput(), [&] {
        return spread(back.adjoint(), back.term(op.getWeight()), *window, op.getGroup(), sizesOf(op.getInput()));
      })))
    return failure();
  if (!back.isActive(op.getWeight()))
    return success();
  FailureOr<Term> weight = correlated(back.term(op.getInput()), back.adjoint(), *window, op.getGroup());
  return failed(weight) ? failure() : back.add(op.getWeight(), *weight);
}

// The same the other way round.
LogicalResult addConvTranspose(ConvTransposeOp op, Backward &back) {
  FailureOr<Window> window = getWindow(op);
  if (failed(window) || failed(addBias(op.getBias(), back)))
    return failure();
  Term adjoint = back.adjoint();
  // What lies behind the last window belongs to none.
  for (size_t d = 0; d < window->kernel.size(); ++d) {
    AffineExpr reach = size::add(size::mul(size::add(sizesOf(op.getInput())[d + 2], -1), window->strides[d]),
                                 effectiveKernel(*window, d) - window->padsBegin[d]);
    auto over = constantSize(size::sub(reach, adjoint.sizes()[d + 2]));
    if (!over && window->strides[d] > 1)
      return hint(emitError(op, ErrorCode::UnsupportedShape)
                      << "the gradient of a transposed convolution needs images of known sizes",
                  "give the model's dynamic dimensions sizes with --dim");
    window->padsEnd[d] = std::max<int64_t>(over.value_or(window->padsEnd[d]), 0);
    if (over && *over < 0)
      adjoint = sliced(adjoint, d + 2, getAffineConstantExpr(0, op.getContext()), reach);
  }
  if (failed(back.addIfActive(op.getInput(),
                              [&] { return convolved(adjoint, back.term(op.getWeight()), *window, op.getGroup()); })))
    return failure();
  if (!back.isActive(op.getWeight()))
    return success();
  FailureOr<Term> weight = correlated(adjoint, back.term(op.getInput()), *window, op.getGroup());
  return failed(weight) ? failure() : back.add(op.getWeight(), *weight);
}

// Every channel as an image of its own, and one window of ones.
struct Planes {
  Planes(Backward &back, Value image, const Window &window) : back(back), window(window), sizes(sizesOf(image)) {
    one = getAffineConstantExpr(1, image.getContext());
    planes = sizes;
    planes[0] = size::mul(sizes[0], sizes[1]), planes[1] = one;
  }
  Term asPlanes(Term term) const {
    Sizes shape = planes;
    for (size_t d = 2; d < shape.size(); ++d)
      shape[d] = term.sizes()[d];
    return term.reshaped(shape);
  }
  Term ones(const Sizes &shape, Type element) const {
    return Term(back.ops(), makeScalar(back.builder(), back.op(), element, 1)).expanded(shape);
  }
  Term window1(Type element) const {
    Sizes shape{one, one};
    for (int64_t extent : window.kernel)
      shape.push_back(getAffineConstantExpr(extent, one.getContext()));
    return ones(shape, element);
  }
  // To every pixel the sum of what its windows have.
  Term spreadSums(Term adjoint) const {
    Term sum = spread(asPlanes(adjoint), window1(adjoint.type().getElementType()), window, 1, planes);
    return sum.reshaped(sizes);
  }

  Backward &back;
  const Window &window;
  Sizes sizes, planes;
  AffineExpr one;
};

// How many pixels each window has an average of.
Term pixelsOf(AveragePoolOp op, Backward &back, const Planes &planes) {
  Type element = op.getType().getElementType();
  Window window = planes.window;
  Sizes shape = planes.planes, outputs = sizesOf(op.getResult());
  shape[0] = planes.one;
  int64_t all = 1;
  bool isWhole = true;
  for (size_t d = 0; d < window.kernel.size(); ++d) {
    all *= window.kernel[d];
    auto size = constantSize(shape[d + 2]), count = constantSize(outputs[d + 2]);
    bool isPadded = window.padsBegin[d] + window.padsEnd[d] > 0;
    // Padding counts, if it does, but not what lies behind it.
    int64_t reach = count ? (*count - 1) * window.strides[d] + effectiveKernel(window, d) : 0;
    int64_t within = size ? *size + window.padsBegin[d] + window.padsEnd[d] : reach;
    isWhole &= (op.getCountIncludePad() || !isPadded) && reach <= within;
    if (op.getCountIncludePad() && size) {
      shape[d + 2] = getAffineConstantExpr(within, op.getContext());
      window.padsBegin[d] = 0, window.padsEnd[d] = std::max<int64_t>(reach - within, 0);
    } else if (size) {
      window.padsEnd[d] = std::max<int64_t>(reach - *size - window.padsBegin[d], 0);
    }
  }
  if (isWhole)
    return back.term(makeScalar(back.builder(), back.op(), element, all));
  return convolved(planes.ones(shape, element), planes.window1(element), window, 1);
}

LogicalResult addAveragePool(AveragePoolOp op, Backward &back) {
  FailureOr<Window> window = getWindow(op);
  if (failed(window))
    return failure();
  return back.addIfActive(op.getInput(), [&] {
    Planes planes(back, op.getInput(), *window);
    return planes.spreadSums(back.adjoint() / pixelsOf(op, back, planes));
  });
}

// (sum |x|^p)^(1/p).
LogicalResult addLpPool(LpPoolOp op, Backward &back) {
  FailureOr<Window> window = getWindow(op);
  if (failed(window))
    return failure();
  return back.addIfActive(op.getInput(), [&] {
    Planes planes(back, op.getInput(), *window);
    Term x = back.term(op.getInput()), y = back.term(op.getResult());
    int64_t p = op.getP();
    if (p == 1)
      return planes.spreadSums(back.adjoint()) * sign(x);
    Term isZero = y == 0;
    Term share = isZero.choose(y.number(0), back.adjoint() * pow(isZero.choose(y.number(1), y), y.number(1 - p)));
    return planes.spreadSums(share) * sign(x) * pow(abs(x), x.number(p - 1));
  });
}

// The maxima's indices say which pixel had a window's value: the first of equal ones.
LogicalResult addMaxPool(MaxPoolOp op, Backward &back) {
  if (!back.isActive(op.getInput()) || !back.hasAdjoint(0))
    return success();
  Emitter &ops = back.ops();
  Value indices = op.getIndices();
  if (!indices || op.getStorageOrder() != 0) {
    OperationState state(op.getLoc(), MaxPoolOp::getOperationName());
    Type unknown = placeholder(op.getContext());
    state.addOperands(op.getInput());
    state.addTypes({unknown, unknown});
    state.addAttributes(op->getAttrs());
    OpBuilder::InsertionGuard guard(ops.builder);
    ops.builder.setInsertionPoint(op);
    auto both = cast<MaxPoolOp>(ops.builder.create(state));
    both.setStorageOrder(0);
    if (failed(inferResultTypes(both)))
      return failure();
    back.replace(op.getResult(), both.getResult());
    indices = both.getIndices();
    back.setOp(both);
    if (!op.getIndices())
      op->erase();
    op = both;
  }
  Sizes sizes = sizesOf(op.getInput());
  AffineExpr all = product(sizes, op.getContext()), count = product(sizesOf(op.getResult()), op.getContext());
  Term adjoint = back.adjoint();
  Term flat = adjoint.number(0).expanded({all}).apply<ScatterElementsOp>(Value(back.term(indices).reshaped({count})),
                                                                         Value(adjoint.reshaped({count})), ops.attr(0),
                                                                         ops.builder.getStringAttr("add"));
  return back.add(op.getInput(), flat.reshaped(sizes));
}

} // namespace

void addConvolutionRules(Rules &rules) {
  rules.add(addAveragePool);
  rules.add(addConv);
  rules.add(addConvTranspose);
  rules.add(addLpPool);
  rules.add(addMaxPool);
}

} // namespace fathom::gradient
