// Arithmetic on floats, of one element or of lanes of them.
#pragma once

#include "compiler/codegen/common/Code.h"
#include "compiler/codegen/common/MathLowering.h"
#include "mlir/Dialect/Math/IR/Math.h"

namespace fathom {

struct Float {
  Code &c;
  bool isFast = false; // cheaper functions will do
  mlir::Value add(mlir::Value x, mlir::Value y) { return mlir::arith::AddFOp::create(c.b, c.loc, x, y); }
  mlir::Value sub(mlir::Value x, mlir::Value y) { return mlir::arith::SubFOp::create(c.b, c.loc, x, y); }
  mlir::Value mul(mlir::Value x, mlir::Value y) { return mlir::arith::MulFOp::create(c.b, c.loc, x, y); }
  mlir::Value div(mlir::Value x, mlir::Value y) { return mlir::arith::DivFOp::create(c.b, c.loc, x, y); }
  mlir::Value max(mlir::Value x, mlir::Value y) { return mlir::arith::MaximumFOp::create(c.b, c.loc, x, y); }
  // e^(x - top), where x is at most top.
  mlir::Value expBelow(mlir::Value x, mlir::Value top) {
    auto exp = mlir::math::ExpOp::create(c.b, c.loc, sub(x, top));
    exp->setAttr(atMostZeroAttribute, c.b.getUnitAttr());
    if (isFast)
      exp->setAttr(fastAttribute, c.b.getUnitAttr());
    return exp;
  }
  mlir::Value log(mlir::Value x) { return mlir::math::LogOp::create(c.b, c.loc, x); }
};

} // namespace fathom
