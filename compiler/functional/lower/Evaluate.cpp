// Expressions.
#include "compiler/functional/lower/Evaluate.h"

#include "compiler/functional/lower/Fold.h"
#include "compiler/functional/syntax/Codes.h"
#include "compiler/functional/syntax/FreeNames.h"
#include "llvm/ADT/ScopeExit.h"

using namespace llvm;

namespace fathom::functional {

ValueRef Evaluator::eval(const Expr &expr, Bindings &names, bool isTail) {
  // What the stack has room for, even if every function nests as deep as may be.
  constexpr unsigned deepestEvaluation = 20'000;
  if (++depth > deepestEvaluation)
    return --depth, source.error(expr.place, endless) << "calls nest too deep to be inlined", nullptr;
  auto leave = scope_exit([this] { --depth; });
  std::vector<ValueRef> parts;
  // A frame that calls gives the call, and nothing else of it is done.
  ValueRef left;
  auto evalParts = [&] {
    for (const Expr *part : expr.parts) {
      ValueRef value = eval(*part, names, /*isTail=*/false);
      if (!value || value->kind == Value::Again)
        return left = value, false;
      parts.push_back(std::move(value));
    }
    return true;
  };
  switch (expr.kind) {
  case Expr::Var:
    return evalVar(expr, names);
  case Expr::Constant:
    return constant(expr.literal);
  case Expr::Tuple:
    return evalParts() ? makeValue(Value::Tuple, std::move(parts)) : left;
  case Expr::Project:
    return evalParts() ? parts[0]->parts[expr.index] : left;
  case Expr::Block:
    return evalBlock(expr, names, isTail);
  case Expr::If: {
    ValueRef condition = eval(*expr.parts[0], names, /*isTail=*/false);
    if (!condition || condition->kind == Value::Again)
      return condition;
    auto branch = [&](unsigned i) {
      auto scope = names.scope();
      return eval(*expr.parts[i], names, isTail);
    };
    return decide(condition, [&] { return branch(1); }, [&] { return branch(2); }, expr.place, isTail);
  }
  case Expr::Match:
    return evalMatch(expr, names, isTail);
  case Expr::Lambda:
    return closureOf(*expr.function, names);
  case Expr::Call: {
    if (!evalParts())
      return left;
    ValueRef callee = parts[0];
    parts.erase(parts.begin());
    return call(callee, std::move(parts), expr.place, isTail);
  }
  case Expr::Op:
    return evalOp(expr, names);
  case Expr::NewRef: {
    if (!evalParts())
      return left;
    auto made = std::make_shared<Value>();
    made->kind = Value::Ref, made->location = store.size();
    store.push_back(parts[0]);
    return made;
  }
  case Expr::Deref:
    return evalParts() ? store[parts[0]->location] : left;
  case Expr::Assign:
    if (!evalParts())
      return left;
    store[parts[0]->location] = parts[1];
    return makeValue(Value::Tuple);
  }
  return nullptr;
}

ValueRef Evaluator::evalVar(const Expr &expr, Bindings &names) {
  if (ValueRef *value = names.find(expr.name))
    return *value;
  if (const Function *function = typing.functions.lookup(expr.name))
    return closureOf(*function, names);
  // A constructor: data without fields, or a function of its fields.
  auto made = std::make_shared<Value>();
  made->constructor = typing.dataTypes.constructor(expr.name);
  made->kind = made->constructor->constructor().fields.empty() ? Value::Data : Value::Closure;
  return made;
}

ValueRef Evaluator::closureOf(const Function &function, Bindings &names) {
  auto [entry, isNew] = freeNames.try_emplace(&function);
  if (isNew)
    entry->second = freeNamesOf(function);
  auto made = std::make_shared<Value>();
  made->kind = Value::Closure, made->function = &function;
  // Functions of the program and constructors are found by their names again.
  for (const std::string &name : entry->second) {
    ValueRef *value = names.find(name);
    made->captured.push_back(value ? name : "");
    made->parts.push_back(value ? *value : makeValue(Value::Tuple));
  }
  return made;
}

ValueRef Evaluator::evalOp(const Expr &expr, Bindings &names) {
  std::vector<ValueRef> operands;
  for (const Expr *part : expr.parts) {
    operands.push_back(part ? eval(*part, names, /*isTail=*/false) : nullptr);
    if (part && (!operands.back() || operands.back()->kind == Value::Again))
      return operands.back();
  }
  if (std::optional<Literal> folded = fold(expr, operands))
    return constant(std::move(*folded));
  SmallVector<std::optional<Operand>> asked;
  SmallVector<std::string> inputs;
  for (const ValueRef &operand : operands) {
    inputs.push_back(operand ? joiner.nameOf(*operand) : "");
    if (!operand) {
      asked.emplace_back();
      continue;
    }
    // Types depend on few numbers.
    const Literal *literal = operand->constant.get();
    bool isSmall = literal && literal->integers.size() + literal->floats.size() <= 64;
    asked.push_back(Operand{operand->type, isSmall ? literal : nullptr});
  }
  const Related &related = typing.relations.relate(expr, asked);
  if (!related.problem.empty())
    return source.error(expr.place, related.code.value_or(badTypes)) << expr.name << ": " << related.problem, nullptr;
  onnx::NodeProto &node = builder.node(expr, inputs);
  std::vector<ValueRef> results;
  for (auto [i, type] : enumerate(related.results)) {
    TensorType known = type;
    for (mlir::AffineExpr &size : known.sizes)
      if (!size)
        size = typing.unifier.symbol("", /*isRigid=*/false);
    results.push_back(makeTensor(node.output(i), std::move(known)));
  }
  return expr.index == 1 ? results[0] : makeValue(Value::Tuple, std::move(results));
}

ValueRef Evaluator::evalBlock(const Expr &expr, Bindings &names, bool isTail) {
  auto scope = names.scope();
  for (const Let &let : expr.lets) {
    ValueRef value = eval(*let.value, names, /*isTail=*/false);
    if (!value || value->kind == Value::Again)
      return value;
    if (!let.pattern)
      names.bind(let.value->function->name, value);
    else
      bindPattern(*let.pattern, value, names);
  }
  return eval(*expr.parts[0], names, isTail);
}

// Whether a value has the form of a pattern, whose names then mean its parts.
bool Evaluator::bindPattern(const Pattern &pattern, const ValueRef &value, Bindings &names) {
  if (pattern.kind == Pattern::Name)
    names.bind(pattern.name, value);
  if (pattern.kind == Pattern::Any || pattern.kind == Pattern::Name)
    return true;
  if (pattern.kind == Pattern::Constructor && value->constructor->constructor().name != pattern.name)
    return false;
  for (auto [part, its] : zip(pattern.parts, value->parts))
    if (!bindPattern(*part, its, names))
      return false;
  return true;
}

// A part of a value that a pattern asks about and that is only known when the program runs.
static const Value *openChoice(const Pattern &pattern, const Value &value) {
  if (pattern.kind == Pattern::Any || pattern.kind == Pattern::Name)
    return nullptr;
  if (value.kind == Value::Choice || value.kind == Value::Node)
    return &value;
  if (pattern.kind == Pattern::Constructor && value.constructor->constructor().name != pattern.name)
    return nullptr;
  for (auto [part, its] : zip(pattern.parts, value.parts))
    if (const Value *found = openChoice(*part, *its))
      return found;
  return nullptr;
}

static ValueRef replaced(const ValueRef &value, const Value *part, const ValueRef &by) {
  if (value.get() == part)
    return by;
  std::vector<ValueRef> parts;
  for (const ValueRef &each : value->parts)
    parts.push_back(replaced(each, part, by));
  return parts.empty() ? value : withParts(*value, std::move(parts));
}

ValueRef Evaluator::evalMatch(const Expr &expr, Bindings &names, bool isTail) {
  ValueRef value = eval(*expr.parts[0], names, /*isTail=*/false);
  return value && value->kind != Value::Again ? matchArms(expr, value, names, isTail) : value;
}

// The first arm that matches. What decides about one and is only known when the program runs is decided there first.
ValueRef Evaluator::matchArms(const Expr &expr, const ValueRef &value, Bindings &names, bool isTail) {
  for (const Arm &arm : expr.arms) {
    if (const Value *choice = openChoice(*arm.pattern, *value)) {
      auto withOne = [&](const ValueRef &alternative) {
        return matchArms(expr, replaced(value, choice, alternative), names, isTail);
      };
      return choice->kind == Value::Node ? selectNode(*choice, 0, "", withOne, expr.place, isTail)
                                         : select(*choice, 0, withOne, expr.place, isTail);
    }
    auto scope = names.scope();
    if (bindPattern(*arm.pattern, value, names))
      return eval(*arm.body, names, isTail);
  }
  return nullptr;
}

} // namespace fathom::functional
