// Rules of normalisations by statistics of each row.
#include "compiler/passes/gradient/Rules.h"

using namespace mlir;
using namespace fathom::graph;

namespace fathom::gradient {
namespace {

SmallVector<int64_t> axesFrom(int64_t axis, Term x) {
  return llvm::to_vector(llvm::seq<int64_t>(*normalizeAxis(axis, x.rank()), x.rank()));
}

// Means over what the scale goes along.
struct Means {
  Backward &back;
  SmallVector<int64_t> axes;
  Term operator()(Term x) const {
    return x.apply<ReduceMeanOp>(back.ops().ints(axes), back.ops().attr(1), back.ops().attr(0));
  }
};

// What the op gives of its statistics may have fewer bits than its input.
bool isRounded(Value statistic, Term x) {
  return cast<RankedTensorType>(statistic.getType()).getElementTypeBitWidth() < x.type().getElementTypeBitWidth();
}

LogicalResult addLayerNormalization(LayerNormalizationOp op, Backward &back) {
  Term x = back.term(op.getInput()), scale = back.term(op.getScale());
  Type element = x.type().getElementType();
  Means mean{back, axesFrom(op.getAxis(), x)};
  bool recomputes = isRounded(op.getMean(), x);
  Term centered = x - (recomputes ? mean(x) : back.term(op.getMean()).cast(element));
  Term deviation = recomputes ? 1 / sqrt(mean(centered * centered) + op.getEpsilon().convertToDouble())
                              : back.term(op.getInvStdDev()).cast(element);
  Term normal = centered * deviation;
  if (back.hasAdjoint(0)) {
    Term adjoint = back.adjoint();
    if (failed(back.addIfActive(op.getScale(), [&] { return adjoint * normal; })) ||
        failed(back.add(op.getBias(), adjoint)) || failed(back.addIfActive(op.getInput(), [&] {
          Term scaled = adjoint * scale;
          return deviation * (scaled - mean(scaled) - normal * mean(scaled * normal));
        })))
      return failure();
  }
  Sizes along;
  for (int64_t axis : mean.axes)
    along.push_back(x.sizes()[axis]);
  if (back.hasAdjoint(1) && failed(back.addIfActive(op.getInput(), [&] {
        return back.adjoint(1).cast(element) / countOf(back, along, element);
      })))
    return failure();
  if (!back.hasAdjoint(2))
    return success();
  return back.addIfActive(op.getInput(), [&] {
    return -(back.adjoint(2).cast(element) * deviation * deviation) * normal / countOf(back, along, element);
  });
}

LogicalResult addRMSNormalization(RMSNormalizationOp op, Backward &back) {
  Term x = back.term(op.getInput()), scale = back.term(op.getScale()), adjoint = back.adjoint();
  Means mean{back, axesFrom(op.getAxis(), x)};
  Term inverse = 1 / sqrt(mean(x * x) + op.getEpsilon().convertToDouble());
  if (failed(back.addIfActive(op.getScale(), [&] { return adjoint * (x * inverse); })))
    return failure();
  return back.addIfActive(op.getInput(), [&] {
    Term scaled = adjoint * scale, normal = x * inverse;
    return inverse * (scaled - normal * mean(scaled * normal));
  });
}

} // namespace

void addNormalizationRules(Rules &rules) {
  rules.add(addLayerNormalization);
  rules.add(addRMSNormalization);
}

} // namespace fathom::gradient
