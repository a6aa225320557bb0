// Arithmetic on MLIR values written as arithmetic: Num is a float, Int an integer, Mask a boolean, each a scalar or a
// vector of lanes. A number that stands beside one of them is a constant of its type.
#pragma once

#include "compiler/codegen/common/MathLowering.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/TypeUtilities.h"
#include <cstdint>
#include <initializer_list>
#include <utility>

namespace fathom::mathlowering {

struct Context {
  mlir::OpBuilder &b;
  mlir::Location loc;
  MathOptions options;

  template <typename Op, typename... Args> mlir::Value make(Args &&...args) {
    return Op::create(b, loc, std::forward<Args>(args)...).getResult();
  }
  // The type with another element type and the same lanes.
  static mlir::Type withElement(mlir::Type type, mlir::Type element);
  mlir::Value constant(mlir::Type type, double value);
  mlir::Value constant(mlir::Type type, int64_t value);
};

struct Lanes {
  Context *c = nullptr;
  mlir::Value v;
  mlir::Type type() const { return v.getType(); }
  unsigned bitWidth() const { return mlir::getElementTypeOrSelf(v.getType()).getIntOrFloatBitWidth(); }
};

struct Mask : Lanes {};

struct Int : Lanes {
  Int k(int64_t value) const { return {{c, c->constant(type(), value)}}; }
};

struct Num : Lanes {
  Num k(double value) const { return {{c, c->constant(type(), value)}}; }
  bool isSingle() const { return bitWidth() == 32; }
};

inline Mask operator&(Mask x, Mask y) { return {{x.c, x.c->make<mlir::arith::AndIOp>(x.v, y.v)}}; }
inline Mask operator|(Mask x, Mask y) { return {{x.c, x.c->make<mlir::arith::OrIOp>(x.v, y.v)}}; }
Mask operator!(Mask x);

#define FATHOM_INT_OPERATOR(symbol, op)                                                                                \
  inline Int operator symbol(Int x, Int y) { return {{x.c, x.c->make<mlir::arith::op>(x.v, y.v)}}; }                   \
  inline Int operator symbol(Int x, int64_t y) { return x symbol x.k(y); }
FATHOM_INT_OPERATOR(+, AddIOp)
FATHOM_INT_OPERATOR(-, SubIOp)
FATHOM_INT_OPERATOR(*, MulIOp)
FATHOM_INT_OPERATOR(&, AndIOp)
FATHOM_INT_OPERATOR(|, OrIOp)
FATHOM_INT_OPERATOR(^, XOrIOp)
FATHOM_INT_OPERATOR(<<, ShLIOp)
FATHOM_INT_OPERATOR(>>, ShRSIOp)
#undef FATHOM_INT_OPERATOR
inline Int shiftRightLogical(Int x, Int y) { return {{x.c, x.c->make<mlir::arith::ShRUIOp>(x.v, y.v)}}; }
inline Int shiftRightLogical(Int x, int64_t y) { return shiftRightLogical(x, x.k(y)); }
Mask compare(mlir::arith::CmpIPredicate predicate, Int x, Int y);
inline Mask equal(Int x, int64_t y) { return compare(mlir::arith::CmpIPredicate::eq, x, x.k(y)); }
inline Mask differs(Int x, int64_t y) { return compare(mlir::arith::CmpIPredicate::ne, x, x.k(y)); }
inline Mask operator<(Int x, int64_t y) { return compare(mlir::arith::CmpIPredicate::slt, x, x.k(y)); }

#define FATHOM_NUM_OPERATOR(symbol, op)                                                                                \
  inline Num operator symbol(Num x, Num y) { return {{x.c, x.c->make<mlir::arith::op>(x.v, y.v)}}; }                   \
  inline Num operator symbol(Num x, double y) { return x symbol x.k(y); }                                              \
  inline Num operator symbol(double x, Num y) { return y.k(x) symbol y; }
FATHOM_NUM_OPERATOR(+, AddFOp)
FATHOM_NUM_OPERATOR(-, SubFOp)
FATHOM_NUM_OPERATOR(*, MulFOp)
FATHOM_NUM_OPERATOR(/, DivFOp)
#undef FATHOM_NUM_OPERATOR
inline Num operator-(Num x) { return {{x.c, x.c->make<mlir::arith::NegFOp>(x.v)}}; }

Mask compare(mlir::arith::CmpFPredicate predicate, Num x, Num y);
// Ordered comparisons: false if either side is NaN. differs() is true then.
#define FATHOM_NUM_COMPARISON(name, predicate)                                                                         \
  inline Mask name(Num x, Num y) { return compare(mlir::arith::CmpFPredicate::predicate, x, y); }                      \
  inline Mask name(Num x, double y) { return name(x, x.k(y)); }
FATHOM_NUM_COMPARISON(operator<, OLT)
FATHOM_NUM_COMPARISON(operator<=, OLE)
FATHOM_NUM_COMPARISON(operator>, OGT)
FATHOM_NUM_COMPARISON(operator>=, OGE)
FATHOM_NUM_COMPARISON(equal, OEQ)
FATHOM_NUM_COMPARISON(differs, UNE)
#undef FATHOM_NUM_COMPARISON
inline Mask isNan(Num x) { return compare(mlir::arith::CmpFPredicate::UNO, x, x); }

Num select(Mask mask, Num x, Num y);
inline Num select(Mask mask, double x, Num y) { return select(mask, y.k(x), y); }
inline Num select(Mask mask, Num x, double y) { return select(mask, x, x.k(y)); }
Int select(Mask mask, Int x, Int y);
// Of two constants, those of a type like `like`.
inline Num choose(Mask mask, Num like, double x, double y) { return select(mask, like.k(x), like.k(y)); }

inline Num abs(Num x) { return {{x.c, x.c->make<mlir::math::AbsFOp>(x.v)}}; }
inline Num sqrt(Num x) { return {{x.c, x.c->make<mlir::math::SqrtOp>(x.v)}}; }
inline Num floor(Num x) { return {{x.c, x.c->make<mlir::math::FloorOp>(x.v)}}; }
inline Num trunc(Num x) { return {{x.c, x.c->make<mlir::math::TruncOp>(x.v)}}; }
inline Num roundEven(Num x) { return {{x.c, x.c->make<mlir::math::RoundEvenOp>(x.v)}}; }
inline Num copySign(Num x, Num sign) { return {{x.c, x.c->make<mlir::math::CopySignOp>(x.v, sign.v)}}; }
// x with its sign flipped where `sign` is negative.
Num flipSign(Num x, Num sign);

// x * y + z: rounded once where the target has the instruction, twice elsewhere. Only for what tolerates both.
Num fma(Num x, Num y, Num z);
inline Num fma(Num x, double y, Num z) { return fma(x, x.k(y), z); }
inline Num fma(Num x, double y, double z) { return fma(x, x.k(y), x.k(z)); }
inline Num fma(Num x, Num y, double z) { return fma(x, y, x.k(z)); }

// One instruction each, on x86 too, where comparisons in this order are one. They keep a NaN in x.
Num clampBelow(Num x, double low);
Num clampAbove(Num x, double high);

Int bits(Num x);
Num fromBits(Int x);
// Bits of the mantissa without the leading one, and the bias of the exponent.
inline int64_t mantissaBits(Num x) { return x.isSingle() ? 23 : 52; }
inline int64_t exponentBias(Num x) { return x.isSingle() ? 127 : 1023; }
// Added to a number well below it, rounds that to an integer, which then is the low bits of the sum: no conversion, and
// no undefined value where the number is too large.
inline double roundingConstant(Num x) { return x.isSingle() ? 0x1.8p23 : 0x1.8p52; }
// An integer as a float; for f64 it must be below 2^51 in magnitude, since x86 cannot convert vectors of i64 before
// AVX-512.
Num toFloat(Int x, Num like);
// 2^n from the bits of n + exponentBias + roundingConstant.
inline Num powerOfTwo(Int sum, Num like) { return fromBits(sum << mantissaBits(like)); }
Num widen(Num x);  // f32 to f64
Num narrow(Num x); // f64 to f32

// The sum of coefficients[i] * x^i; the second form has its own coefficients for each type.
using Coefficients = llvm::ArrayRef<double>;
Num polynomial(Num x, Coefficients coefficients);
inline Num polynomial(Num x, Coefficients single, Coefficients wide) {
  return polynomial(x, x.isSingle() ? single : wide);
}
// The constant for the type of `like`.
inline double pick(Num like, double single, double wide) { return like.isSingle() ? single : wide; }

// An unevaluated sum: high is the sum rounded.
struct Pair {
  Num high, low;
};
Pair twoSum(Num x, Num y);
// For |x| >= |y| or x zero.
Pair fastTwoSum(Num x, Num y);
// Exact as long as the product's error is not denormal; without an FMA instruction |x| and |y| below 2^996 (f32:
// 2^115).
Pair twoProduct(Num x, Num y);

} // namespace fathom::mathlowering
