// Solves operators' relations. Sizes that have names broadcast with ones and with themselves only, so that two of them
// that meet are the same.
#include "compiler/functional/types/Relations.h"

#include "compiler/functional/syntax/Codes.h"
#include "compiler/graph/Shape.h"

using namespace llvm;
using mlir::AffineExpr;

namespace fathom::functional {

void Relations::noteOrigin(mlir::InFlightDiagnostic &error, Type *type) {
  type = Unifier::known(type);
  if (type->place)
    error.attachNote() << source.name << ":" << type->place.text() << ": " << unifier.spell(type) << " comes from here";
}

bool Relations::same(Type *want, Type *got, Place place, const Twine &what) {
  if (unifier.unify(want, got))
    return true;
  auto error = source.error(place, badTypes);
  error << what << " must be " << unifier.spell(want) << ", and is " << unifier.spell(got);
  noteOrigin(error, want);
  if (Unifier::known(got)->place != Unifier::known(want)->place)
    noteOrigin(error, got);
  return false;
}

static bool isBroadcasting(StringRef op) {
  static constexpr StringLiteral ops[] = {
      "Add",       "Sub",        "Mul",     "Div", "Pow",   "Mod", "Less", "LessOrEqual", "Greater", "GreaterOrEqual",
      "Equal",     "And",        "Or",      "Xor", "Where", "Max", "Min",  "Sum",         "Mean",    "BitwiseAnd",
      "BitwiseOr", "BitwiseXor", "BitShift"};
  return is_contained(ops, op);
}

bool Relations::broadcast(const Relation &relation) {
  if (!isBroadcasting(relation.op->name))
    return true;
  SmallVector<AffineExpr> common; // from the last dimension on
  for (Type *type : relation.operands) {
    if (!type)
      continue;
    for (auto [i, size] : enumerate(reverse(Unifier::known(type)->sizes))) {
      AffineExpr known = unifier.known(size);
      if (i == common.size())
        common.push_back(unifier.number(1));
      if (graph::isConstant(known, 1))
        continue;
      if (graph::isConstant(common[i], 1))
        common[i] = known;
      else if (!unifier.unify(common[i], known))
        return false;
    }
  }
  return true;
}

Relations::Outcome Relations::refuse(const Relation &relation, StringRef problem, std::optional<ErrorCode> code) {
  problem.consume_front((relation.op->name + ": ").c_str());
  // What Fathom cannot do is not the program's fault.
  bool isUnsupported = code && exitCodeFor(*code) == 3;
  auto error = source.error(relation.op->place, isUnsupported ? *code : badTypes);
  error << relation.op->name << ": " << problem;
  for (auto [i, type] : enumerate(relation.operands))
    if (type && Unifier::known(type)->place)
      error.attachNote() << source.name << ":" << Unifier::known(type)->place.text() << ": operand " << i + 1 << " is "
                         << unifier.spell(type);
  if (relation.call)
    error.attachNote() << source.name << ":" << relation.call.text() << ": called here";
  return Outcome::Wrong;
}

Relations::Outcome Relations::solve(const Relation &relation) {
  SmallVector<std::optional<Operand>> operands;
  bool isOpen = false;
  for (auto [type, constant] : zip(relation.operands, relation.constants)) {
    if (!type) {
      operands.emplace_back();
      continue;
    }
    Type *known = Unifier::known(type);
    if (known->kind == Type::Variable) {
      isOpen = true;
      continue;
    }
    if (known->kind != Type::Tensor)
      return refuse(relation, "operands are tensors, and not " + unifier.spell(known));
    Type *element = Unifier::known(known->parts[0]);
    if (element->kind != Type::Element) {
      isOpen = true;
      continue;
    }
    operands.push_back(Operand{{element->element, {}}, constant});
  }
  if (isOpen)
    return Outcome::Open;
  if (!broadcast(relation))
    return refuse(relation, "sizes do not fit together");
  for (auto [type, operand] : zip(relation.operands, operands))
    if (operand)
      for (AffineExpr size : Unifier::known(type)->sizes)
        operand->type.sizes.push_back(unifier.known(size));
  const Related &related = typing.relations.relate(*relation.op, operands);
  if (!related.problem.empty())
    return refuse(relation, related.problem, related.code);
  for (auto [one, other] : related.same)
    if (!unifier.unify(one, other))
      return refuse(relation,
                    "sizes do not fit together: " + unifier.spell(one) + " would have to be " + unifier.spell(other));
  for (auto [type, made] : zip(relation.results, related.results)) {
    SmallVector<AffineExpr> sizes;
    for (AffineExpr size : made.sizes)
      sizes.push_back(size ? size : unifier.symbol("", /*isRigid=*/false));
    Place place = relation.op->place;
    Type *result = unifier.tensor(sizes, unifier.element(made.element, place), place);
    if (!same(type, result, place, "what " + relation.op->name + " gives"))
      return Outcome::Wrong;
  }
  return Outcome::Solved;
}

LogicalResult Relations::settle(size_t begin) {
  bool isChanged = true;
  while (isChanged) {
    isChanged = false;
    size_t kept = begin;
    for (size_t i = begin; i < pending.size(); ++i) {
      Outcome outcome = solve(pending[i]);
      if (outcome == Outcome::Wrong)
        return failure();
      isChanged |= outcome == Outcome::Solved;
      if (outcome == Outcome::Open && kept++ != i)
        pending[kept - 1] = std::move(pending[i]);
    }
    pending.resize(kept);
  }
  return success();
}

std::vector<Relation> Relations::takeDeeper(size_t begin, unsigned level) {
  std::vector<Relation> taken, kept;
  for (Relation &relation : MutableArrayRef(pending).drop_front(begin)) {
    auto isDeeper = [&](Type *type) { return type && unifier.mentionsDeeper(type, level); };
    bool isTaken = any_of(relation.operands, isDeeper) || any_of(relation.results, isDeeper);
    (isTaken ? taken : kept).push_back(std::move(relation));
  }
  pending.resize(begin);
  pending.insert(pending.end(), std::make_move_iterator(kept.begin()), std::make_move_iterator(kept.end()));
  return taken;
}

LogicalResult Relations::checkOpen(const Relation &relation) {
  for (Type *type : relation.operands)
    if (type && Unifier::known(type)->kind == Type::Parameter)
      return refuse(relation, "operands are tensors, and not " + unifier.spell(type)), failure();
  return success();
}

LogicalResult Relations::unknown(const Relation &relation) {
  auto error = source.error(relation.op->place, badTypes);
  error << "the types of the operands of " << relation.op->name << " are not known";
  return hint(std::move(error), "write the types of the parameters that they come from");
}

} // namespace fathom::functional
