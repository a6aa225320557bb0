// Makes and compares values.
#include "compiler/functional/lower/Value.h"

#include "llvm/ADT/STLExtras.h"

using namespace llvm;

namespace fathom::functional {

static std::shared_ptr<Value> make(Value::Kind kind) {
  auto value = std::make_shared<Value>();
  value->kind = kind;
  return value;
}

ValueRef makeTensor(std::string name, TensorType type) {
  auto value = make(Value::Tensor);
  value->name = std::move(name), value->type = std::move(type);
  return value;
}

ValueRef makeConstant(Literal literal, mlir::MLIRContext *context) {
  auto value = make(Value::Tensor);
  value->type.element = literal.element;
  for (int64_t dim : literal.dims)
    value->type.sizes.push_back(mlir::getAffineConstantExpr(dim, context));
  value->constant = std::make_shared<Literal>(std::move(literal));
  return value;
}

ValueRef makeValue(Value::Kind kind, std::vector<ValueRef> parts) {
  auto value = make(kind);
  value->parts = std::move(parts);
  return value;
}

ValueRef withParts(const Value &value, std::vector<ValueRef> parts) {
  auto made = std::make_shared<Value>(value);
  made->parts = std::move(parts);
  return made;
}

std::optional<int64_t> knownScalar(const Value &value) {
  if (!value.constant || !value.constant->dims.empty() || value.constant->integers.size() != 1)
    return std::nullopt;
  return value.constant->integers[0];
}

static bool isSame(const Literal &a, const Literal &b) {
  auto sameBits = [](double a, double b) { return bit_cast<uint64_t>(a) == bit_cast<uint64_t>(b); };
  return a.element == b.element && a.dims == b.dims && a.integers == b.integers &&
         std::equal(a.floats.begin(), a.floats.end(), b.floats.begin(), b.floats.end(), sameBits);
}

bool isSame(const Value &a, const Value &b) {
  if (&a == &b)
    return true;
  if (a.kind != b.kind || a.parts.size() != b.parts.size() || a.constructor != b.constructor ||
      a.function != b.function || a.location != b.location || bool(a.constant) != bool(b.constant))
    return false;
  if (a.constant ? !isSame(*a.constant, *b.constant) : a.name != b.name)
    return false;
  return all_of(zip(a.parts, b.parts), [](auto pair) {
    auto &[one, other] = pair;
    return bool(one) == bool(other) && (!one || isSame(*one, *other));
  });
}

} // namespace fathom::functional
