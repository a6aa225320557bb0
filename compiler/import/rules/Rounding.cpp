// Values as 8 bits hold them.
#include "compiler/import/rules/Rounding.h"

using namespace mlir;

namespace fathom::importer {

Quantized quantizeByRange(Node &node, Value input) {
  Type f32 = node.builder().getF32Type(), ui8 = node.builder().getIntegerType(8, /*isSigned=*/false);
  NamedAttribute toScalar = node.attr("keepdims", int64_t(0));
  Value zero = node.scalar(0, f32, "zero"), top = node.scalar(255, f32, "top");
  Value low = node.emit("Min", {node.emit("ReduceMin", input, toScalar, "min"), zero}, {}, "low");
  Value high = node.emit("Max", {node.emit("ReduceMax", input, toScalar, "max"), zero}, {}, "high");
  Value range = node.emit("Div", {node.emit("Sub", {high, low}, {}, "range"), top}, {}, "scale");
  // Nothing but zeros has any scale.
  Value scale = node.emit("Where", {withNumber(node, "Equal", range, 0, "is_zero"), node.scalar(1, f32, "one"), range},
                          {}, "scale");
  Value start = node.emit("Sub", {zero, node.emit("Div", {low, scale}, {}, "steps")}, {}, "start");
  Value rounded = node.emit("Round", node.emit("Clip", {start, zero, top}, {}, "clipped"), {}, "rounded");
  Value zeroPoint = castAs(node, rounded, ui8, "zero_point");
  return {node.emit("QuantizeLinear", {input, scale, zeroPoint}, {}, "quantized"), scale, zeroPoint};
}

} // namespace fathom::importer
