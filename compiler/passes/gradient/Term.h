// Values of the graph as terms of formulas: what is written with signs and functions becomes ops.
#pragma once

#include "compiler/passes/Decompose.h"

namespace fathom::gradient {

// Where ops go, and the op that they are named after, with a suffix.
struct Emitter {
  mlir::OpBuilder &builder;
  mlir::Operation *like;
  llvm::StringRef suffix = ".gradient";

  template <typename Op, typename... Args> mlir::Value emit(Args &&...args) {
    return createNamed<Op>(builder, like, suffix, std::forward<Args>(args)...)->getResult(0);
  }
  mlir::Value ints(llvm::ArrayRef<int64_t> values) { return makeInts(builder, like, values); }
  mlir::Value none() { return makeNone(builder, like->getLoc()); }
  mlir::IntegerAttr attr(int64_t value) { return builder.getI64IntegerAttr(value); }
};

class Term {
public:
  Term(Emitter &emitter, mlir::Value value) : emitter(&emitter), value(value) {}
  operator mlir::Value() const { return value; }

  mlir::RankedTensorType type() const { return llvm::cast<mlir::RankedTensorType>(value.getType()); }
  graph::Sizes sizes() const { return graph::sizesOf(value); }
  Emitter &ops() const { return *emitter; }
  int64_t rank() const { return type().getRank(); }
  // A number of this element type.
  Term number(double c) const {
    return {*emitter, makeScalar(emitter->builder, emitter->like, type().getElementType(), c)};
  }

  // An op whose operands are this and others, and attributes.
  template <typename Op, typename... Args> Term apply(Args &&...args) const {
    return {*emitter, emitter->emit<Op>(value, std::forward<Args>(args)...)};
  }

  // Of a condition.
  Term choose(mlir::Value yes, mlir::Value no) const { return apply<graph::WhereOp>(yes, no); }
  // Sums along axes, which stay with a size of 1 or go.
  Term sum(llvm::ArrayRef<int64_t> axes, bool keeps = true) const {
    if (axes.empty())
      return *this;
    return apply<graph::ReduceSumOp>(emitter->ints(axes), emitter->attr(keeps), emitter->attr(0));
  }
  // The same elements with other sizes.
  Term reshaped(llvm::ArrayRef<mlir::AffineExpr> sizes) const {
    if (llvm::equal(this->sizes(), sizes))
      return *this;
    return {*emitter, reshape(emitter->builder, emitter->like, emitter->suffix, value, sizes)};
  }
  Term transposed(llvm::ArrayRef<int64_t> order) const {
    return apply<graph::TransposeOp>(emitter->builder.getDenseI64ArrayAttr(order));
  }
  // With the last two dimensions exchanged.
  Term exchanged() const {
    llvm::SmallVector<int64_t> order = llvm::to_vector(llvm::seq<int64_t>(0, rank()));
    std::swap(order.end()[-1], order.end()[-2]);
    return transposed(order);
  }
  Term expanded(llvm::ArrayRef<mlir::AffineExpr> sizes) const {
    if (llvm::equal(this->sizes(), sizes))
      return *this;
    return apply<graph::ExpandOp>(sizesOperand(emitter->builder, emitter->like, sizes));
  }
  Term cast(mlir::Type element) const {
    return element == type().getElementType() ? *this : apply<graph::CastOp>(mlir::TypeAttr::get(element));
  }

private:
  Emitter *emitter;
  mlir::Value value;
};

inline Term operator+(Term a, Term b) { return a.apply<graph::AddOp>(mlir::Value(b)); }
inline Term operator-(Term a, Term b) { return a.apply<graph::SubOp>(mlir::Value(b)); }
inline Term operator*(Term a, Term b) { return a.apply<graph::MulOp>(mlir::Value(b)); }
inline Term operator/(Term a, Term b) { return a.apply<graph::DivOp>(mlir::Value(b)); }
inline Term operator-(Term a) { return a.apply<graph::NegOp>(); }
inline Term operator+(Term a, double b) { return a + a.number(b); }
inline Term operator-(Term a, double b) { return a - a.number(b); }
inline Term operator*(Term a, double b) { return a * a.number(b); }
inline Term operator/(Term a, double b) { return a / a.number(b); }
inline Term operator+(double a, Term b) { return b.number(a) + b; }
inline Term operator-(double a, Term b) { return b.number(a) - b; }
inline Term operator*(double a, Term b) { return b * a; }
inline Term operator/(double a, Term b) { return b.number(a) / b; }

// Conditions.
inline Term operator>(Term a, Term b) { return a.apply<graph::GreaterOp>(mlir::Value(b)); }
inline Term operator<(Term a, Term b) { return a.apply<graph::LessOp>(mlir::Value(b)); }
inline Term operator==(Term a, Term b) { return a.apply<graph::EqualOp>(mlir::Value(b)); }
inline Term operator>(Term a, double b) { return a > a.number(b); }
inline Term operator<(Term a, double b) { return a < a.number(b); }
inline Term operator==(Term a, double b) { return a == a.number(b); }
inline Term operator&&(Term a, Term b) { return a.apply<graph::AndOp>(mlir::Value(b)); }

inline Term abs(Term x) { return x.apply<graph::AbsOp>(); }
inline Term cos(Term x) { return x.apply<graph::CosOp>(); }
inline Term cosh(Term x) { return x.apply<graph::CoshOp>(); }
inline Term erf(Term x) { return x.apply<graph::ErfOp>(); }
inline Term exp(Term x) { return x.apply<graph::ExpOp>(); }
inline Term floor(Term x) { return x.apply<graph::FloorOp>(); }
inline Term log(Term x) { return x.apply<graph::LogOp>(); }
inline Term sigmoid(Term x) { return x.apply<graph::SigmoidOp>(); }
inline Term sign(Term x) { return x.apply<graph::SignOp>(); }
inline Term sin(Term x) { return x.apply<graph::SinOp>(); }
inline Term sinh(Term x) { return x.apply<graph::SinhOp>(); }
inline Term softplus(Term x) { return x.apply<graph::SoftplusOp>(); }
inline Term sqrt(Term x) { return x.apply<graph::SqrtOp>(); }
inline Term tanh(Term x) { return x.apply<graph::TanhOp>(); }
inline Term pow(Term x, Term y) { return x.apply<graph::PowOp>(mlir::Value(y)); }

} // namespace fathom::gradient
