// The arithmetic of elementwise ops on registers: one case per op, for scalars and vectors alike.
#include "compiler/codegen/common/Emitter.h"
#include "compiler/codegen/common/MathLowering.h"

#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace fathom::graph;

namespace fathom {
namespace {

// Builds arithmetic on values of one register type; `element` is the tensor's element type, which knows about signs.
struct Arithmetic {
  Code &c;
  Type element;        // as in the tensor
  Type type;           // in registers
  bool isFast = false; // cheaper functions will do

  bool isFloat() const { return isa<FloatType>(element); }
  bool isUnsigned() const { return element.isUnsignedInteger() || element.isInteger(1); }
  Value k(double value) const { return c.number(type, value); }
  template <typename Op, typename... Args> Value make(Args... args) const {
    Op op = Op::create(c.b, c.loc, args...);
    if constexpr (llvm::is_one_of<Op, math::ExpOp, math::TanhOp, math::ErfOp>::value)
      if (isFast)
        op->setAttr(fastAttribute, c.b.getUnitAttr());
    return op;
  }
  template <typename FloatOp, typename SignedOp, typename UnsignedOp = SignedOp, typename... Args>
  Value pick(Args... args) const {
    return isFloat() ? make<FloatOp>(args...) : isUnsigned() ? make<UnsignedOp>(args...) : make<SignedOp>(args...);
  }

  Value add(Value x, Value y) const { return pick<arith::AddFOp, arith::AddIOp>(x, y); }
  Value sub(Value x, Value y) const { return pick<arith::SubFOp, arith::SubIOp>(x, y); }
  Value mul(Value x, Value y) const { return pick<arith::MulFOp, arith::MulIOp>(x, y); }
  Value div(Value x, Value y) const { return pick<arith::DivFOp, arith::DivSIOp, arith::DivUIOp>(x, y); }
  // ONNX's Max and Min give NaN if either is NaN; arith.maximumf does too.
  Value max(Value x, Value y) const { return pick<arith::MaximumFOp, arith::MaxSIOp, arith::MaxUIOp>(x, y); }
  Value min(Value x, Value y) const { return pick<arith::MinimumFOp, arith::MinSIOp, arith::MinUIOp>(x, y); }
  Value neg(Value x) const { return isFloat() ? make<arith::NegFOp>(x) : make<arith::SubIOp>(k(0), x); }
  Value exp(Value x) const { return make<math::ExpOp>(x); }
  Value less(Value x, Value y) const {
    return compare(arith::CmpFPredicate::OLT, arith::CmpIPredicate::slt, arith::CmpIPredicate::ult, x, y);
  }
  Value compare(arith::CmpFPredicate f, arith::CmpIPredicate s, arith::CmpIPredicate u, Value x, Value y) const {
    return isFloat() ? make<arith::CmpFOp>(f, x, y) : make<arith::CmpIOp>(isUnsigned() ? u : s, x, y);
  }
  Value select(Value condition, Value x, Value y) const { return make<arith::SelectOp>(condition, x, y); }
  Value sigmoid(Value x) const { return div(k(1), add(k(1), exp(neg(x)))); }
  Value abs(Value x) const {
    return isFloat() ? make<math::AbsFOp>(x) : isUnsigned() ? x : make<arith::MaxSIOp>(x, neg(x));
  }
};

Type resultLike(Value operand, Type element) {
  auto vector = dyn_cast<VectorType>(operand.getType());
  return vector ? Type(vector.clone(element)) : element;
}

Value emitCast(Code &c, Value x, Type from, Type to) {
  Type target = resultLike(x, registerType(to));
  if (from == to)
    return x;
  auto make = [&]<typename Op>() { return Value(Op::create(c.b, c.loc, target, x)); };
  bool fromUnsigned = from.isUnsignedInteger() || from.isInteger(1);
  if (to.isInteger(1)) {
    Value zero = c.number(x.getType(), 0);
    return isa<FloatType>(from) ? Value(arith::CmpFOp::create(c.b, c.loc, arith::CmpFPredicate::UNE, x, zero))
                                : Value(arith::CmpIOp::create(c.b, c.loc, arith::CmpIPredicate::ne, x, zero));
  }
  if (isa<FloatType>(from) && isa<FloatType>(to)) {
    unsigned a = from.getIntOrFloatBitWidth(), b = to.getIntOrFloatBitWidth();
    if (a == b) { // f16 <-> bf16 meet in f32
      Value wide = arith::ExtFOp::create(c.b, c.loc, resultLike(x, c.b.getF32Type()), x);
      return arith::TruncFOp::create(c.b, c.loc, target, wide);
    }
    return a < b ? make.operator()<arith::ExtFOp>() : make.operator()<arith::TruncFOp>();
  }
  if (isa<FloatType>(from)) {
    // Through a wider integer, so that narrow targets wrap as numpy and ONNX Runtime do instead of being undefined.
    Type wide = resultLike(x, to.getIntOrFloatBitWidth() < 32 ? c.b.getI32Type() : c.b.getI64Type());
    if (to.isUnsignedInteger(64))
      return make.operator()<arith::FPToUIOp>();
    if (to.getIntOrFloatBitWidth() == 64)
      return make.operator()<arith::FPToSIOp>();
    if (to.isSignlessInteger(32))
      return make.operator()<arith::FPToSIOp>();
    Value integer = arith::FPToSIOp::create(c.b, c.loc, wide, x);
    return arith::TruncIOp::create(c.b, c.loc, target, integer);
  }
  if (isa<FloatType>(to))
    return fromUnsigned ? make.operator()<arith::UIToFPOp>() : make.operator()<arith::SIToFPOp>();
  unsigned a = from.getIntOrFloatBitWidth(), b = to.getIntOrFloatBitWidth();
  if (a == b)
    return x;
  if (a > b)
    return make.operator()<arith::TruncIOp>();
  return fromUnsigned ? make.operator()<arith::ExtUIOp>() : make.operator()<arith::ExtSIOp>();
}

// x^y for integers by repeated squaring; negative exponents give 0 unless |x| is 1, as numpy's truncation does.
Value integerPower(Arithmetic &a, Value x, Value y) {
  Value result = a.k(1), base = x, zero = a.k(0);
  for (int bit = 0; bit < 6; ++bit) {
    Value odd = a.make<arith::AndIOp>(a.make<arith::ShRUIOp>(y, a.k(bit)), a.k(1));
    result = a.select(a.make<arith::CmpIOp>(arith::CmpIPredicate::ne, odd, zero), a.mul(result, base), result);
    base = a.mul(base, base);
  }
  return result;
}

Value emitPow(Emitter &e, PowOp op, Arithmetic &a, Value x, Value y) {
  if (auto exponents = constantFloatsOf(op.getRhs());
      exponents && a.isFloat() && !exponents->empty() && llvm::all_equal(*exponents)) {
    // Exact shortcuts that exporters produce: x^2 in layer norms, x^0.5, x^3 in GELU.
    double exponent = exponents->front();
    if (exponent == 1)
      return x;
    if (exponent == 2)
      return a.mul(x, x);
    if (exponent == 3)
      return a.mul(a.mul(x, x), x);
    if (exponent == -1)
      return a.div(a.k(1), x);
  }
  Type exponent = cast<RankedTensorType>(op.getRhs().getType()).getElementType();
  if (a.isFloat())
    return a.make<math::PowFOp>(x, emitCast(a.c, y, exponent, a.element));
  if (isa<FloatType>(exponent)) {
    Type f64 = a.c.b.getF64Type();
    Value power = a.make<math::PowFOp>(emitCast(a.c, x, a.element, f64), emitCast(a.c, y, exponent, f64));
    return emitCast(a.c, power, f64, a.element);
  }
  return integerPower(a, x, emitCast(a.c, y, exponent, a.element));
}

Value emitMod(ModOp op, Arithmetic &a, Value x, Value y) {
  if (a.isFloat()) {
    Value remainder = a.make<arith::RemFOp>(x, y);
    if (op.getFmod())
      return remainder;
    Value differs = a.make<arith::AndIOp>(
        a.make<arith::CmpFOp>(arith::CmpFPredicate::ONE, remainder, a.k(0)),
        a.make<arith::CmpIOp>(arith::CmpIPredicate::ne, a.less(remainder, a.k(0)), a.less(y, a.k(0))));
    // A zero has the divisor's sign.
    Value zero = a.make<arith::CmpFOp>(arith::CmpFPredicate::OEQ, remainder, a.k(0));
    return a.select(zero, a.make<math::CopySignOp>(a.k(0), y), a.select(differs, a.add(remainder, y), remainder));
  }
  if (a.isUnsigned())
    return a.make<arith::RemUIOp>(x, y);
  Value remainder = a.make<arith::RemSIOp>(x, y);
  if (op.getFmod())
    return remainder;
  Value differs = a.make<arith::AndIOp>(a.make<arith::CmpIOp>(arith::CmpIPredicate::ne, remainder, a.k(0)),
                                        a.less(a.make<arith::XOrIOp>(remainder, y), a.k(0)));
  return a.select(differs, a.add(remainder, y), remainder);
}

Value emitQuantize(QuantizeLinearOp op, Arithmetic &in, ValueRange x) {
  Code &c = in.c;
  Type to = cast<RankedTensorType>(op.getType()).getElementType();
  std::optional<SmallVector<double>> scale = constantFloatsOf(op.getScale());
  bool isOne = scale && llvm::all_of(*scale, [](double factor) { return factor == 1; });
  Value scaled = in.make<math::RoundEvenOp>(isOne ? x[0] : in.div(x[0], x[1]));
  if (x[2])
    scaled = in.add(scaled, emitCast(c, x[2], to, in.element));
  unsigned bits = to.getIntOrFloatBitWidth();
  bool isUnsigned = to.isUnsignedInteger();
  double low = isUnsigned ? 0 : -std::ldexp(1, bits - 1), high = std::ldexp(1, isUnsigned ? bits : bits - 1) - 1;
  return emitCast(c, in.min(in.max(scaled, in.k(low)), in.k(high)), in.element, to);
}

bool isHalf(Type type) { return isa<FloatType>(type) && type.getIntOrFloatBitWidth() == 16; }

// Halves are rounded once, from single precision: the numbers themselves may be larger than any half.
Value emitDequantize(DequantizeLinearOp op, Code &c, ValueRange x) {
  Type from = cast<RankedTensorType>(op.getInput().getType()).getElementType();
  Type to = cast<RankedTensorType>(op.getType()).getElementType();
  Type wide = c.b.getI32Type();
  Value value = emitCast(c, x[0], from, wide);
  if (x[2])
    value = arith::SubIOp::create(c.b, c.loc, value, emitCast(c, x[2], from, wide));
  Type real = isHalf(to) ? Type(c.b.getF32Type()) : to;
  Value product = arith::MulFOp::create(c.b, c.loc, emitCast(c, value, wide, real), emitCast(c, x[1], to, real));
  return emitCast(c, product, real, to);
}

// The arithmetic itself; operands are at least single precision.
Value emitOp(Emitter &e, Operation *op, Arithmetic a, ValueRange x) {
  using FP = arith::CmpFPredicate;
  using IP = arith::CmpIPredicate;
  auto alpha = [&](auto op) { return a.k(op.getAlpha().convertToDouble()); };
  return TypeSwitch<Operation *, Value>(op)
      .Case([&](AbsOp) { return a.abs(x[0]); })
      .Case([&](AcosOp) { return a.make<math::AcosOp>(x[0]); })
      .Case([&](AcoshOp) { return a.make<math::AcoshOp>(x[0]); })
      .Case([&](AsinOp) { return a.make<math::AsinOp>(x[0]); })
      .Case([&](AsinhOp) { return a.make<math::AsinhOp>(x[0]); })
      .Case([&](AtanOp) { return a.make<math::AtanOp>(x[0]); })
      .Case([&](AtanhOp) { return a.make<math::AtanhOp>(x[0]); })
      .Case([&](BitwiseNotOp) { return a.make<arith::XOrIOp>(x[0], a.k(-1)); })
      .Case([&](CeilOp) { return a.make<math::CeilOp>(x[0]); })
      .Case([&](CosOp) { return a.make<math::CosOp>(x[0]); })
      .Case([&](CoshOp) { return a.make<math::CoshOp>(x[0]); })
      .Case([&](ErfOp) { return a.make<math::ErfOp>(x[0]); })
      .Case([&](ExpOp) { return a.exp(x[0]); })
      .Case([&](FloorOp) { return a.make<math::FloorOp>(x[0]); })
      .Case([&](HardSwishOp) {
        return a.mul(x[0], a.max(a.k(0), a.min(a.k(1), a.add(a.mul(x[0], a.k(1.0 / 6)), a.k(0.5)))));
      })
      .Case([&](LogOp) { return a.make<math::LogOp>(x[0]); })
      .Case([&](MishOp) { return a.mul(x[0], a.make<math::TanhOp>(a.make<math::Log1pOp>(a.exp(x[0])))); })
      .Case([&](NegOp) { return a.neg(x[0]); })
      .Case([&](NotOp) { return a.make<arith::XOrIOp>(x[0], a.k(1)); })
      .Case([&](ReciprocalOp) { return a.div(a.k(1), x[0]); })
      .Case([&](ReluOp) { return a.max(x[0], a.k(0)); })
      .Case([&](RoundOp) { return a.make<math::RoundEvenOp>(x[0]); })
      .Case([&](SigmoidOp) { return a.sigmoid(x[0]); })
      .Case([&](SignOp) {
        Value zero = a.k(0), one = a.k(1);
        Value positive =
            a.select(a.less(zero, x[0]), one,
                     a.isFloat() ? a.select(a.make<arith::CmpFOp>(FP::UNO, x[0], x[0]), x[0], zero) : zero);
        return a.isUnsigned() ? positive : a.select(a.less(x[0], zero), a.k(-1), positive);
      })
      .Case([&](SinOp) { return a.make<math::SinOp>(x[0]); })
      .Case([&](SinhOp) { return a.make<math::SinhOp>(x[0]); })
      .Case([&](SoftplusOp) { // max(x, 0) + log1p(exp(-|x|)) does not overflow
        return a.add(a.max(x[0], a.k(0)), a.make<math::Log1pOp>(a.exp(a.neg(a.abs(x[0])))));
      })
      .Case([&](SoftsignOp) { return a.div(x[0], a.add(a.k(1), a.abs(x[0]))); })
      .Case([&](SqrtOp) { return a.make<math::SqrtOp>(x[0]); })
      .Case([&](TanOp) { return a.make<math::TanOp>(x[0]); })
      .Case([&](TanhOp) { return a.make<math::TanhOp>(x[0]); })
      .Case([&](CeluOp op) {
        Value scaled = a.mul(alpha(op), a.make<math::ExpM1Op>(a.div(x[0], alpha(op))));
        return a.add(a.max(x[0], a.k(0)), a.min(a.k(0), scaled));
      })
      .Case(
          [&](EluOp op) { return a.select(a.less(x[0], a.k(0)), a.mul(alpha(op), a.make<math::ExpM1Op>(x[0])), x[0]); })
      .Case([&](GeluOp op) {
        if (op.getApproximate() == "tanh") {
          Value cube = a.mul(a.mul(x[0], x[0]), x[0]);
          Value inner = a.mul(a.k(0.7978845608028654), a.add(x[0], a.mul(a.k(0.044715), cube)));
          return a.mul(a.mul(a.k(0.5), x[0]), a.add(a.k(1), a.make<math::TanhOp>(inner)));
        }
        return a.mul(a.mul(a.k(0.5), x[0]), a.add(a.k(1), a.make<math::ErfOp>(a.mul(x[0], a.k(0.7071067811865476)))));
      })
      .Case([&](HardSigmoidOp op) {
        Value line = a.add(a.mul(alpha(op), x[0]), a.k(op.getBeta().convertToDouble()));
        return a.max(a.k(0), a.min(a.k(1), line));
      })
      .Case([&](LeakyReluOp op) { return a.select(a.less(x[0], a.k(0)), a.mul(alpha(op), x[0]), x[0]); })
      .Case([&](SeluOp op) {
        Value gamma = a.k(op.getGamma().convertToDouble());
        return a.mul(gamma, a.select(a.less(a.k(0), x[0]), x[0], a.mul(alpha(op), a.make<math::ExpM1Op>(x[0]))));
      })
      .Case([&](ShrinkOp op) {
        Value bias = a.k(op.getBias().convertToDouble());
        double limit = op.getLambd().convertToDouble();
        Value right = a.select(a.less(a.k(limit), x[0]), a.sub(x[0], bias), a.k(0));
        return a.select(a.less(x[0], a.k(-limit)), a.add(x[0], bias), right);
      })
      .Case([&](SwishOp op) { return a.mul(x[0], a.sigmoid(a.mul(alpha(op), x[0]))); })
      .Case([&](ThresholdedReluOp op) { return a.select(a.less(alpha(op), x[0]), x[0], a.k(0)); })
      .Case([&](IsNaNOp) { return a.make<arith::CmpFOp>(FP::UNO, x[0], x[0]); })
      .Case([&](IsInfOp op) {
        Value no = a.make<arith::CmpFOp>(FP::AlwaysFalse, x[0], x[0]);
        Value infinity = a.k(std::numeric_limits<double>::infinity());
        Value positive = op.getDetectPositive() ? a.make<arith::CmpFOp>(FP::OEQ, x[0], infinity) : no;
        Value negative = op.getDetectNegative() ? a.make<arith::CmpFOp>(FP::OEQ, x[0], a.neg(infinity)) : no;
        return a.make<arith::OrIOp>(positive, negative);
      })
      .Case([&](AddOp) { return a.add(x[0], x[1]); })
      .Case([&](SubOp) { return a.sub(x[0], x[1]); })
      .Case([&](MulOp) { return a.mul(x[0], x[1]); })
      .Case([&](DivOp) {
        if (a.isFloat())
          return a.div(x[0], x[1]);
        // Neither division by zero, whose result is unspecified, nor of the least number by -1 must trap.
        Value safe = a.select(a.make<arith::CmpIOp>(IP::eq, x[1], a.k(0)), a.k(1), x[1]);
        if (a.isUnsigned())
          return a.div(x[0], safe);
        Value negates = a.make<arith::CmpIOp>(IP::eq, x[1], a.k(-1));
        return a.select(negates, a.sub(a.k(0), x[0]), a.div(x[0], a.select(negates, a.k(1), safe)));
      })
      .Case([&](MaxOp) { return a.max(x[0], x[1]); })
      .Case([&](MinOp) { return a.min(x[0], x[1]); })
      .Case([&](ModOp op) {
        Value divisor = a.isFloat() ? x[1] : a.select(a.make<arith::CmpIOp>(IP::eq, x[1], a.k(0)), a.k(1), x[1]);
        // The rest by -1 is 0, as it is by 1; the quotient might overflow.
        if (!a.isFloat() && !a.isUnsigned())
          divisor = a.select(a.make<arith::CmpIOp>(IP::eq, divisor, a.k(-1)), a.k(1), divisor);
        return emitMod(op, a, x[0], divisor);
      })
      .Case([&](PowOp op) { return emitPow(e, op, a, x[0], x[1]); })
      .Case([&](PReluOp) { return a.select(a.less(x[0], a.k(0)), a.mul(x[1], x[0]), x[0]); })
      .Case([&](BitShiftOp op) {
        unsigned bits = a.element.getIntOrFloatBitWidth();
        Value width = a.c.integer(a.type, bits), tooFar = a.make<arith::CmpIOp>(IP::uge, x[1], width);
        if (op.getDirection() == "LEFT")
          return a.select(tooFar, a.k(0), a.make<arith::ShLIOp>(x[0], x[1]));
        if (a.isUnsigned())
          return a.select(tooFar, a.k(0), a.make<arith::ShRUIOp>(x[0], x[1]));
        return a.make<arith::ShRSIOp>(x[0], a.select(tooFar, a.c.integer(a.type, bits - 1), x[1]));
      })
      .Case<AndOp, BitwiseAndOp>([&](auto) { return a.make<arith::AndIOp>(x[0], x[1]); })
      .Case<OrOp, BitwiseOrOp>([&](auto) { return a.make<arith::OrIOp>(x[0], x[1]); })
      .Case<XorOp, BitwiseXorOp>([&](auto) { return a.make<arith::XOrIOp>(x[0], x[1]); })
      .Case([&](EqualOp) { return a.compare(FP::OEQ, IP::eq, IP::eq, x[0], x[1]); })
      .Case([&](GreaterOp) { return a.compare(FP::OGT, IP::sgt, IP::ugt, x[0], x[1]); })
      .Case([&](GreaterOrEqualOp) { return a.compare(FP::OGE, IP::sge, IP::uge, x[0], x[1]); })
      .Case([&](LessOp) { return a.compare(FP::OLT, IP::slt, IP::ult, x[0], x[1]); })
      .Case([&](LessOrEqualOp) { return a.compare(FP::OLE, IP::sle, IP::ule, x[0], x[1]); })
      .Case([&](ClipOp) {
        Value value = x[1] ? a.max(x[0], x[1]) : x[0];
        return x[2] ? a.min(value, x[2]) : value;
      })
      .Case([&](QuantizeLinearOp op) { return emitQuantize(op, a, x); })
      .Default([](Operation *) { return Value(); });
}

} // namespace

Value emitElementwise(Emitter &e, Operation *op, ValueRange operands, int64_t lanes) {
  Code &c = e.c;
  Type element = cast<RankedTensorType>(op->getOperand(0).getType()).getElementType();
  Type result = cast<RankedTensorType>(op->getResult(0).getType()).getElementType();
  if (isa<CastOp>(op))
    return emitCast(c, operands[0], element, result);
  if (isa<BitCastOp>(op)) {
    Type type = vectorType(result, lanes);
    return operands[0].getType() == type ? operands[0] : arith::BitcastOp::create(c.b, c.loc, type, operands[0]);
  }
  if (isa<WhereOp>(op))
    return arith::SelectOp::create(c.b, c.loc, operands[0], operands[1], operands[2]);
  if (auto dequantize = dyn_cast<DequantizeLinearOp>(op))
    return emitDequantize(dequantize, c, operands);
  bool isFast = op->hasAttr("graph.fast");
  if (!isHalf(element))
    return emitOp(e, op, Arithmetic{c, element, vectorType(element, lanes), isFast}, operands);
  // Half precision is storage: each op computes in single precision and rounds its result.
  Type wide = c.b.getF32Type();
  SmallVector<Value> widened;
  for (auto [value, operand] : llvm::zip(operands, op->getOperands())) {
    bool extend = value && isHalf(cast<RankedTensorType>(operand.getType()).getElementType());
    widened.push_back(extend ? emitCast(c, value, cast<RankedTensorType>(operand.getType()).getElementType(), wide)
                             : value);
  }
  Value value = emitOp(e, op, Arithmetic{c, wide, vectorType(wide, lanes), isFast}, widened);
  return isHalf(result) ? emitCast(c, value, wide, result) : value;
}

} // namespace fathom
