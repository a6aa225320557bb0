// Types that the program writes, as terms.
#include "compiler/functional/types/Declared.h"

#include "compiler/functional/syntax/Codes.h"
#include "compiler/graph/SizeMath.h"

using namespace llvm;
using mlir::AffineExpr;

namespace fathom::functional {

bool Declared::isComplete(const Function &function) {
  return function.result && all_of(function.parameters, [](const Parameter &parameter) { return parameter.type; });
}

void Declared::open(const std::vector<std::string> &parameters, bool isRigid, Place place) {
  names.isRigid = isRigid;
  for (const std::string &name : parameters) {
    Type *type = unifier.make(isRigid ? Type::Parameter : Type::Variable, place);
    type->name = name;
    names.types[name] = type;
  }
}

AffineExpr Declared::size(const SizeExpr &expr) {
  namespace math = graph::size;
  AffineExpr left = expr.left ? size(*expr.left) : AffineExpr(), right = expr.right ? size(*expr.right) : AffineExpr();
  if ((expr.left && !left) || (expr.right && !right))
    return {};
  AffineExpr made;
  switch (expr.kind) {
  case SizeExpr::Number:
    return unifier.number(expr.number);
  case SizeExpr::Any:
    return unifier.symbol("", /*isRigid=*/false);
  case SizeExpr::Symbol: {
    AffineExpr &symbol = names.sizes[expr.name];
    if (!symbol)
      symbol = unifier.symbol(expr.name, names.isRigid);
    return symbol;
  }
  case SizeExpr::Add:
    made = math::add(left, right);
    break;
  case SizeExpr::Sub:
    made = math::sub(left, right);
    break;
  case SizeExpr::Mul:
    made = math::mul(left, right);
    break;
  case SizeExpr::Div:
    if (auto divisor = dyn_cast<mlir::AffineConstantExpr>(right); !divisor || divisor.getValue() > 0)
      made = math::floorDiv(left, right);
    break;
  }
  auto constant = dyn_cast_or_null<mlir::AffineConstantExpr>(made);
  if (!made)
    source.error(expr.place, badTypes) << "this size cannot be computed";
  else if (constant && constant.getValue() < 0)
    return source.error(expr.place, badTypes) << "a size of " << constant.getValue(), AffineExpr();
  return made;
}

Type *Declared::type(const TypeExpr &expr) {
  std::vector<Type *> parts;
  bool isTensor = expr.kind == TypeExpr::Tensor;
  if (!isTensor)
    for (const TypeExpr *part : expr.parts)
      if (!parts.emplace_back(type(*part)))
        return nullptr;
  switch (expr.kind) {
  case TypeExpr::Tensor: {
    SmallVector<AffineExpr> sizes;
    for (const SizeExpr *each : expr.sizes)
      if (!sizes.emplace_back(size(*each)))
        return nullptr;
    const TypeExpr &element = *expr.parts[0];
    if (element.kind == TypeExpr::Named && element.parts.empty()) {
      if (std::optional<ElementType> known = elementNamed(element.name))
        return unifier.tensor(sizes, unifier.element(*known, expr.place), expr.place);
      if (Type *parameter = names.types.lookup(element.name))
        return unifier.tensor(sizes, parameter, expr.place);
    }
    return hint(source.error(element.place, badTypes) << "a tensor has no elements of this type",
                "element types are called as in NumPy, such as float32"),
           nullptr;
  }
  case TypeExpr::Tuple:
    return unifier.make(Type::Tuple, expr.place, parts);
  case TypeExpr::Function:
    return unifier.make(Type::Function, expr.place, parts);
  case TypeExpr::Ref:
    return unifier.make(Type::Ref, expr.place, parts);
  case TypeExpr::Named:
    break;
  }
  if (Type *parameter = names.types.lookup(expr.name); parameter && parts.empty())
    return parameter;
  if (std::optional<ElementType> element = elementNamed(expr.name); element && parts.empty())
    return unifier.scalar(*element, expr.place);
  const DataType *data = dataTypes.named(expr.name);
  if (!data)
    return source.error(expr.place, badTypes) << "there is no type '" << expr.name << "'", nullptr;
  if (data->parameters.size() != parts.size())
    return source.error(expr.place, badTypes)
               << "type " << data->name << " takes " << data->parameters.size() << " arguments, not " << parts.size(),
           nullptr;
  Type *made = unifier.make(Type::Data, expr.place, parts);
  made->name = expr.name;
  return made;
}

Type *Declared::function(const Function &function) {
  std::vector<Type *> parts;
  for (const Parameter &parameter : function.parameters)
    if (!parts.emplace_back(type(*parameter.type)))
      return nullptr;
  if (!parts.emplace_back(type(*function.result)))
    return nullptr;
  return unifier.make(Type::Function, function.place, parts);
}

Type *Declared::constructor(const DataType &data, const Constructor &constructor) {
  names = {};
  open(data.parameters, /*isRigid=*/true, data.place);
  Type *made = unifier.make(Type::Data, constructor.place);
  made->name = data.name;
  for (const std::string &parameter : data.parameters)
    made->parts.push_back(names.types.lookup(parameter));
  std::vector<Type *> parts;
  for (const TypeExpr *field : constructor.fields)
    if (!parts.emplace_back(type(*field)))
      return nullptr;
  if (parts.empty())
    return made;
  parts.push_back(made);
  return unifier.make(Type::Function, constructor.place, parts);
}

} // namespace fathom::functional
