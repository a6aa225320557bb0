// Moves, casts and reshapes, made and named in one line.
#include "compiler/import/rules/Parts.h"

using namespace mlir;

namespace fathom::importer {

Value transpose(Node &node, Value value, ArrayRef<int64_t> perm, StringRef suffix) {
  return node.emit("Transpose", value, node.attr("perm", node.builder().getDenseI64ArrayAttr(perm)), suffix);
}

Value withNumber(Node &node, StringRef op, Value value, double number, StringRef suffix) {
  if (!value)
    return {};
  Type element = cast<RankedTensorType>(value.getType()).getElementType();
  return node.emit(op, {value, node.scalar(number, element, (suffix + ".number").str())}, {}, suffix);
}

Value part(Node &node, Value value, int64_t axis, int64_t from, int64_t to, StringRef suffix) {
  return node.emit("Slice", {value, node.ints({from}, "from"), node.ints({to}, "to"), node.ints({axis}, "axis")}, {},
                   suffix);
}

Value castAs(Node &node, Value value, Type element, StringRef suffix) {
  if (!value || cast<RankedTensorType>(value.getType()).getElementType() == element)
    return value;
  return node.emit("Cast", value, node.attr("to", TypeAttr::get(element)), suffix);
}

Value reshapeTo(Node &node, Value value, ArrayRef<AffineExpr> sizes, StringRef suffix) {
  if (!value || llvm::is_contained(sizes, AffineExpr()))
    return {};
  // A size of 0 is meant, not copied.
  return node.emit("Reshape", {value, node.sizesValue(sizes, false, (suffix + ".shape").str())},
                   node.attr("allowzero", int64_t(1)), suffix);
}

Value countUp(Node &node, AffineExpr count, StringRef suffix) {
  Type i64 = node.builder().getI64Type();
  return node.emit("Range",
                   {node.scalar(0, i64, "zero"), node.sizesValue({count}, true, "count"), node.scalar(1, i64, "one")},
                   {}, suffix);
}

} // namespace fathom::importer
