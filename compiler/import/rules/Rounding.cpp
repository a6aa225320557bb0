// Values as 8 bits hold them.
#include "compiler/import/rules/Rounding.h"

using namespace mlir;

namespace fathom::importer {

Quantized quantizeByRange(Node &node, Value input) {
  Operation *op = node.create("DynamicQuantizeLinear", input, {}, 3, "quantized");
  return op ? Quantized{op->getResult(0), op->getResult(1), op->getResult(2)} : Quantized();
}

} // namespace fathom::importer
