// Rules of elementwise operators: their slopes, as formulas.
#include "compiler/passes/gradient/Rules.h"

#include "llvm/ADT/STLExtras.h"
#include <numbers>

using namespace mlir;
using namespace fathom::graph;

namespace fathom::gradient {
namespace {

// The rule of an operator of which a formula gives the slope, from the operator, its input and its result.
template <typename Op, Term (*slope)(Op, Term, Term)> LogicalResult followSlope(Op op, Backward &back) {
  return back.addIfActive(
      op.getInput(), [&] { return back.adjoint() * slope(op, back.term(op.getInput()), back.term(op.getResult())); });
}

// Of an operator that passes its input through where a condition holds, and is flat elsewhere.
template <typename Op, Term (*passes)(Op, Term)> LogicalResult followGate(Op op, Backward &back) {
  return back.addIfActive(op.getInput(), [&] {
    Term adjoint = back.adjoint();
    return passes(op, back.term(op.getInput())).choose(adjoint, adjoint.number(0));
  });
}

// The two slopes of an operator with two operands.
template <typename Op, Term (*left)(Term, Term, Term), Term (*right)(Term, Term, Term)>
LogicalResult followSlopes(Op op, Backward &back) {
  Term a = back.term(op.getLhs()), b = back.term(op.getRhs()), y = back.term(op.getResult());
  if (failed(back.addIfActive(a, [&] { return back.adjoint() * left(a, b, y); })))
    return failure();
  return back.addIfActive(b, [&] { return back.adjoint() * right(a, b, y); });
}

double alphaOf(auto op) { return op.getAlpha().convertToDouble(); }

Term acosSlope(AcosOp, Term x, Term) { return -1 / sqrt(1 - x * x); }
Term acoshSlope(AcoshOp, Term x, Term) { return 1 / sqrt(x * x - 1); }
Term absSlope(AbsOp, Term x, Term) { return sign(x); }
Term asinSlope(AsinOp, Term x, Term) { return 1 / sqrt(1 - x * x); }
Term asinhSlope(AsinhOp, Term x, Term) { return 1 / sqrt(x * x + 1); }
Term atanSlope(AtanOp, Term x, Term) { return 1 / (x * x + 1); }
Term atanhSlope(AtanhOp, Term x, Term) { return 1 / (1 - x * x); }
Term cosSlope(CosOp, Term x, Term) { return -sin(x); }
Term coshSlope(CoshOp, Term x, Term) { return sinh(x); }
Term erfSlope(ErfOp, Term x, Term) { return 2 * std::numbers::inv_sqrtpi * exp(-(x * x)); }
Term expSlope(ExpOp, Term, Term y) { return y; }
Term logSlope(LogOp, Term x, Term) { return 1 / x; }
Term negSlope(NegOp, Term x, Term) { return x.number(-1); }
Term reciprocalSlope(ReciprocalOp, Term, Term y) { return -(y * y); }
Term sigmoidSlope(SigmoidOp, Term, Term y) { return y * (1 - y); }
Term sinSlope(SinOp, Term x, Term) { return cos(x); }
Term sinhSlope(SinhOp, Term x, Term) { return cosh(x); }
Term softplusSlope(SoftplusOp, Term x, Term) { return sigmoid(x); }
Term softsignSlope(SoftsignOp, Term x, Term) {
  Term scale = 1 / (1 + abs(x));
  return scale * scale;
}
Term sqrtSlope(SqrtOp, Term, Term y) { return 0.5 / y; }
Term tanSlope(TanOp, Term, Term y) { return 1 + y * y; }
Term tanhSlope(TanhOp, Term, Term y) { return 1 - y * y; }

Term hardSwishSlope(HardSwishOp, Term x, Term) {
  Term outside = (x > 0).choose(x.number(1), x.number(0));
  return (abs(x) < 3).choose(x / 3 + 0.5, outside);
}
Term mishSlope(MishOp, Term x, Term) {
  Term factor = tanh(softplus(x));
  return factor + x * sigmoid(x) * (1 - factor * factor);
}
Term celuSlope(CeluOp op, Term x, Term) { return (x > 0).choose(x.number(1), exp(x / alphaOf(op))); }
Term eluSlope(EluOp op, Term x, Term) { return (x > 0).choose(x.number(1), alphaOf(op) * exp(x)); }
Term seluSlope(SeluOp op, Term x, Term) {
  double gamma = op.getGamma().convertToDouble();
  return (x > 0).choose(x.number(gamma), gamma * alphaOf(op) * exp(x));
}
Term hardSigmoidSlope(HardSigmoidOp op, Term x, Term) {
  Term line = alphaOf(op) * x + op.getBeta().convertToDouble();
  return (line > 0 && line < 1).choose(x.number(alphaOf(op)), x.number(0));
}
Term leakyReluSlope(LeakyReluOp op, Term x, Term) { return (x > 0).choose(x.number(1), x.number(alphaOf(op))); }
Term swishSlope(SwishOp op, Term x, Term y) {
  Term gate = sigmoid(alphaOf(op) * x);
  return gate + alphaOf(op) * y * (1 - gate);
}
// x * P(x), where P is the normal distribution's integral, or a hyperbolic tangent that is close to it.
Term geluSlope(GeluOp op, Term x, Term) {
  if (op.getApproximate() == "none") {
    Term part = 0.5 * (1 + erf(x * (1 / std::numbers::sqrt2)));
    return part + x * (std::numbers::inv_sqrtpi / std::numbers::sqrt2 * exp(-0.5 * (x * x)));
  }
  constexpr double scale = std::numbers::sqrt2 * std::numbers::inv_sqrtpi, cubic = 0.044715;
  Term curve = tanh(scale * (x + cubic * (x * x * x)));
  return 0.5 * (1 + curve) + 0.5 * x * (1 - curve * curve) * (scale * (1 + 3 * cubic * (x * x)));
}

Term reluPasses(ReluOp, Term x) { return x > 0; }
Term thresholdPasses(ThresholdedReluOp op, Term x) { return x > alphaOf(op); }
Term shrinkPasses(ShrinkOp op, Term x) { return abs(x) > op.getLambd().convertToDouble(); }

Term other(Term, Term b, Term) { return b; }
Term first(Term a, Term, Term) { return a; }
Term inverse(Term, Term b, Term) { return 1 / b; }
Term minusQuotient(Term, Term b, Term y) { return -y / b; }
// Equal operands share.
Term ifGreater(Term a, Term b, Term) {
  return (a > b).choose(a.number(1), (a == b).choose(a.number(0.5), a.number(0)));
}
Term ifLess(Term a, Term b, Term y) { return ifGreater(b, a, y); }

LogicalResult addMod(ModOp op, Backward &back) {
  if (failed(back.add(op.getLhs(), back.adjoint())))
    return failure();
  return back.addIfActive(op.getRhs(), [&] {
    Term a = back.term(op.getLhs()), b = back.term(op.getRhs()), quotient = a / b;
    return back.adjoint() * -(op.getFmod() ? sign(quotient) * floor(abs(quotient)) : floor(quotient));
  });
}

// Zero to the power of zero is one, and so it is when the exponent says so for every base.
LogicalResult addPow(PowOp op, Backward &back) {
  Term x = back.term(op.getLhs()), y = back.term(op.getResult());
  Term exponent = back.term(op.getRhs()).cast(x.type().getElementType());
  auto alongBase = [&]() -> Value {
    if (auto known = constantFloatsOf(op.getRhs()); known && known->size() == 1) {
      double power = known->front();
      if (power == 2)
        return back.adjoint() * (2 * x);
      if (power != 0)
        return back.adjoint() * (power * pow(x, x.number(power - 1)));
    }
    Term slope = exponent * pow(x, exponent - 1);
    return back.adjoint() * (exponent == 0).choose(slope.number(0), slope);
  };
  if (failed(back.addIfActive(op.getLhs(), alongBase)))
    return failure();
  return back.addIfActive(op.getRhs(), [&] {
    Term isZero = x == 0;
    return back.adjoint() * isZero.choose(x.number(0), y * log(isZero.choose(x.number(1), x)));
  });
}

LogicalResult addPRelu(PReluOp op, Backward &back) {
  Term x = back.term(op.getLhs()), adjoint = back.adjoint(), rises = x > 0;
  if (failed(back.addIfActive(op.getLhs(), [&] { return rises.choose(adjoint, adjoint * back.term(op.getRhs())); })))
    return failure();
  return back.addIfActive(op.getRhs(), [&] { return rises.choose(x.number(0), adjoint * x); });
}

LogicalResult addClip(ClipOp op, Backward &back) {
  Term x = back.term(op.getInput()), adjoint = back.adjoint(), zero = x.number(0), inside = adjoint;
  // A maximum below the minimum wins.
  if (!isa<NoneType>(op.getMin().getType())) {
    Term below = x < back.term(op.getMin());
    inside = below.choose(zero, inside);
    Term chosen = below.choose(adjoint, zero);
    if (!isa<NoneType>(op.getMax().getType()))
      chosen = (back.term(op.getMin()) > back.term(op.getMax())).choose(zero, chosen);
    if (failed(back.add(op.getMin(), chosen)))
      return failure();
  }
  if (!isa<NoneType>(op.getMax().getType())) {
    Term above = x > back.term(op.getMax());
    inside = above.choose(zero, inside);
    Term chosen = above.choose(adjoint, zero);
    if (!isa<NoneType>(op.getMin().getType()))
      chosen = (back.term(op.getMin()) > back.term(op.getMax())).choose(adjoint, chosen);
    if (failed(back.add(op.getMax(), chosen)))
      return failure();
  }
  return back.add(op.getInput(), inside);
}

LogicalResult addCast(CastOp op, Backward &back) {
  return back.addIfActive(op.getInput(), [&] {
    return back.adjoint().cast(cast<RankedTensorType>(op.getInput().getType()).getElementType());
  });
}

LogicalResult addWhere(WhereOp op, Backward &back) {
  Term condition = back.term(op.getCondition()), adjoint = back.adjoint(), zero = adjoint.number(0);
  if (failed(back.addIfActive(op.getX(), [&] { return condition.choose(adjoint, zero); })))
    return failure();
  return back.addIfActive(op.getY(), [&] { return condition.choose(zero, adjoint); });
}

LogicalResult addAdd(AddOp op, Backward &back) {
  return success(succeeded(back.add(op.getLhs(), back.adjoint())) && succeeded(back.add(op.getRhs(), back.adjoint())));
}

LogicalResult addSub(SubOp op, Backward &back) {
  if (failed(back.add(op.getLhs(), back.adjoint())))
    return failure();
  return back.addIfActive(op.getRhs(), [&] { return -back.adjoint(); });
}

} // namespace

void addElementwiseRules(Rules &rules) {
  rules.add(followSlope<AbsOp, absSlope>);
  rules.add(followSlope<AcosOp, acosSlope>);
  rules.add(followSlope<AcoshOp, acoshSlope>);
  rules.add(followSlope<AsinOp, asinSlope>);
  rules.add(followSlope<AsinhOp, asinhSlope>);
  rules.add(followSlope<AtanOp, atanSlope>);
  rules.add(followSlope<AtanhOp, atanhSlope>);
  rules.add(followSlope<CeluOp, celuSlope>);
  rules.add(followSlope<CosOp, cosSlope>);
  rules.add(followSlope<CoshOp, coshSlope>);
  rules.add(followSlope<EluOp, eluSlope>);
  rules.add(followSlope<ErfOp, erfSlope>);
  rules.add(followSlope<ExpOp, expSlope>);
  rules.add(followSlope<GeluOp, geluSlope>);
  rules.add(followSlope<HardSigmoidOp, hardSigmoidSlope>);
  rules.add(followSlope<HardSwishOp, hardSwishSlope>);
  rules.add(followSlope<LeakyReluOp, leakyReluSlope>);
  rules.add(followSlope<LogOp, logSlope>);
  rules.add(followSlope<MishOp, mishSlope>);
  rules.add(followSlope<NegOp, negSlope>);
  rules.add(followSlope<ReciprocalOp, reciprocalSlope>);
  rules.add(followSlope<SeluOp, seluSlope>);
  rules.add(followSlope<SigmoidOp, sigmoidSlope>);
  rules.add(followSlope<SinOp, sinSlope>);
  rules.add(followSlope<SinhOp, sinhSlope>);
  rules.add(followSlope<SoftplusOp, softplusSlope>);
  rules.add(followSlope<SoftsignOp, softsignSlope>);
  rules.add(followSlope<SqrtOp, sqrtSlope>);
  rules.add(followSlope<SwishOp, swishSlope>);
  rules.add(followSlope<TanOp, tanSlope>);
  rules.add(followSlope<TanhOp, tanhSlope>);
  rules.add(followGate<ReluOp, reluPasses>);
  rules.add(followGate<ShrinkOp, shrinkPasses>);
  rules.add(followGate<ThresholdedReluOp, thresholdPasses>);
  rules.add(followSlopes<DivOp, inverse, minusQuotient>);
  rules.add(followSlopes<MaxOp, ifGreater, ifLess>);
  rules.add(followSlopes<MinOp, ifLess, ifGreater>);
  rules.add(followSlopes<MulOp, other, first>);
  rules.add(addAdd);
  rules.add(addCast);
  rules.add(addClip);
  rules.add(addMod);
  rules.add(addPRelu);
  rules.add(addPow);
  rules.add(addSub);
  rules.add(addWhere);
  rules.addFlat<CeilOp, FloorOp, RoundOp, SignOp, IsNaNOp, IsInfOp, EqualOp, GreaterOp, GreaterOrEqualOp, LessOp,
                LessOrEqualOp>();
}

} // namespace fathom::gradient
