// Scales are looked at where they are constant.
#include "compiler/import/node/Scales.h"

#include "compiler/graph/Graph.h"
#include "compiler/graph/Shape.h"
#include "compiler/support/Diagnostics.h"
#include "llvm/ADT/TypeSwitch.h"
#include <cmath>

using namespace mlir;

namespace fathom::importer {

static LogicalResult check(Operation *op, Value scale, StringRef name, bool isDivisor) {
  auto values = graph::constantFloatsOf(scale);
  for (auto [i, value] : llvm::enumerate(values.value_or(SmallVector<double>())))
    if (std::isnan(value) || (isDivisor && value == 0)) {
      InFlightDiagnostic error = emitError(op, ErrorCode::BadTensor) << name;
      if (values->size() > 1)
        error << " of channel " << i;
      return hint(std::move(error << (std::isnan(value) ? " is no number"
                                                        : " is zero, and what is quantised is divided by it")),
                  "scales are positive: quantise the model again, on data that is not all zeros");
    }
  return success();
}

LogicalResult checkScales(Operation *op) {
  auto checkAll = [&](Value left, Value right, Value result, StringRef leftName, StringRef rightName) {
    return success(succeeded(check(op, left, leftName, false)) && succeeded(check(op, right, rightName, false)) &&
                   succeeded(check(op, result, "the result's scale", true)));
  };
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](graph::QuantizeLinearOp quantize) { return check(op, quantize.getScale(), "the scale", true); })
      .Case([&](graph::DequantizeLinearOp dequantize) { return check(op, dequantize.getScale(), "the scale", false); })
      .Case([&](graph::QLinearMatMulOp product) {
        return checkAll(product.getLhsScale(), product.getRhsScale(), product.getScale(), "the left scale",
                        "the right scale");
      })
      .Case([&](graph::QLinearConvOp conv) {
        return checkAll(conv.getInputScale(), conv.getWeightScale(), conv.getScale(), "the input's scale",
                        "the weight's scale");
      })
      .Default(success());
}

} // namespace fathom::importer
