// The program that to-a-normal-form writes, or one that was changed by hand, as a graph again: names become edges.
// Operands may be expressions of their own; what only the functional language's own lowering knows is refused.
#include "compiler/functional/syntax/Codes.h"
#include "compiler/functional/syntax/Parser.h"
#include "compiler/graph/OpNames.h"
#include "compiler/passes/Passes.h"
#include "compiler/passes/normalform/Words.h"
#include "compiler/support/LargeStack.h"

using namespace mlir;
using namespace fathom::graph;

namespace fathom {
#define GEN_PASS_DEF_TOGRAPHNORMALFORMPASS
#include "compiler/passes/Passes.h.inc"

namespace {

using functional::Expr, functional::Let, functional::Parameter, functional::Place, functional::Source,
    functional::TypeExpr;

class Reader {
public:
  Reader(ModuleOp module, const Source &source)
      : module(module), source(source), symbols(getSymbols(module)), b(module.getContext()) {}

  LogicalResult read(const functional::Program &program, func::FuncOp main) {
    auto given = module->getAttrOfType<ArrayAttr>(normalform::weightsAttribute);
    weights = given ? given.getValue() : ArrayRef<mlir::Attribute>();
    if (program.functions.size() != 1 || !program.types.empty())
      return refuse({1, 1}, "a graph is one function 'main' and no data types");
    const functional::Function &function = *program.functions[0];
    ArrayRef<Parameter> parameters = function.parameters;
    if (!parameters.empty() && parameters.back().name == normalform::weightsName)
      parameters = parameters.drop_back();
    if (parameters.size() != main.getNumArguments())
      return refuse(function.place, "'main' has other inputs than the model");
    Block *block = main.addEntryBlock();
    b.setInsertionPointToStart(block);
    for (auto [parameter, argument] : llvm::zip(parameters, block->getArguments()))
      bound[parameter.name] = argument;
    SmallVector<Value> results;
    if (failed(readBlock(*function.body, results)))
      return failure();
    if (!llvm::equal(ValueRange(results).getTypes(), main.getResultTypes()))
      return refuse(function.place, "'main' has other results than the model");
    func::ReturnOp::create(b, main.getLoc(), results);
    return success();
  }

private:
  LogicalResult refuse(Place place, const Twine &why) { return source.error(place, functional::badProgram) << why; }

  LogicalResult readBlock(const Expr &expr, SmallVectorImpl<Value> &results) {
    if (expr.kind == Expr::Block)
      for (const Let &let : expr.lets)
        if (failed(readLet(let)))
          return failure();
    const Expr &result = expr.kind == Expr::Block ? *expr.parts[0] : expr;
    if (result.kind != Expr::Tuple)
      return readOperand(&result, results.emplace_back());
    for (const Expr *part : result.parts)
      if (failed(readOperand(part, results.emplace_back())))
        return failure();
    return success();
  }

  LogicalResult readLet(const Let &let) {
    if (!let.pattern)
      return refuse(let.value->place, "a graph has no functions with names");
    if (let.value->kind != Expr::Op) {
      Value value;
      if (let.pattern->kind != functional::Pattern::Name || failed(readOperand(let.value, value)))
        return refuse(let.value->place, "a graph has no such value");
      bound[let.pattern->name] = value;
      return success();
    }
    bool isOne = let.pattern->kind == functional::Pattern::Name;
    auto parts =
        isOne ? ArrayRef<functional::Pattern *>(let.pattern) : ArrayRef<functional::Pattern *>(let.pattern->parts);
    FailureOr<Operation *> op = readOp(*let.value, let.type, parts.size(), parts.size() == 1 ? parts[0]->name : "");
    if (failed(op))
      return failure();
    for (auto [part, result] : llvm::zip(parts, (*op)->getResults()))
      bound[part->name] = result;
    return success();
  }

  // Null for an operand that is absent.
  LogicalResult readOperand(const Expr *expr, Value &value) {
    if (!expr) {
      value = NoneOp::create(b, source.loc, b.getNoneType());
      return success();
    }
    switch (expr->kind) {
    case Expr::Var:
      value = bound.lookup(expr->name);
      return value ? success() : refuse(expr->place, "there is no value '" + expr->name + "'");
    case Expr::Constant:
      return readConstant({b.getNamedAttr("value", normalform::valueOf(expr->literal, b.getContext()))}, value);
    case Expr::Project: {
      bool isWeight = expr->parts[0]->kind == Expr::Var && expr->parts[0]->name == normalform::weightsName;
      if (!isWeight || size_t(expr->index) >= weights.size())
        return refuse(expr->place, "there is no such weight");
      Value &known = knownWeights[expr->index];
      if (known) {
        value = known;
        return success();
      }
      OpBuilder::InsertionGuard guard(b);
      Block &outermost = module.lookupSymbol<func::FuncOp>("main").front();
      b.setInsertionPointToStart(&outermost);
      LogicalResult made = readConstant(cast<DictionaryAttr>(weights[expr->index]).getValue(), value);
      known = value;
      return made;
    }
    case Expr::Op: {
      FailureOr<Operation *> op = readOp(*expr, nullptr, 1, "");
      if (succeeded(op))
        value = (*op)->getResult(0);
      return op;
    }
    default:
      return refuse(expr->place, "a graph has operators and names of their results, and nothing else");
    }
  }

  LogicalResult readConstant(ArrayRef<NamedAttribute> attributes, Value &value) {
    OperationState state(source.loc, ConstantOp::getOperationName());
    state.addAttributes(attributes);
    auto elements = DictionaryAttr::get(b.getContext(), attributes).getAs<ElementsAttr>("value");
    if (!elements)
      return refuse({1, 1}, "a weight has no value");
    state.addTypes(elements.getType());
    value = b.create(state)->getResult(0);
    return success();
  }

  FailureOr<Operation *> readOp(const Expr &expr, const TypeExpr *type, size_t results, StringRef name) {
    OperationState state(source.loc, (GraphDialect::getDialectNamespace() + "." + expr.name).str());
    if (!state.name.isRegistered())
      return refuse(expr.place, "there is no operator '" + expr.name + "'");
    SmallVector<const functional::Function *> bodies;
    for (const Expr *part : expr.parts)
      if (part && part->kind == Expr::Lambda)
        bodies.push_back(part->function);
      else if (failed(readOperand(part, state.operands.emplace_back())))
        return failure();
    bool isNamed = false;
    for (const functional::Attribute &attribute : expr.attributes) {
      state.attributes.append(normalform::attributeOf(attribute, b.getContext()));
      isNamed |= attribute.name == "graph_name";
    }
    if (!isNamed && !name.empty())
      state.addAttribute("graph.name", b.getStringAttr(name));
    if (auto said = dyn_cast_or_null<StringAttr>(state.attributes.get("graph.name")))
      state.location = NameLoc::get(said);
    if (failed(addTypes(state, expr, type, results)))
      return failure();
    for (const functional::Function *body : bodies)
      if (failed(readBody(*body, *state.addRegion())))
        return failure();
    std::optional<RegisteredOperationName> registered = state.name.getRegisteredInfo();
    Operation *op = b.create(state);
    if (failed(registered->verifyInvariants(op)) || (!type && results && failed(inferResultTypes(op))))
      return refuse(expr.place, "'" + expr.name + "' does not take this");
    return op;
  }

  // Those that are said; others follow from the operands.
  LogicalResult addTypes(OperationState &state, const Expr &expr, const TypeExpr *type, size_t results) {
    if (!type) {
      state.types.assign(results, placeholder(b.getContext()));
      return success();
    }
    bool isTuple = type->kind == TypeExpr::Tuple;
    for (const TypeExpr *part : isTuple ? ArrayRef<TypeExpr *>(type->parts) : ArrayRef<TypeExpr *>())
      state.types.push_back(normalform::typeOf(*part, symbols, b.getContext()));
    if (!isTuple)
      state.types.push_back(normalform::typeOf(*type, symbols, b.getContext()));
    bool areKnown = llvm::all_of(state.types, [](mlir::Type one) { return one && isGraphTensor(one); });
    return areKnown && state.types.size() == results ? success()
                                                     : refuse(expr.place, "a graph has no results of this type");
  }

  LogicalResult readBody(const functional::Function &body, Region &region) {
    Block &block = region.emplaceBlock();
    OpBuilder::InsertionGuard guard(b);
    for (const Parameter &parameter : body.parameters) {
      mlir::Type type =
          parameter.type ? normalform::typeOf(*parameter.type, symbols, b.getContext()) : RankedTensorType();
      if (!type)
        return refuse(parameter.place, "'" + parameter.name + "' needs the type of a tensor");
      bound[parameter.name] = block.addArgument(type, source.loc);
    }
    b.setInsertionPointToStart(&block);
    SmallVector<Value> results;
    if (failed(readBlock(*body.body, results)))
      return failure();
    YieldOp::create(b, source.loc, results);
    return success();
  }

  ModuleOp module;
  const Source &source;
  SymbolList symbols;
  OpBuilder b;
  llvm::StringMap<Value> bound; // no two values of a program have one name
  ArrayRef<mlir::Attribute> weights;
  DenseMap<int64_t, Value> knownWeights;
};

struct ToGraphNormalFormPass : impl::ToGraphNormalFormPassBase<ToGraphNormalFormPass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto text = module->getAttrOfType<StringAttr>(normalform::programAttribute);
    auto main = module.lookupSymbol<func::FuncOp>("main");
    if (!text || !main || !main.isExternal())
      return signalPassFailure();
    Source source{module.getLoc(), "program"};
    LogicalResult result = failure();
    onLargeStack([&] {
      std::unique_ptr<functional::Program> program = functional::parse(text.getValue(), source);
      if (program)
        result = Reader(module, source).read(*program, main);
    });
    if (failed(result))
      return signalPassFailure();
    main.setPublic();
    module->removeAttr(normalform::programAttribute);
    module->removeAttr(normalform::weightsAttribute);
  }
};

} // namespace
} // namespace fathom
