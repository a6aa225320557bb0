// Unification of types, and of sizes by solving linear equations for a symbol.
#include "compiler/functional/types/Unifier.h"

#include "compiler/graph/SizeMath.h"
#include "llvm/ADT/SmallBitVector.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;
using mlir::AffineExpr;

namespace fathom::functional {

Type *Unifier::make(Type::Kind kind, Place place, std::vector<Type *> parts) {
  Type &type = types.emplace_back();
  type.kind = kind, type.place = place, type.parts = std::move(parts), type.level = level;
  return &type;
}

Type *Unifier::variable(Place place) { return make(Type::Variable, place); }

Type *Unifier::element(ElementType element, Place place) {
  Type *type = make(Type::Element, place);
  type->element = element;
  return type;
}

Type *Unifier::scalar(ElementType type, Place place) { return tensor({}, element(type, place), place); }

Type *Unifier::tensor(ArrayRef<AffineExpr> sizes, Type *element, Place place) {
  Type *type = make(Type::Tensor, place, {element});
  type->sizes.assign(sizes.begin(), sizes.end());
  return type;
}

AffineExpr Unifier::symbol(std::string name, bool isRigid) {
  symbols.push_back({std::move(name), isRigid, level, {}});
  return mlir::getAffineSymbolExpr(symbols.size() - 1, context);
}

Type *Unifier::known(Type *type) {
  while (type->link)
    type = type->link;
  return type;
}

AffineExpr Unifier::known(AffineExpr size) const {
  SmallBitVector used;
  graph::collectSymbols(size, used);
  DenseMap<AffineExpr, AffineExpr> found;
  for (unsigned position : used.set_bits())
    if (symbols[position].known)
      found[mlir::getAffineSymbolExpr(position, context)] = known(symbols[position].known);
  if (found.empty())
    return size;
  AffineExpr replaced = size.replace(found), canonical = graph::size::canonical(replaced);
  return canonical ? canonical : replaced;
}

bool Unifier::occurs(Type *variable, Type *type) {
  type = known(type);
  if (type == variable)
    return true;
  if (type->kind == Type::Variable || type->kind == Type::Parameter)
    type->level = std::min(type->level, variable->level);
  for (AffineExpr size : type->sizes)
    lower(size, variable->level);
  return any_of(type->parts, [&](Type *part) { return occurs(variable, part); });
}

void Unifier::lower(AffineExpr size, unsigned level) {
  SmallBitVector used;
  graph::collectSymbols(known(size), used);
  for (unsigned position : used.set_bits())
    symbols[position].level = std::min(symbols[position].level, level);
}

void Unifier::bind(unsigned symbol, AffineExpr size) {
  lower(size, symbols[symbol].level);
  symbols[symbol].known = size;
}

bool Unifier::unify(Type *a, Type *b) {
  a = known(a), b = known(b);
  if (a == b)
    return true;
  if (a->kind != Type::Variable && b->kind == Type::Variable)
    std::swap(a, b);
  if (a->kind == Type::Variable) {
    if (occurs(a, b))
      return false;
    a->link = b;
    return true;
  }
  if (a->kind != b->kind || a->kind == Type::Parameter || a->parts.size() != b->parts.size() || a->name != b->name ||
      a->sizes.size() != b->sizes.size() || (a->kind == Type::Element && a->element != b->element))
    return false;
  for (auto [one, other] : zip(a->sizes, b->sizes))
    if (!unify(one, other))
      return false;
  for (auto [one, other] : zip(a->parts, b->parts))
    if (!unify(one, other))
      return false;
  return true;
}

bool Unifier::unify(AffineExpr a, AffineExpr b) {
  a = known(a), b = known(b);
  if (a == b)
    return true;
  auto isFree = [&](AffineExpr size) {
    auto symbol = dyn_cast<mlir::AffineSymbolExpr>(size);
    return symbol && !symbols[symbol.getPosition()].isRigid;
  };
  auto mentions = [](AffineExpr size, AffineExpr symbol) {
    return size.isFunctionOfSymbol(cast<mlir::AffineSymbolExpr>(symbol).getPosition());
  };
  if (!isFree(a))
    std::swap(a, b);
  if (isFree(a) && !mentions(b, a))
    return bind(cast<mlir::AffineSymbolExpr>(a).getPosition(), b), true;
  AffineExpr difference = graph::size::sub(a, b);
  return difference && solve(difference);
}

// Where the expression is linear in a symbol that may be anything, the equation says what the symbol is.
bool Unifier::solve(AffineExpr zero) {
  if (auto constant = dyn_cast<mlir::AffineConstantExpr>(zero))
    return constant.getValue() == 0;
  SmallBitVector used;
  graph::collectSymbols(zero, used);
  bool isOpen = false;
  for (unsigned position : used.set_bits()) {
    if (symbols[position].isRigid)
      continue;
    isOpen = true;
    AffineExpr symbol = mlir::getAffineSymbolExpr(position, context);
    AffineExpr rest = graph::size::canonical(zero.replace(symbol, number(0)));
    AffineExpr one = graph::size::canonical(zero.replace(symbol, number(1)));
    AffineExpr slope = rest && one ? graph::size::sub(one, rest) : AffineExpr();
    auto factor = dyn_cast_or_null<mlir::AffineConstantExpr>(slope);
    if (!factor || factor.getValue() == 0 ||
        !graph::size::same(graph::size::add(graph::size::mul(symbol, factor.getValue()), rest), zero))
      continue;
    int64_t by = -factor.getValue();
    if (AffineExpr size =
            by == 1 ? rest : graph::size::exactDiv(graph::size::mul(rest, by < 0 ? -1 : 1), number(std::abs(by))))
      return bind(position, size), true;
    // 2 n = 5 has no solution; 2 n = m is left to the run.
    if (isa<mlir::AffineConstantExpr>(rest))
      return false;
  }
  return isOpen;
}

bool Unifier::mentionsDeeper(Type *type, unsigned level) const {
  type = known(type);
  if ((type->kind == Type::Variable || type->kind == Type::Parameter) && type->level > level)
    return true;
  for (AffineExpr size : type->sizes) {
    SmallBitVector used;
    graph::collectSymbols(known(size), used);
    if (any_of(used.set_bits(), [&](unsigned position) { return symbols[position].level > level; }))
      return true;
  }
  return any_of(type->parts, [&](Type *part) { return mentionsDeeper(part, level); });
}

Scheme Unifier::instantiate(const Scheme &scheme, unsigned level, Place call) {
  DenseMap<Type *, Type *> copies;
  DenseMap<AffineExpr, AffineExpr> sizes;
  this->level = level;
  auto copySize = [&](AffineExpr size) {
    size = known(size);
    SmallBitVector used;
    graph::collectSymbols(size, used);
    for (unsigned position : used.set_bits()) {
      AffineExpr old = mlir::getAffineSymbolExpr(position, context);
      if (symbols[position].level > scheme.level && !sizes.contains(old)) {
        AffineExpr made = symbol(symbols[position].name, /*isRigid=*/false);
        sizes[old] = made;
      }
    }
    return size.replace(sizes);
  };
  auto copy = [&](auto &self, Type *type) -> Type * {
    if (!type)
      return nullptr;
    type = known(type);
    if (!mentionsDeeper(type, scheme.level))
      return type;
    Type *&made = copies[type];
    if (made)
      return made;
    bool isAny = type->kind == Type::Variable || type->kind == Type::Parameter;
    // What the caller chooses is said at the call.
    Type *fresh = make(isAny ? Type::Variable : type->kind, isAny ? call : type->place);
    made = fresh;
    fresh->element = type->element, fresh->name = isAny ? "" : type->name;
    std::vector<Type *> parts;
    for (Type *part : type->parts)
      parts.push_back(self(self, part));
    fresh->parts = std::move(parts);
    for (AffineExpr size : type->sizes)
      fresh->sizes.push_back(copySize(size));
    return fresh;
  };
  Scheme made{copy(copy, scheme.type), level, {}, scheme.constant};
  for (const Relation &relation : scheme.relations) {
    Relation fresh{relation.op, {}, relation.constants, {}, call};
    for (Type *type : relation.operands)
      fresh.operands.push_back(copy(copy, type));
    for (Type *type : relation.results)
      fresh.results.push_back(copy(copy, type));
    made.relations.push_back(std::move(fresh));
  }
  return made;
}

std::string Unifier::spell(AffineExpr size) const {
  // MLIR's text has numbers for symbols.
  std::string text;
  raw_string_ostream out(text);
  out << known(size);
  std::string named;
  for (size_t i = 0; i < text.size();) {
    unsigned position;
    StringRef rest = StringRef(text).drop_front(i);
    bool isSymbol =
        rest.consume_front("s") && !rest.empty() && isDigit(rest.front()) && !rest.consumeInteger(10, position);
    if (isSymbol) {
      named += symbols[position].name.empty() ? "?" : symbols[position].name;
      i = text.size() - rest.size();
    } else {
      named += text[i++];
    }
  }
  return named;
}

std::string Unifier::spell(Type *type) const {
  type = known(type);
  auto parts = [&](ArrayRef<Type *> list) {
    return join(map_range(list, [&](Type *part) { return spell(part); }), ", ");
  };
  switch (type->kind) {
  case Type::Variable:
    return "_";
  case Type::Parameter:
    return type->name;
  case Type::Element:
    return nameOf(type->element).name.str();
  case Type::Tensor:
    if (type->sizes.empty())
      return spell(type->parts[0]);
    return "Tensor[(" + join(map_range(type->sizes, [&](AffineExpr size) { return spell(size); }), ", ") + "), " +
           spell(type->parts[0]) + "]";
  case Type::Tuple:
    return "(" + parts(type->parts) + (type->parts.size() == 1 ? ",)" : ")");
  case Type::Function:
    return "fn(" + parts(ArrayRef(type->parts).drop_back()) + ") -> " + spell(type->parts.back());
  case Type::Data:
    return type->name + (type->parts.empty() ? "" : "<" + parts(type->parts) + ">");
  case Type::Ref:
    return "ref<" + parts(type->parts) + ">";
  }
  return "";
}

} // namespace fathom::functional
