// The table of rules and the rule of operators that need none.
#include "compiler/import/node/Normalize.h"
#include "compiler/graph/Traits.h"
#include "compiler/import/rules/LinearAttention.h"
#include "compiler/import/rules/ml/Text.h"

using namespace mlir;

namespace fathom::importer {

static const Rule *findRule(StringRef op) {
  static const llvm::StringMap<const Rule *> rules = [] {
    llvm::StringMap<const Rule *> map;
    for (ArrayRef<Rule> family :
         {elementwiseRules(),   sequenceRules(),        movementRules(),   resizeRules(),    reductionRules(),
          normalizationRules(), quantizedRules(),       lossRules(),       windowRules(),    dynamicRules(),
          recurrentRules(),     einsumRules(),          gridSampleRules(), attentionRules(), signalRules(),
          samePaddingRules(),   imageRules(),           regionRules(),     matrixRules(),    randomRules(),
          gatedRules(),         linearAttentionRules(), textRules()})
      for (const Rule &rule : family)
        map[rule.op] = &rule;
    return map;
  }();
  return rules.lookup(op);
}

bool isSupported(StringRef op, MLIRContext *context) {
  if (findRule(op))
    return true;
  std::optional<RegisteredOperationName> name = RegisteredOperationName::lookup(("graph." + op).str(), context);
  return name && !name->hasTrait<graph::Internal>();
}

bool takesCompounds(StringRef op) {
  return llvm::any_of(sequenceRules(), [&](const Rule &rule) { return rule.op == op; });
}

bool movesAnyElement(StringRef op, MLIRContext *context) {
  std::optional<RegisteredOperationName> name = RegisteredOperationName::lookup(("graph." + op).str(), context);
  return name && name->hasTrait<graph::AnyElement>();
}

bool takesStrings(StringRef op, MLIRContext *context) {
  // The rule's operator, or one that is an op of the dialect.
  if (const Rule *rule = findRule(op); rule && rule->takesStrings)
    return true;
  std::optional<RegisteredOperationName> name = RegisteredOperationName::lookup(("graph." + op).str(), context);
  return name && (name->hasTrait<graph::AnyElement>() || name->hasTrait<graph::TakesStrings>());
}

static LogicalResult checkInputs(Node &node, unsigned least, unsigned most) {
  for (unsigned i = 0; i < least; ++i)
    if (!node.hasInput(i))
      return node.error(ErrorCode::BadGraph) << "input " << i << " of " << node.type() << " is missing";
  if (node.numInputs() > most)
    return node.error(ErrorCode::BadGraph)
           << node.type() << " has " << node.numInputs() << " inputs, at most " << most << " are known";
  return success();
}

LogicalResult copyNode(Node &node) {
  OperationName name(("graph." + node.type()).str(), node.context());
  std::optional<unsigned> arity = arityOf(name);
  if (failed(checkInputs(node, 0, arity.value_or(anyNumber))))
    return failure();
  FailureOr<SmallVector<NamedAttribute>> attrs = node.takeAttrs(node.type());
  if (failed(attrs))
    return failure();
  unsigned results = node.numOutputs();
  if (name.hasTrait<OpTrait::OneResult>())
    results = 1;
  else if (name.hasTrait<OpTrait::NResults<2>::Impl>())
    results = 2;
  else if (name.hasTrait<OpTrait::NResults<3>::Impl>())
    results = 3;
  Operation *op = node.create(node.type(), node.allInputs(), *attrs, results);
  return op ? node.finish(op->getResults()) : failure();
}

LogicalResult normalize(Node &node) {
  if (node.opset() < 7 && failed(modernize(node)))
    return failure();
  const Rule *rule = findRule(node.type());
  return rule ? applyRule(*rule, node) : copyNode(node);
}

LogicalResult applyRule(const Rule &rule, Node &node) {
  return failed(checkInputs(node, rule.minInputs, rule.maxInputs)) ? failure() : rule.apply(node);
}

Value shapeOf(Node &node, Value value, StringRef suffix) {
  return value ? node.emit("Shape", value, {}, suffix) : Value();
}

Value reshape(Node &node, Value value, ArrayRef<int64_t> sizes, StringRef suffix) {
  return node.emit("Reshape", {value, node.ints(sizes, (suffix + ".shape").str())}, {}, suffix);
}

} // namespace fathom::importer
