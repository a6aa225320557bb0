// Walks over a program's expressions and makes their types agree. The first disagreement is reported with both places
// that it comes from.
#include "compiler/functional/types/Infer.h"

#include "compiler/functional/syntax/Codes.h"
#include "compiler/functional/syntax/Scoped.h"
#include "compiler/functional/types/Cases.h"
#include "compiler/functional/types/Declared.h"
#include "compiler/functional/types/Order.h"
#include "compiler/functional/types/Relations.h"
#include "llvm/ADT/StringSet.h"

using namespace llvm;

namespace fathom::functional {
namespace {

class Inference {
public:
  Inference(const Program &program, const Source &source, Typing &typing)
      : program(program), source(source), typing(typing), unifier(typing.unifier),
        declared(source, typing.dataTypes, unifier), relations(source, typing) {}

  LogicalResult run() {
    if (failed(typing.dataTypes.add(program, source)) || failed(bindConstructors()))
      return failure();
    for (const Function *function : program.functions) {
      if (!typing.functions.try_emplace(function->name, function).second)
        return source.error(function->place, badProgram) << "a function '" << function->name << "' exists already";
      if (Declared::isComplete(*function) && failed(bindDeclared(*function)))
        return failure();
    }
    for (const auto &group : dependencyOrder(program.functions))
      if (failed(inferGroup(group)))
        return failure();
    return checkMain();
  }

private:
  // Definitions.
  LogicalResult bindConstructors() {
    for (const DataType &type : program.types)
      for (const Constructor &constructor : type.constructors) {
        unifier.level = 1;
        Type *made = declared.constructor(type, constructor);
        if (!made)
          return failure();
        typing.constructors[constructor.name] = {made, 0, {}, nullptr};
        environment.bind(constructor.name, {made, 0, {}, nullptr});
      }
    return success();
  }
  LogicalResult bindDeclared(const Function &function) {
    unifier.level = 1;
    declared.names = {};
    declared.open(function.typeParameters, /*isRigid=*/true, function.place);
    Type *type = declared.function(function);
    if (!type)
      return failure();
    signatures[&function] = {type, declared.names};
    environment.bind(function.name, {type, 0, {}, nullptr});
    return success();
  }
  LogicalResult inferGroup(ArrayRef<const Function *> group) {
    // Within the group, a function whose type is not declared has one type.
    unifier.level = 1;
    std::vector<Type *> types;
    for (const Function *function : group) {
      bool isDeclared = signatures.contains(function);
      types.push_back(isDeclared ? signatures[function].type : unifier.variable(function->place));
      if (!isDeclared)
        environment.bind(function->name, {types.back(), 1, {}, nullptr});
    }
    size_t begin = relations.pending.size();
    for (auto [function, type] : zip(group, types)) {
      unifier.level = 1;
      bool isDeclared = signatures.contains(function);
      declared.names = isDeclared ? signatures[function].names : Declared::Names();
      if (!isDeclared)
        declared.open(function->typeParameters, /*isRigid=*/true, function->place);
      Type *made = isDeclared ? inferBody(*function, type) : inferFunction(*function);
      if (!made || (!isDeclared && !same(type, made, function->place, "function " + function->name)))
        return failure();
    }
    if (failed(relations.settle(begin)))
      return failure();
    std::vector<Relation> open = relations.takeDeeper(begin, 0);
    for (const Relation &relation : open)
      if (failed(relations.checkOpen(relation)))
        return failure();
    for (auto [function, type] : zip(group, types))
      *environment.find(function->name) = {type, 0, open, nullptr};
    return success();
  }
  LogicalResult checkMain() {
    auto main = typing.functions.find("main");
    if (main == typing.functions.end())
      return hint(source.error({1, 1}, badProgram) << "there is no function 'main'",
                  "its parameters are the artifact's inputs, its result the outputs");
    typing.main = environment.find("main")->type;
    typing.main = Unifier::known(typing.main);
    for (const Relation &relation : environment.find("main")->relations)
      return relations.unknown(relation);
    for (auto [parameter, type] : zip(main->second->parameters, typing.main->parts))
      if (!isGround(type))
        return hint(source.error(parameter.place, badTypes)
                        << "the type of the input '" << parameter.name << "' is not known: " << unifier.spell(type),
                    "write it behind the name, such as 'x: Tensor[(n, 4), float32]'");
    return success();
  }
  bool isGround(Type *type) {
    type = Unifier::known(type);
    return type->kind != Type::Variable && type->kind != Type::Parameter &&
           all_of(type->parts, [&](Type *part) { return isGround(part); });
  }

  // Functions.
  Type *inferFunction(const Function &function) {
    std::vector<Type *> parts;
    for (const Parameter &parameter : function.parameters) {
      parts.push_back(parameter.type ? declared.type(*parameter.type) : unifier.variable(parameter.place));
      if (!parts.back())
        return nullptr;
    }
    parts.push_back(function.result ? declared.type(*function.result) : unifier.variable(function.place));
    if (!parts.back())
      return nullptr;
    return inferBody(function, unifier.make(Type::Function, function.place, parts));
  }
  Type *inferBody(const Function &function, Type *type) {
    auto scope = environment.scope();
    llvm::StringSet<> names;
    for (auto [parameter, part] : zip(function.parameters, type->parts)) {
      if (!names.insert(parameter.name).second)
        return source.error(parameter.place, badProgram) << "two parameters are called '" << parameter.name << "'",
               nullptr;
      environment.bind(parameter.name, mono(part));
    }
    Type *result = infer(*function.body);
    if (!result || !same(type->parts.back(), result, function.body->place, "the result"))
      return nullptr;
    return type;
  }
  // A local function, of which every use may have other types.
  std::optional<Scheme> inferLocal(const Function &function) {
    unsigned outer = unifier.level++;
    auto scope = environment.scope();
    auto names = declared.names;
    // Where all of its type is written, it holds for each call, of the function by itself too.
    bool isComplete = Declared::isComplete(function);
    declared.open(function.typeParameters, isComplete, function.place);
    Type *self = isComplete ? declared.function(function) : unifier.variable(function.place);
    if (!self)
      return std::nullopt;
    if (!function.name.empty())
      environment.bind(function.name, {self, isComplete ? outer : ~0u, {}, nullptr});
    size_t begin = relations.pending.size();
    Type *type = isComplete ? inferBody(function, self) : inferFunction(function);
    declared.names = std::move(names);
    if (!type || !same(self, type, function.place, "function " + function.name) || failed(relations.settle(begin)))
      return std::nullopt;
    unifier.level = outer;
    return Scheme{type, outer, relations.takeDeeper(begin, outer), nullptr};
  }

  // Expressions. Null after a report.
  Type *infer(const Expr &expr) {
    switch (expr.kind) {
    case Expr::Var:
      return inferVar(expr);
    case Expr::Constant: {
      SmallVector<mlir::AffineExpr> sizes;
      for (int64_t dim : expr.literal.dims)
        sizes.push_back(unifier.number(dim));
      return unifier.tensor(sizes, unifier.element(expr.literal.element, expr.place), expr.place);
    }
    case Expr::Tuple: {
      std::vector<Type *> parts;
      for (const Expr *part : expr.parts)
        if (!parts.emplace_back(infer(*part)))
          return nullptr;
      return unifier.make(Type::Tuple, expr.place, parts);
    }
    case Expr::Project:
      return inferProject(expr);
    case Expr::Block:
      return inferBlock(expr);
    case Expr::If:
      return inferIf(expr);
    case Expr::Match:
      return inferMatch(expr);
    case Expr::Lambda:
      return inferFunction(*expr.function);
    case Expr::Call:
      return inferCall(expr);
    case Expr::Op:
      return inferOp(expr);
    case Expr::NewRef: {
      Type *inside = infer(*expr.parts[0]);
      return inside ? unifier.make(Type::Ref, expr.place, {inside}) : nullptr;
    }
    case Expr::Deref:
      return inferRef(*expr.parts[0]);
    case Expr::Assign: {
      Type *inside = inferRef(*expr.parts[0]);
      Type *value = inside ? infer(*expr.parts[1]) : nullptr;
      if (!value || !same(inside, value, expr.parts[1]->place, "what is assigned"))
        return nullptr;
      return unifier.make(Type::Tuple, expr.place);
    }
    }
    return nullptr;
  }
  Type *inferVar(const Expr &expr) {
    Scheme *scheme = environment.find(expr.name);
    if (!scheme) {
      auto error = source.error(expr.place, badProgram) << "nothing is called '" << expr.name << "'";
      if (isCapital(expr.name))
        hint(std::move(error), "an operator as a value is a function of its operands, such as 'fn(x) { Relu(x) }'");
      return nullptr;
    }
    Scheme made = unifier.instantiate(*scheme, unifier.level, expr.place);
    for (Relation &relation : made.relations)
      relations.pending.push_back(std::move(relation));
    return made.type;
  }
  // What an expression's type is known to be after all that is known was used.
  Type *settled(Type *type) {
    type = Unifier::known(type);
    if (type->kind == Type::Variable && failed(relations.settle(0)))
      return nullptr;
    return Unifier::known(type);
  }
  Type *inferProject(const Expr &expr) {
    Type *tuple = infer(*expr.parts[0]);
    tuple = tuple ? settled(tuple) : nullptr;
    if (!tuple)
      return nullptr;
    if (tuple->kind == Type::Variable)
      return hint(source.error(expr.place, badTypes) << "the type of this tuple is not known here",
                  "write the type of what it comes from"),
             nullptr;
    if (tuple->kind == Type::Tuple && size_t(expr.index) < tuple->parts.size())
      return tuple->parts[expr.index];
    auto error = source.error(expr.place, badTypes);
    error << "there is no element " << expr.index << " of " << unifier.spell(tuple);
    relations.noteOrigin(error, tuple);
    return nullptr;
  }
  Type *inferBlock(const Expr &expr) {
    auto scope = environment.scope();
    for (const Let &let : expr.lets) {
      const Function *function = let.value->function;
      if (function) {
        std::optional<Scheme> scheme = inferLocal(*function);
        if (!scheme)
          return nullptr;
        if (let.type) {
          Type *type = declared.type(*let.type);
          if (!type || !same(type, scheme->type, let.value->place, "the value"))
            return nullptr;
        }
        bool isNamed = let.pattern && let.pattern->kind == Pattern::Name;
        if (!let.pattern || isNamed) {
          environment.bind(let.pattern ? let.pattern->name : function->name, std::move(*scheme));
          continue;
        }
        for (Relation &relation : scheme->relations)
          relations.pending.push_back(std::move(relation));
        if (!bindPattern(*let.pattern, scheme->type))
          return nullptr;
        continue;
      }
      Type *value = infer(*let.value);
      if (!value)
        return nullptr;
      if (let.type) {
        Type *type = declared.type(*let.type);
        if (!type || !same(type, value, let.value->place, "the value"))
          return nullptr;
      }
      if (!bindPattern(*let.pattern, value) || failed(checkCases({let.pattern}, let.pattern->place)))
        return nullptr;
      if (let.pattern->kind == Pattern::Name && let.value->kind == Expr::Constant)
        environment.find(let.pattern->name)->constant = &let.value->literal;
    }
    return infer(*expr.parts[0]);
  }
  Type *inferIf(const Expr &expr) {
    Type *condition = infer(*expr.parts[0]);
    if (!condition ||
        !same(unifier.scalar(ElementType::Bool, expr.place), condition, expr.parts[0]->place, "a condition"))
      return nullptr;
    Type *then = infer(*expr.parts[1]), *other = then ? infer(*expr.parts[2]) : nullptr;
    if (!other || !same(then, other, expr.parts[2]->place, "the other branch"))
      return nullptr;
    return then;
  }
  Type *inferMatch(const Expr &expr) {
    Type *value = infer(*expr.parts[0]), *result = nullptr;
    if (!value)
      return nullptr;
    std::vector<const Pattern *> patterns;
    for (const Arm &arm : expr.arms) {
      auto scope = environment.scope();
      Type *type = bindPattern(*arm.pattern, value) ? infer(*arm.body) : nullptr;
      if (!type || (result && !same(result, type, arm.body->place, "this arm")))
        return nullptr;
      result = result ? result : type;
      patterns.push_back(arm.pattern);
    }
    if (failed(checkCases(patterns, expr.place)))
      return nullptr;
    return result;
  }
  LogicalResult checkCases(ArrayRef<const Pattern *> patterns, Place place) {
    std::vector<std::vector<const Pattern *>> rows;
    for (const Pattern *pattern : patterns) {
      if (!valueBeyond(typing.dataTypes, rows, {pattern}))
        return source.error(pattern->place, badProgram) << "this pattern is never reached";
      rows.push_back({pattern});
    }
    if (auto missing = valueBeyond(typing.dataTypes, rows, {nullptr}))
      return hint(source.error(place, badProgram) << "no pattern matches " << missing->front(),
                  "every value needs one; '_' matches all that are left");
    return success();
  }
  bool bindPattern(const Pattern &pattern, Type *type) {
    llvm::StringSet<> names;
    return bindPattern(pattern, type, names);
  }
  bool bindPattern(const Pattern &pattern, Type *type, llvm::StringSet<> &names) {
    std::vector<Type *> parts;
    switch (pattern.kind) {
    case Pattern::Any:
      return true;
    case Pattern::Name:
      if (!names.insert(pattern.name).second)
        return source.error(pattern.place, badProgram) << "'" << pattern.name << "' is bound twice", false;
      environment.bind(pattern.name, mono(type));
      return true;
    case Pattern::Tuple:
      for (const Pattern *part : pattern.parts)
        parts.push_back(unifier.variable(part->place));
      if (!same(type, unifier.make(Type::Tuple, pattern.place, parts), pattern.place, "the pattern"))
        return false;
      break;
    case Pattern::Constructor: {
      const ConstructorOf *found = typing.dataTypes.constructor(pattern.name);
      if (!found)
        return source.error(pattern.place, badProgram) << "there is no constructor '" << pattern.name << "'", false;
      size_t fields = found->constructor().fields.size();
      if (pattern.parts.size() != fields)
        return source.error(pattern.place, badProgram)
                   << "constructor " << pattern.name << " has " << fields << " fields, not " << pattern.parts.size(),
               false;
      Type *made = unifier.instantiate(*environment.find(pattern.name), unifier.level, pattern.place).type;
      if (fields)
        parts.assign(made->parts.begin(), made->parts.end() - 1);
      if (!same(type, fields ? made->parts.back() : made, pattern.place, "the pattern"))
        return false;
      break;
    }
    }
    for (auto [part, its] : zip(pattern.parts, parts))
      if (!bindPattern(*part, its, names))
        return false;
    return true;
  }
  Type *inferCall(const Expr &expr) {
    Type *callee = infer(*expr.parts[0]);
    if (!callee)
      return nullptr;
    std::vector<Type *> parts;
    for (const Expr *part : ArrayRef(expr.parts).drop_front())
      if (!parts.emplace_back(infer(*part)))
        return nullptr;
    callee = Unifier::known(callee);
    if (callee->kind == Type::Function && callee->parts.size() == parts.size() + 1) {
      // One argument after the other, so that the message is about one.
      for (auto [i, part] : enumerate(parts))
        if (!same(callee->parts[i], part, expr.parts[i + 1]->place, "argument " + Twine(i + 1)))
          return nullptr;
      return callee->parts.back();
    }
    if (callee->kind != Type::Variable) {
      auto error = source.error(expr.place, badTypes);
      if (callee->kind == Type::Function)
        error << "this function takes " << callee->parts.size() - 1 << " arguments, not " << parts.size();
      else
        error << "this is no function but " << unifier.spell(callee);
      relations.noteOrigin(error, callee);
      return nullptr;
    }
    Type *result = unifier.variable(expr.place);
    parts.push_back(result);
    return same(callee, unifier.make(Type::Function, expr.place, parts), expr.place, "what is called") ? result
                                                                                                       : nullptr;
  }
  Type *inferOp(const Expr &expr) {
    Relation relation{&expr, {}, {}, {}, {}};
    for (const Expr *part : expr.parts) {
      Type *type = part ? infer(*part) : nullptr;
      if (part && !type)
        return nullptr;
      relation.operands.push_back(type);
      Scheme *scheme = part && part->kind == Expr::Var ? environment.find(part->name) : nullptr;
      relation.constants.push_back(!part                          ? nullptr
                                   : part->kind == Expr::Constant ? &part->literal
                                   : scheme                       ? scheme->constant
                                                                  : nullptr);
    }
    for (int64_t i = 0; i < expr.index; ++i)
      relation.results.push_back(unifier.variable(expr.place));
    std::vector<Type *> results = relation.results;
    relations.pending.push_back(std::move(relation));
    if (failed(relations.settle(relations.pending.size() - 1)))
      return nullptr;
    return results.size() == 1 ? results[0] : unifier.make(Type::Tuple, expr.place, results);
  }
  Type *inferRef(const Expr &expr) {
    Type *type = infer(expr), *inside = unifier.variable(expr.place);
    if (!type || !same(unifier.make(Type::Ref, expr.place, {inside}), type, expr.place, "this"))
      return nullptr;
    return inside;
  }

  // A type that is the same at every use.
  Scheme mono(Type *type) { return {type, ~0u, {}, nullptr}; }
  bool same(Type *want, Type *got, Place place, const Twine &what) { return relations.same(want, got, place, what); }

  struct Signature {
    Type *type = nullptr;
    Declared::Names names;
  };

  const Program &program;
  const Source &source;
  Typing &typing;
  Unifier &unifier;
  Declared declared;
  Relations relations;
  Scoped<Scheme> environment;
  DenseMap<const Function *, Signature> signatures;
};

} // namespace

LogicalResult infer(const Program &program, const Source &source, Typing &typing) {
  return Inference(program, source, typing).run();
}

} // namespace fathom::functional
