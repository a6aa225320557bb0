// Arithmetic on int64 and bool as ONNX defines it. Nothing is folded that would be refused when it runs.
#include "compiler/functional/lower/Fold.h"

#include "compiler/graph/Shape.h"
#include "llvm/ADT/StringSwitch.h"

using namespace llvm;

namespace fathom::functional {
namespace {

std::optional<int64_t> apply(StringRef op, int64_t a, int64_t b) {
  auto wrap = [](uint64_t value) { return int64_t(value); };
  bool divides = b != 0 && !(a == INT64_MIN && b == -1);
  if (op == "Add")
    return wrap(uint64_t(a) + uint64_t(b));
  if (op == "Sub")
    return wrap(uint64_t(a) - uint64_t(b));
  if (op == "Mul")
    return wrap(uint64_t(a) * uint64_t(b));
  if (op == "Div" && divides)
    return a / b;
  if (op == "Mod" && divides) // with the divisor's sign
    return a % b + (a % b != 0 && ((a % b < 0) != (b < 0)) ? b : 0);
  if (op == "Max")
    return std::max(a, b);
  if (op == "Min")
    return std::min(a, b);
  if (op == "And")
    return a && b;
  if (op == "Or")
    return a || b;
  if (op == "Less")
    return a < b;
  if (op == "LessOrEqual")
    return a <= b;
  if (op == "Greater")
    return a > b;
  if (op == "GreaterOrEqual")
    return a >= b;
  if (op == "Equal")
    return a == b;
  return std::nullopt;
}

bool comparesOrDecides(StringRef op) {
  return StringSwitch<bool>(op)
      .Cases({"Less", "LessOrEqual", "Greater", "GreaterOrEqual", "Equal"}, true)
      .Cases({"And", "Or"}, true)
      .Default(false);
}

// The sizes of a tensor, where all are known.
std::optional<Literal> foldShape(const TensorType &type) {
  Literal made{ElementType::Int64, {int64_t(type.sizes.size())}, {}, {}};
  for (mlir::AffineExpr size : type.sizes) {
    std::optional<int64_t> constant = graph::constantSize(size);
    if (!constant)
      return std::nullopt;
    made.integers.push_back(*constant);
  }
  return made;
}

bool isWhole(const Literal &literal) {
  return literal.element == ElementType::Int64 || literal.element == ElementType::Bool;
}

} // namespace

std::optional<Literal> fold(const Expr &op, ArrayRef<ValueRef> operands) {
  if (!op.attributes.empty() || op.index != 1 || is_contained(operands, nullptr))
    return std::nullopt;
  StringRef name = op.name;
  if (name == "Shape" && operands.size() == 1)
    return foldShape(operands[0]->type);
  if (!all_of(operands, [](const ValueRef &operand) { return operand->constant && isWhole(*operand->constant); }))
    return std::nullopt;
  auto scalar = [&](unsigned i) { return knownScalar(*operands[i]); };
  if (operands.size() == 1 && scalar(0)) {
    const Literal &only = *operands[0]->constant;
    if (name == "Not" && only.element == ElementType::Bool)
      return Literal{ElementType::Bool, {}, {!only.integers[0]}, {}};
    if (name == "Neg" && only.element == ElementType::Int64)
      return Literal{ElementType::Int64, {}, {int64_t(-uint64_t(only.integers[0]))}, {}};
    return std::nullopt;
  }
  if (operands.size() != 2)
    return std::nullopt;
  const Literal &a = *operands[0]->constant, &b = *operands[1]->constant;
  if (name == "Gather" && a.dims.size() == 1 && b.dims.empty() && b.element == ElementType::Int64) {
    int64_t index = b.integers[0] < 0 ? b.integers[0] + a.dims[0] : b.integers[0];
    if (index < 0 || index >= a.dims[0])
      return std::nullopt;
    return Literal{a.element, {}, {a.integers[index]}, {}};
  }
  if (!scalar(0) || !scalar(1) || a.element != b.element)
    return std::nullopt;
  std::optional<int64_t> made = apply(name, a.integers[0], b.integers[0]);
  if (!made)
    return std::nullopt;
  return Literal{comparesOrDecides(name) ? ElementType::Bool : a.element, {}, {*made}, {}};
}

} // namespace fathom::functional
