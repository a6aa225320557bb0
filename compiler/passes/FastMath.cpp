// Marks functions whose cheaper approximations will do. What they are is said where code is made of them, so that
// whatever an op is fused with, and however it is written, it stays one function.
#include "compiler/passes/FastMath.h"

#include "compiler/passes/Passes.h"

using namespace mlir;
using namespace fathom::graph;

namespace fathom {
#define GEN_PASS_DEF_FASTMATHPASS
#include "compiler/passes/Passes.h.inc"

static constexpr StringLiteral mark = "graph.fast";

bool isApproximable(Operation *op) {
  if (!isa<ErfOp, ExpOp, GeluOp, LogSoftmaxOp, SigmoidOp, SoftmaxOp, SwishOp, TanhOp>(op) || op->hasAttr(mark))
    return false;
  // Halves are computed in single precision.
  Type element = cast<RankedTensorType>(op->getResult(0).getType()).getElementType();
  return isa<FloatType>(element) && element.getIntOrFloatBitWidth() <= 32;
}

namespace {

struct FastMathPass : impl::FastMathPassBase<FastMathPass> {
  LogicalResult runOnFunction(func::FuncOp function) override {
    if (context().fp == FloatMode::Strict)
      return success();
    function.walk([&](Operation *op) {
      if (isApproximable(op))
        op->setAttr(mark, UnitAttr::get(&getContext()));
    });
    return success();
  }
};

} // namespace
} // namespace fathom
