// Joins values. Constructions and closures that differ become a choice: a scalar that tells which it is, and the parts
// of every alternative, which hold zeros where another one is meant.
#include "compiler/functional/lower/Join.h"

#include "compiler/graph/Shape.h"
#include "llvm/ADT/STLExtras.h"

using namespace llvm;
using mlir::AffineExpr;

namespace fathom::functional {

ValueRef Join::hole(const TensorType &type) { return makeTensor("", type); }

static TensorType joined(const TensorType &a, const TensorType &b) {
  TensorType made = a;
  for (auto [size, other] : zip(made.sizes, b.sizes))
    if (size != other)
      size = AffineExpr();
  return made;
}

ValueRef Join::opened(const ValueRef &value, unsigned outside) {
  bool isSeen = value->name.empty() || !builder.isMadeSince(value->name, outside);
  if (value->kind == Value::Tensor)
    return value->constant || isSeen ? value : hole(value->type);
  auto made = std::make_shared<Value>(*value);
  if (!isSeen)
    made->name.clear();
  for (ValueRef &part : made->parts)
    part = opened(part, outside);
  return made;
}

// A choice whose number is a hole.
static bool isOpen(const Value &structure) { return structure.kind == Value::Choice && structure.name.empty(); }

// Which alternative of a choice is of the same construction or function.
static std::optional<size_t> alternativeOf(const Value &choice, const Value &value) {
  for (auto [i, part] : enumerate(choice.parts))
    if (part->constructor == value.constructor && part->function == value.function)
      return i;
  return std::nullopt;
}

static bool isOneOf(const Value &value) { return value.kind == Value::Data || value.kind == Value::Closure; }

ValueRef Join::join(const ValueRef &a, const ValueRef &b, unsigned outside) {
  if (isSame(*a, *b) && !isHole(*a))
    return a;
  if (a->kind == Value::Tensor && b->kind == Value::Tensor) {
    if (a->type.element != b->type.element || a->type.sizes.size() != b->type.sizes.size())
      return nullptr;
    return hole(joined(a->type, b->type));
  }
  bool isAlike = a->kind == b->kind && a->parts.size() == b->parts.size() && a->constructor == b->constructor &&
                 a->function == b->function && a->location == b->location && a->kind != Value::Choice &&
                 a->kind != Value::Ref;
  if (isAlike) {
    std::vector<ValueRef> parts;
    for (auto [one, other] : zip(a->parts, b->parts))
      if (!parts.emplace_back(join(one, other, outside)))
        return nullptr;
    return withParts(*a, std::move(parts));
  }
  // A choice of all that either may be.
  bool isChoice = (isOneOf(*a) || a->kind == Value::Choice) && (isOneOf(*b) || b->kind == Value::Choice);
  if (!isChoice)
    return nullptr;
  auto choice = std::make_shared<Value>();
  choice->kind = Value::Choice;
  for (const ValueRef &side : {a, b})
    for (const ValueRef &each : side->kind == Value::Choice ? ArrayRef(side->parts) : ArrayRef(side)) {
      std::optional<size_t> known = alternativeOf(*choice, *each);
      if (!known) {
        choice->parts.push_back(opened(each, outside));
        continue;
      }
      ValueRef both = join(choice->parts[*known], opened(each, outside), outside);
      if (!both)
        return nullptr;
      choice->parts[*known] = both;
    }
  return choice;
}

std::string Join::nameOf(const Value &tensor) {
  return tensor.constant ? builder.constant(*tensor.constant) : tensor.name;
}

// Zeros, as large as is known; 1 is as good as any size where it is not.
void Join::collectFillers(const Value &structure, std::vector<std::string> &names, Place place) {
  if (isHole(structure)) {
    Literal shape{ElementType::Int64, {int64_t(structure.type.sizes.size())}, {}, {}};
    for (AffineExpr size : structure.type.sizes)
      shape.integers.push_back(size ? graph::constantSize(size).value_or(1) : 1);
    onnx::NodeProto &zeros = builder.node("ConstantOfShape", {builder.constant(shape)}, 1, place);
    onnx::AttributeProto &value = *zeros.add_attribute();
    value.set_name("value");
    value.set_type(onnx::AttributeProto::TENSOR);
    Literal zero{structure.type.element, {1}, {}, {}};
    isFloat(zero.element) ? zero.floats.push_back(0) : zero.integers.push_back(0);
    describeConstant(zero, *value.mutable_t());
    names.push_back(zeros.output(0));
    return;
  }
  if (isOpen(structure))
    names.push_back(builder.constant({ElementType::Int64, {}, {0}, {}}));
  for (const ValueRef &part : structure.parts)
    collectFillers(*part, names, place);
}

void Join::collect(const Value &value, const Value &structure, std::vector<std::string> &names, Place place) {
  if (isHole(structure)) {
    names.push_back(nameOf(value));
    return;
  }
  if (!isOpen(structure)) {
    for (auto [part, its] : zip(value.parts, structure.parts))
      collect(*part, *its, names, place);
    return;
  }
  // The number of the alternative in the structure, in which there may be more than in the value.
  std::vector<size_t> numbers;
  ArrayRef<ValueRef> alternatives = value.kind == Value::Choice ? ArrayRef(value.parts) : ArrayRef<ValueRef>();
  for (const ValueRef &each : alternatives)
    numbers.push_back(*alternativeOf(structure, *each));
  if (value.kind != Value::Choice) {
    names.push_back(builder.constant({ElementType::Int64, {}, {int64_t(*alternativeOf(structure, value))}, {}}));
  } else if (is_sorted(numbers) && numbers.size() == (numbers.empty() ? 0 : numbers.back() + 1)) {
    names.push_back(value.name);
  } else {
    Literal table{ElementType::Int64, {int64_t(numbers.size())}, {numbers.begin(), numbers.end()}, {}};
    names.push_back(builder.one("Gather", {builder.constant(table), value.name}, place));
  }
  for (auto [i, its] : enumerate(structure.parts)) {
    const Value *mine = nullptr;
    if (value.kind != Value::Choice)
      mine = alternativeOf(structure, value) == i ? &value : nullptr;
    else
      for (auto [number, part] : zip(numbers, value.parts))
        mine = number == i ? part.get() : mine;
    if (mine)
      collect(*mine, *its, names, place);
    else
      collectFillers(*its, names, place);
  }
}

ValueRef Join::fill(const ValueRef &structure, function_ref<std::string(const TensorType &)> next) {
  if (isHole(*structure)) {
    TensorType type = structure->type;
    std::string name = next(type);
    for (AffineExpr &size : type.sizes)
      if (!size)
        size = unifier.symbol("", /*isRigid=*/false);
    return makeTensor(std::move(name), std::move(type));
  }
  auto made = std::make_shared<Value>(*structure);
  if (isOpen(*structure))
    made->name = next({ElementType::Int64, {}});
  for (ValueRef &part : made->parts)
    part = fill(part, next);
  return made;
}

bool Join::isSameStructure(const Value &a, const Value &b) {
  if (isHole(a) || isHole(b))
    return isHole(a) && isHole(b) && a.type.sizes == b.type.sizes;
  if (a.kind != b.kind || a.parts.size() != b.parts.size())
    return false;
  if (a.parts.empty())
    return isSame(a, b);
  return a.constructor == b.constructor && a.function == b.function && all_of(zip(a.parts, b.parts), [](auto pair) {
           return isSameStructure(*std::get<0>(pair), *std::get<1>(pair));
         });
}

} // namespace fathom::functional
