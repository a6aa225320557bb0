// The graph as a program of the functional language, in which every op is bound to a name by a let and operands are
// names: A-normal form. The order of the lets is that of the ops, branches and bodies of loops are functions without
// names, and a type stands where it does not follow from the operands.
#include "compiler/functional/syntax/Printer.h"
#include "compiler/graph/OpNames.h"
#include "compiler/passes/Passes.h"
#include "compiler/passes/normalform/Words.h"
#include "compiler/support/Diagnostics.h"

using namespace mlir;
using namespace fathom::graph;

namespace fathom {
#define GEN_PASS_DEF_TOANORMALFORMPASS
#include "compiler/passes/Passes.h.inc"

namespace {

using functional::Expr, functional::Let, functional::Literal, functional::Parameter, functional::TypeExpr;

class Writer {
public:
  explicit Writer(ModuleOp module) : symbols(getSymbols(module)) {}

  LogicalResult write(func::FuncOp main) {
    functional::Function *function = program.makeFunction({});
    function->name = "main";
    for (BlockArgument argument : main.getArguments()) {
      auto name = main.getArgAttrOfType<StringAttr>(argument.getArgNumber(), "graph.name");
      if (failed(addParameter(*function, argument, name ? name.getValue() : "x", main)))
        return failure();
    }
    size_t last = function->parameters.size();
    function->parameters.emplace_back();
    function->body = writeBlock(main.front());
    if (!function->body)
      return failure();
    if (llvm::is_contained(weightTypes, nullptr))
      return refuse(main, "the type of a constant");
    function->parameters[last].name = normalform::weightsName.str();
    function->parameters[last].type = program.make<TypeExpr>(TypeExpr::Tuple, {});
    function->parameters[last].type->parts = weightTypes;
    if (weights.empty())
      function->parameters.pop_back();
    program.functions.push_back(function);
    return success();
  }

  functional::Program program;
  SmallVector<mlir::Attribute> weights;

private:
  LogicalResult refuse(Operation *op, const Twine &what) {
    return emitError(op, ErrorCode(3005)) << "a program has no word for " << what;
  }

  LogicalResult addParameter(functional::Function &function, Value value, StringRef name, Operation *op) {
    Parameter &made = function.parameters.emplace_back();
    made.name = nameFor(value, name);
    made.type = normalform::describe(cast<RankedTensorType>(value.getType()), symbols, program);
    return made.type ? success() : refuse(op, "the type of '" + name + "'");
  }

  std::string nameFor(Value value, StringRef wanted) {
    std::string name = names.fresh(wanted);
    bound[value] = name;
    return name;
  }

  Expr *variable(StringRef name) {
    Expr *made = program.make(Expr::Var, {});
    made->name = name.str();
    return made;
  }

  // Null for an operand that is absent.
  Expr *operand(Value value) {
    if (isa<NoneType>(value.getType()))
      return nullptr;
    if (auto known = bound.find(value); known != bound.end())
      return variable(known->second);
    auto constant = cast<ConstantOp>(value.getDefiningOp());
    std::optional<Literal> literal = normalform::describe(constant.getValue());
    if (literal && constant.getValue().getType() == constant.getType() && hasNoNotes(constant)) {
      Expr *made = program.make(Expr::Constant, {});
      made->literal = std::move(*literal);
      return made;
    }
    Expr *made = program.make(Expr::Project, {});
    made->parts = {variable(normalform::weightsName)};
    made->index = weightIndex(constant);
    return made;
  }

  static bool hasNoNotes(ConstantOp constant) {
    return llvm::all_of(constant->getDiscardableAttrs(),
                        [](NamedAttribute attribute) { return attribute.getName() == "graph.name"; });
  }

  int64_t weightIndex(ConstantOp constant) {
    auto [entry, isNew] = weightNumbers.try_emplace(constant, weights.size());
    if (isNew) {
      weights.push_back(constant->getAttrDictionary());
      weightTypes.push_back(normalform::describe(constant.getType(), symbols, program));
    }
    return entry->second;
  }

  // Null after a report.
  Expr *writeBlock(Block &block) {
    Expr *made = program.make(Expr::Block, {});
    for (Operation &op : block.without_terminator())
      if (!isLiteral(&op) && failed(writeLet(op, made->lets.emplace_back())))
        return nullptr;
    Expr *result = program.make(Expr::Tuple, {});
    for (Value value : block.getTerminator()->getOperands())
      result->parts.push_back(operand(value));
    made->parts = {result};
    return made;
  }

  LogicalResult writeLet(Operation &op, Let &let) {
    Expr *call = program.make(Expr::Op, {});
    let.value = call;
    call->name = op.getName().stripDialect().str();
    call->index = std::max<int64_t>(1, op.getNumResults());
    for (Value value : op.getOperands())
      call->parts.push_back(operand(value));
    for (Region &region : op.getRegions()) {
      Expr *part = program.make(Expr::Lambda, {});
      part->function = program.makeFunction({});
      for (BlockArgument argument : region.getArguments())
        if (failed(addParameter(*part->function, argument, "x", &op)))
          return failure();
      part->function->body = writeBlock(region.front());
      if (!part->function->body)
        return failure();
      call->parts.push_back(part);
    }
    writePattern(op, let);
    StringRef named; // by the let
    if (let.pattern->kind == functional::Pattern::Name)
      named = let.pattern->name;
    for (NamedAttribute attribute : op.getAttrs()) {
      if (attribute.getName() == "graph.name" && opName(&op) == named)
        continue;
      std::optional<functional::Attribute> said = normalform::describe(attribute);
      if (!said)
        return refuse(&op, "the attribute '" + attribute.getName().getValue() + "'");
      call->attributes.push_back(std::move(*said));
    }
    return typesFollow(op) ? success() : writeType(op, let);
  }

  void writePattern(Operation &op, Let &let) {
    StringRef name = opName(&op);
    auto pattern = [&](Value value) {
      functional::Pattern *made = program.make<functional::Pattern>(functional::Pattern::Name, {});
      made->name = nameFor(value, name.empty() ? op.getName().stripDialect() : name);
      return made;
    };
    if (op.getNumResults() == 1) {
      let.pattern = pattern(op.getResult(0));
      return;
    }
    let.pattern = program.make<functional::Pattern>(
        op.getNumResults() ? functional::Pattern::Tuple : functional::Pattern::Any, {});
    for (Value result : op.getResults())
      let.pattern->parts.push_back(pattern(result));
  }

  // Whether the types of the results are those that its operands give.
  static bool typesFollow(Operation &op) {
    if (op.getNumResults() == 0)
      return true;
    if (!isa<ShapeOpInterface>(op) || op.getNumRegions())
      return false;
    // Of a copy that does not know them: some ops have types of their own.
    ScopedDiagnosticHandler silent(op.getContext(), [](Diagnostic &) { return success(); });
    Operation *copy = OpBuilder(&op).clone(op);
    for (Value result : copy->getResults())
      result.setType(placeholder(op.getContext()));
    SmallVector<mlir::Type> types;
    bool follow = succeeded(cast<ShapeOpInterface>(copy).inferTypes(types)) && llvm::equal(types, op.getResultTypes());
    copy->erase();
    return follow;
  }

  LogicalResult writeType(Operation &op, Let &let) {
    SmallVector<TypeExpr *> types;
    for (mlir::Type type : op.getResultTypes())
      if (!types.emplace_back(normalform::describe(cast<RankedTensorType>(type), symbols, program)))
        return refuse(&op, "the type of its result");
    if (types.size() == 1) {
      let.type = types[0];
      return success();
    }
    let.type = program.make<TypeExpr>(TypeExpr::Tuple, {});
    llvm::append_range(let.type->parts, types);
    return success();
  }

  SymbolList symbols;
  normalform::Names names;
  DenseMap<Value, std::string> bound;
  DenseMap<Operation *, int64_t> weightNumbers;
  std::vector<TypeExpr *> weightTypes;
};

struct ToANormalFormPass : impl::ToANormalFormPassBase<ToANormalFormPass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto main = module.lookupSymbol<func::FuncOp>("main");
    Writer writer(module);
    if (!main || main.isExternal() || failed(writer.write(main)))
      return signalPassFailure();
    std::string text;
    llvm::raw_string_ostream out(text);
    functional::print(writer.program, out);
    Builder b(&getContext());
    module->setAttr(normalform::programAttribute, b.getStringAttr(text));
    module->setAttr(normalform::weightsAttribute, b.getArrayAttr(writer.weights));
    // What is left of it are the names and types of its inputs and results.
    main.getBody().dropAllReferences();
    main.getBody().getBlocks().clear();
    main.setPrivate();
  }
};

} // namespace
} // namespace fathom
