// Where a Resize's results lie in its input, as the op's attributes say it: in code, and at compile time.
#pragma once

#include "compiler/codegen/common/Code.h"
#include "compiler/graph/Graph.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include <cmath>

namespace fathom {

// Arithmetic on coordinates, in double precision: which element is nearest must not depend on rounding.
struct Coordinates {
  using Number = mlir::Value;
  Code &c;
  mlir::Type type() const { return c.b.getF64Type(); }
  mlir::Value k(double value) const { return c.number(type(), value); }
  mlir::Value add(mlir::Value x, mlir::Value y) const { return mlir::arith::AddFOp::create(c.b, c.loc, x, y); }
  mlir::Value sub(mlir::Value x, mlir::Value y) const { return mlir::arith::SubFOp::create(c.b, c.loc, x, y); }
  mlir::Value mul(mlir::Value x, mlir::Value y) const { return mlir::arith::MulFOp::create(c.b, c.loc, x, y); }
  mlir::Value div(mlir::Value x, mlir::Value y) const { return mlir::arith::DivFOp::create(c.b, c.loc, x, y); }
  mlir::Value floor(mlir::Value x) const { return mlir::math::FloorOp::create(c.b, c.loc, x); }
  mlir::Value ceil(mlir::Value x) const { return mlir::math::CeilOp::create(c.b, c.loc, x); }
  mlir::Value abs(mlir::Value x) const { return mlir::math::AbsFOp::create(c.b, c.loc, x); }
  mlir::Value fromInteger(mlir::Value x) const { return mlir::arith::SIToFPOp::create(c.b, c.loc, type(), x); }
  mlir::Value toInteger(mlir::Value x) const { return mlir::arith::FPToSIOp::create(c.b, c.loc, c.b.getI64Type(), x); }
  mlir::Value less(mlir::Value x, mlir::Value y) const {
    return mlir::arith::CmpFOp::create(c.b, c.loc, mlir::arith::CmpFPredicate::OLT, x, y);
  }
  mlir::Value equal(mlir::Value x, mlir::Value y) const {
    return mlir::arith::CmpFOp::create(c.b, c.loc, mlir::arith::CmpFPredicate::OEQ, x, y);
  }
  mlir::Value select(mlir::Value condition, mlir::Value x, mlir::Value y) const { return c.select(condition, x, y); }
};

// The same where all is known.
struct KnownCoordinates {
  using Number = double;
  double k(double value) const { return value; }
  double add(double x, double y) const { return x + y; }
  double sub(double x, double y) const { return x - y; }
  double mul(double x, double y) const { return x * y; }
  double div(double x, double y) const { return x / y; }
  double floor(double x) const { return std::floor(x); }
  double ceil(double x) const { return std::ceil(x); }
  double abs(double x) const { return std::abs(x); }
  bool less(double x, double y) const { return x < y; }
  bool equal(double x, double y) const { return x == y; }
  double select(bool condition, double x, double y) const { return condition ? x : y; }
};

// What the op's attributes say about places along an axis.
template <typename Arithmetic> struct Axis {
  using Number = typename Arithmetic::Number;
  Arithmetic f;
  mutable graph::ResizeOp op;
  Number length, count, scale; // of the input, of the result, and what was asked for
  Number start, end;           // of the region that is cropped

  // Where in the input a result's position lies.
  Number origin(Number x) const {
    llvm::StringRef mode = op.getCoordinateTransformationMode();
    Number last = f.sub(length, f.k(1)), resized = f.mul(scale, length);
    Number halfPixel = f.sub(f.div(f.add(x, f.k(0.5)), scale), f.k(0.5));
    auto unlessOne = [&](Number one, Number other) { return f.select(f.equal(resized, f.k(1)), one, other); };
    if (mode == "align_corners")
      return unlessOne(f.k(0), f.div(f.mul(x, last), f.sub(resized, f.k(1))));
    if (mode == "asymmetric")
      return f.div(x, scale);
    if (mode == "tf_half_pixel_for_nn")
      return f.div(f.add(x, f.k(0.5)), scale);
    if (mode == "pytorch_half_pixel")
      return f.select(f.equal(count, f.k(1)), f.k(0), halfPixel);
    if (mode == "half_pixel_symmetric") {
      Number offset = f.mul(f.mul(length, f.k(0.5)), f.sub(f.k(1), f.div(count, resized)));
      return f.add(offset, halfPixel);
    }
    if (mode != "tf_crop_and_resize")
      return halfPixel;
    Number extent = f.sub(end, start), many = f.div(f.mul(f.mul(x, extent), last), f.sub(resized, f.k(1)));
    return f.add(unlessOne(f.mul(f.mul(extent, f.k(0.5)), last), many), f.mul(start, last));
  }

  Number nearestTo(Number place) const {
    llvm::StringRef mode = op.getNearestMode();
    if (mode == "floor")
      return f.floor(place);
    if (mode == "ceil")
      return f.ceil(place);
    return mode == "round_prefer_ceil" ? f.floor(f.add(place, f.k(0.5))) : f.ceil(f.sub(place, f.k(0.5)));
  }
};

// The filter at a distance from the place: a triangle or Keys' cubic.
template <typename Arithmetic, typename Number>
Number filterAt(const Arithmetic &f, graph::ResizeOp op, Number distance) {
  Number x = f.abs(distance);
  if (op.getMode() == "linear")
    return f.select(f.less(f.k(1), x), f.k(0), f.sub(f.k(1), x));
  double a = op.getCubicCoeffA().convertToDouble();
  auto polynomial = [&](double c3, double c2, double c1, double c0) {
    return f.add(f.mul(f.add(f.mul(f.add(f.mul(f.k(c3), x), f.k(c2)), x), f.k(c1)), x), f.k(c0));
  };
  Number near = polynomial(a + 2, -(a + 3), 0, 1), far = polynomial(a, -5 * a, 8 * a, -4 * a);
  return f.select(f.less(f.k(1), x), f.select(f.less(x, f.k(2)), far, f.k(0)), near);
}

} // namespace fathom
