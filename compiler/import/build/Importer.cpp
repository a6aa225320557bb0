// Walks a checked model in the order of its nodes and builds the module: inputs with their symbols, constants, ops,
// inlined functions.
#include "compiler/import/build/Importer.h"
#include "compiler/graph/Graph.h"
#include "compiler/graph/InferShapes.h"
#include "compiler/graph/SmallTypes.h"
#include "compiler/graph/SymbolRewrite.h"
#include "compiler/import/node/ElementRanges.h"
#include "compiler/import/read/ElementTypes.h"
#include "compiler/import/rules/Small.h"
#include "compiler/import/rules/microsoft/Microsoft.h"
#include "compiler/import/rules/ml/Ml.h"
#include "compiler/import/sequence/Sequence.h"
#include "compiler/support/Cancellation.h"
#include <numeric>

using namespace mlir;

namespace fathom::importer {

Importer::Importer(std::shared_ptr<const onnx::ModelProto> model, StringRef folder, MLIRContext &context,
                   const ImportOptions &options, Location loc, bool keepGoing, llvm::StringSet<> takesSecond)
    : model(model), options(options), loc(loc), keepGoing(keepGoing),
      session{OpBuilder(&context), TensorLoader(model, folder, options.limits), {}, {}, {}, {}, {}, {}} {
  session.takesSecond = std::move(takesSecond);
}

OwningOpRef<ModuleOp> Importer::run(Opsets opsets) {
  const onnx::GraphProto &graph = model->graph();
  for (const auto &function : model->functions())
    functions[functionKey(function.domain(), function.name(), function.overload())] = &function;

  OwningOpRef<ModuleOp> module = ModuleOp::create(loc);
  Scope scope;
  scope.opsets = std::move(opsets);
  llvm::StringSet<> defined;
  if (failed(declareNames(graph, scope, defined)))
    return {};
  for (const auto &node : graph.node())
    for (const std::string &output : node.output())
      session.names.insert(output);

  session.builder.setInsertionPointToEnd(module->getBody());
  func::FuncOp main = importInputs(graph, *module, scope);
  if (!main)
    return {};
  bool good = succeeded(importNodes(graph.node(), defined, scope, loc));
  if ((!good && !keepGoing) || failed(importOutputs(graph, main, scope)) || !good)
    return {};
  eraseCompounds(*module);
  if (ArrayRef<StringRef> texts = session.loader.vocabulary.all(); !texts.empty())
    (*module)->setAttr(graph::vocabularyAttrName, session.builder.getStrArrayAttr(texts));
  if (failed(settleSymbols(*module)))
    return {};
  return module;
}

// A dimension that can have one size only has it, and two that must be the same are one: the runtime checks inputs
// against that, and everything behind them is known better.
LogicalResult Importer::settleSymbols(ModuleOp module) {
  SmallVector<graph::Symbol> before = graph::getSymbols(module).vec(), after;
  SmallVector<unsigned> leader(before.size());
  std::iota(leader.begin(), leader.end(), 0);
  auto find = [&](unsigned i) {
    while (leader[i] != i)
      i = leader[i];
    return i;
  };
  for (auto [a, b, node] : session.same) {
    unsigned x = std::min(find(a), find(b)), y = std::max(find(a), find(b));
    leader[y] = x;
    graph::Symbol one = before[x], other = before[y];
    before[x].min = std::max(one.min, other.min);
    before[x].max = std::min(one.max, other.max);
    if (before[x].min > before[x].max)
      return emitError(node, ErrorCode::BadShape)
             << "dimensions '" << one.name << "' and '" << other.name << "' must be the same, but range from "
             << one.min << " to " << one.max << " and from " << other.min << " to " << other.max;
    auto note = [&](unsigned i, const graph::Symbol &was) {
      if (was.min != before[x].min || was.max != before[x].max)
        narrowedBy[i] = node;
    };
    note(x, one), note(y, other);
  }
  SmallVector<AffineExpr> replacements;
  for (auto [i, symbol] : llvm::enumerate(before)) {
    unsigned of = find(i);
    if (of != i)
      replacements.push_back(replacements[of]);
    else if (!symbol.isComputed && symbol.min == symbol.max)
      replacements.push_back(getAffineConstantExpr(symbol.min, module.getContext()));
    else {
      replacements.push_back(getAffineSymbolExpr(after.size(), module.getContext()));
      after.push_back(symbol);
    }
  }
  for (unsigned i = 0; i < before.size(); ++i)
    before[i].min = before[find(i)].min, before[i].max = before[find(i)].max;
  warnOfNarrowed(before);
  if (after.size() == before.size())
    return success();
  graph::setSymbols(module, after);
  graph::replaceSymbols(module, replacements);
  return graph::inferAgain(session.main);
}

void Importer::noteNarrowed(Location node) {
  // Only what the user asked for is worth a warning.
  if (ranges.empty())
    return;
  graph::SymbolList list = graph::getSymbols(session.main->getParentOfType<ModuleOp>());
  for (unsigned i = 0; i < std::min(list.size(), symbols.size()); ++i) {
    if (list[i].min > noted[i].min || list[i].max < noted[i].max)
      narrowedBy[i] = node;
    noted[i] = list[i];
  }
}

void Importer::warnOfNarrowed(ArrayRef<graph::Symbol> settled) {
  for (auto [i, symbol] : llvm::enumerate(ArrayRef(settled).take_front(symbols.size()))) {
    auto given = ranges.find(symbols[i].name);
    if (given == ranges.end() || (given->second.min == symbol.min && given->second.max == symbol.max))
      continue;
    auto warning = emitWarning(narrowedBy[i].value_or(loc));
    warning << "dimension '" << symbols[i].name << "' was to range from " << given->second.min << " to "
            << given->second.max << ", but the model runs with ";
    if (symbol.min == symbol.max)
      warning << symbol.min << " only";
    else
      warning << symbol.min << " to " << symbol.max;
    warning << " because of this node; other sizes are refused when it runs";
  }
}

LogicalResult Importer::importNodes(const Nodes &list, const llvm::StringSet<> &defined, Scope &scope, Location at) {
  auto isOutside = [&](StringRef name) {
    for (Scope *outer = scope.outer; outer; outer = outer->outer)
      if (outer->values.contains(name) || outer->initializers.contains(name) || outer->absent.contains(name))
        return true;
    return false;
  };
  FailureOr<std::vector<const onnx::NodeProto *>> order = sortNodes(list, defined, at, isOutside);
  if (failed(order))
    return failure();
  bool good = true;
  for (const onnx::NodeProto *node : *order) {
    if (isCancelled())
      return failure();
    good &= succeeded(importNode(*node, scope));
    noteNarrowed(NameLoc::get(session.builder.getStringAttr(scope.prefix + nameOf(*node))));
    if (!good && !keepGoing)
      return failure();
  }
  return success(good);
}

LogicalResult Importer::declareNames(const onnx::GraphProto &graph, Scope &scope, llvm::StringSet<> &defined) {
  if (graph.sparse_initializer_size())
    return emitError(loc, ErrorCode::UnsupportedType) << "sparse initializers are not supported";
  for (const auto &tensor : graph.initializer()) {
    if (tensor.name().empty() || !scope.initializers.try_emplace(tensor.name(), &tensor).second)
      return emitError(loc, ErrorCode::BadGraph)
             << "the initializer name '" << tensor.name() << "' is empty or used twice";
    defined.insert(tensor.name());
  }
  llvm::StringSet<> inputs;
  for (const auto &input : graph.input()) {
    if (input.name().empty() || !inputs.insert(input.name()).second)
      return emitError(loc, ErrorCode::BadGraph) << "the input name '" << input.name() << "' is empty or used twice";
    defined.insert(input.name());
  }
  for (const auto &info : graph.value_info())
    scope.infos[info.name()] = &info.type();
  for (const auto &name : defined)
    session.names.insert(name.first());
  return success();
}

FailureOr<Value> Importer::valueOf(StringRef name, Scope &scope) {
  if (auto it = scope.values.find(name); it != scope.values.end())
    return it->second;
  auto it = scope.initializers.find(name);
  if (it == scope.initializers.end())
    return scope.outer && !scope.absent.contains(name) ? valueOf(name, *scope.outer) : FailureOr<Value>(failure());
  // In the outermost block, where every branch sees it.
  OpBuilder::InsertionGuard guard(session.builder);
  if (Block *body = &session.main.getBody().front(); session.builder.getBlock() != body)
    session.builder.setInsertionPointToStart(body);
  Value &value = scope.values[name];
  Location at = NameLoc::get(session.builder.getStringAttr(name));
  FailureOr<ElementsAttr> tensor = session.loader.load(*it->second, name, at);
  if (failed(tensor))
    return value; // null: reported
  auto op = graph::ConstantOp::create(session.builder, at, tensor->getType(), *tensor);
  op->setAttr("graph.name", session.builder.getStringAttr(name));
  return value = op;
}

LogicalResult Importer::importNode(const onnx::NodeProto &proto, Scope &scope) {
  Location at = NameLoc::get(session.builder.getStringAttr(scope.prefix + nameOf(proto)));
  if (++nodes > options.limits.nodes)
    return emitError(at, ErrorCode::Limit) << "more than " << options.limits.nodes << " nodes after inlining functions";
  // Whatever happens, later nodes find the outputs; null stands for a failure that was reported.
  for (const std::string &output : proto.output())
    if (!output.empty())
      scope.values[output] = {};

  FailureOr<Attributes> attributes = resolveAttributes(proto, scope, at);
  SmallVector<Value> inputs;
  bool haveInputs = true;
  for (const std::string &name : proto.input()) {
    bool absent = name.empty() || scope.absent.contains(name);
    FailureOr<Value> value = absent ? FailureOr<Value>(Value()) : valueOf(name, scope);
    if (failed(value))
      return emitError(at, ErrorCode::BadGraph) << "its input '" << name << "' is not defined";
    haveInputs &= absent || *value;
    inputs.push_back(*value);
  }

  if (failed(checkOperator(proto, scope.opsets, at)))
    return failure();
  if (failed(attributes) || !haveInputs) {
    reportOperatorsIn(proto, scope.opsets, scope.prefix);
    return failure();
  }
  if (const onnx::FunctionProto *function = functionOf(proto))
    return importCall(proto, *function, *attributes, inputs, scope);
  noteElementRanges(proto, *attributes, inputs, session.main);
  bool isMicrosoftNode = isMicrosoft(domainOf(proto.domain()), proto.op_type());
  bool isMlNode = isMl(domainOf(proto.domain()), proto.op_type()), isOwn = !isMicrosoftNode && !isMlNode;
  bool takesText = isMlNode ? mlTakesStrings(proto.op_type()) : isOwn && takesStrings(proto.op_type(), at.getContext());
  if (failed(checkInputKinds(proto, inputs, takesText, at)))
    return failure();
  bool isFlex = isFlexAttention(domainOf(proto.domain()), proto.op_type());
  if (isFlex || (isOwn && isControl(proto.op_type())))
    return importControl(proto, std::move(*attributes), std::move(inputs), scope);
  if (!isOwn || !takesCompounds(proto.op_type()))
    if (auto compound = llvm::find_if(inputs, isCompound); compound != inputs.end())
      return emitError(at, ErrorCode::BadType) << proto.op_type() << " takes tensors, and its input "
                                               << compound - inputs.begin() << " is a sequence or an optional";

  int64_t opset = scope.opsets.lookup(isMlNode ? StringRef(mlDomain) : "");
  Node node(session, proto, std::move(*attributes), std::move(inputs), opset, scope.prefix);
  if (failed(isMlNode ? normalizeMl(node) : isMicrosoftNode ? normalizeMicrosoft(node) : normalize(node)))
    return failure();
  for (auto [name, value] : llvm::zip(proto.output(), node.results())) {
    if (name.empty())
      continue;
    scope.values[name] = value;
    if (auto info = scope.infos.find(name); info != scope.infos.end())
      compareWithInfo(*info->second, value, at);
  }
  return success();
}

// Maps leave the model and go nowhere else, strings go where they are compared or moved, and small types where they are
// moved or become others.
LogicalResult Importer::checkInputKinds(const onnx::NodeProto &proto, ArrayRef<Value> inputs, bool takesText,
                                        Location at) {
  for (Value input : inputs) {
    auto type = input ? dyn_cast<RankedTensorType>(input.getType()) : RankedTensorType();
    if (isZipMap(input))
      return emitError(at, ErrorCode::UnsupportedOp)
             << "a ZipMap's maps can only be an output of the model, and " << proto.op_type() << " takes them";
    if (type && graph::isString(type.getElementType()) && !takesText)
      return emitError(at, ErrorCode::UnsupportedType) << proto.op_type() << " of strings is not supported";
    if (type && graph::isSmall(type.getElementType()) &&
        !(domainOf(proto.domain()).empty() && takesSmallTypes(proto.op_type(), at.getContext())))
      return hint(emitError(at, ErrorCode::UnsupportedType)
                      << proto.op_type() << " of " << graph::smallTypeName(type.getElementType())
                      << " is not supported",
                  "such types are stored and moved; Cast or DequantizeLinear makes numbers to compute with of them");
  }
  return success();
}

const onnx::FunctionProto *Importer::functionOf(const onnx::NodeProto &proto) const {
  return functions.lookup(functionKey(domainOf(proto.domain()), proto.op_type(), proto.overload()));
}

LogicalResult Importer::checkOperator(const onnx::NodeProto &proto, const Opsets &opsets, Location at) {
  if (functionOf(proto))
    return success();
  // An import stops at the first of them.
  auto listing = [&](InFlightDiagnostic &&diagnostic) {
    return keepGoing ? std::move(diagnostic) : hint(std::move(diagnostic), "'fathom check' lists all that is not");
  };
  StringRef domain = domainOf(proto.domain());
  bool isMicrosoftNode = isMicrosoft(domain, proto.op_type());
  if (isMl(domain, proto.op_type()) || isFlexAttention(domain, proto.op_type()))
    return success();
  if (!domain.empty() && !isMicrosoftNode) {
    auto diagnostic = emitError(at, ErrorCode::UnsupportedOp)
                      << "operator " << proto.op_type() << " of domain '" << domain << "' is not supported";
    if (domain == "com.microsoft")
      return hint(std::move(diagnostic),
                  "ONNX Runtime's optimizer makes such operators; give the model as it was exported");
    return listing(std::move(diagnostic));
  }
  auto opset = opsets.find("");
  if (opset == opsets.end())
    return emitError(at, ErrorCode::BadGraph)
           << "the model has no opset_import of ONNX's own operators, but uses " << proto.op_type();
  if (!isMicrosoftNode && !isControl(proto.op_type()) && !isSupported(proto.op_type(), session.builder.getContext()))
    return listing(emitError(at, ErrorCode::UnsupportedOp)
                   << "operator " << proto.op_type() << " (operator set " << opset->second << ") is not supported");
  return success();
}

void Importer::reportOperatorsIn(const onnx::NodeProto &proto, const Opsets &opsets, StringRef prefix) {
  if (!keepGoing)
    return;
  auto report = [&](const Nodes &list, const Opsets &own, const std::string &inside) {
    for (const onnx::NodeProto &node : list) {
      if (++nodes > options.limits.nodes)
        return;
      Location at = NameLoc::get(session.builder.getStringAttr(inside + nameOf(node)));
      if (succeeded(checkOperator(node, own, at)))
        reportOperatorsIn(node, own, inside);
    }
  };
  std::string inside = prefix.str() + nameOf(proto) + "/";
  if (const onnx::FunctionProto *function = functionOf(proto)) {
    FailureOr<Opsets> own = readOpsets(function->opset_import(), loc);
    if (succeeded(own))
      report(function->node(), *own, inside);
    return;
  }
  for (const auto &attribute : proto.attribute())
    if (attribute.has_g())
      report(attribute.g().node(), opsets, inside + partOf(attribute.name()).str());
}

FailureOr<Attributes> Importer::resolveAttributes(const onnx::NodeProto &proto, Scope &scope, Location at) {
  Attributes attributes;
  for (const auto &attribute : proto.attribute()) {
    const onnx::AttributeProto *meant = &attribute;
    if (!attribute.ref_attr_name().empty()) {
      meant = scope.attributes.lookup(attribute.ref_attr_name());
      // The caller did not give it: the operator's own default holds.
      if (!meant)
        continue;
    }
    if (attribute.name().empty() || !attributes.insert({attribute.name(), meant}).second)
      return emitError(at, ErrorCode::BadAttribute)
             << "attribute name '" << attribute.name() << "' is empty or used twice";
  }
  return attributes;
}

LogicalResult Importer::importCall(const onnx::NodeProto &call, const onnx::FunctionProto &function,
                                   const Attributes &attributes, ArrayRef<Value> inputs, Scope &caller) {
  Location at = NameLoc::get(session.builder.getStringAttr(caller.prefix + nameOf(call)));
  Scope scope;
  scope.prefix = caller.prefix + nameOf(call) + "/";
  FailureOr<Opsets> opsets = readOpsets(function.opset_import(), at);
  if (failed(opsets))
    return failure();
  scope.opsets = std::move(*opsets);
  for (const auto &attribute : function.attribute_proto())
    scope.attributes[attribute.name()] = &attribute;
  for (const auto &[name, attribute] : attributes) {
    bool known = llvm::is_contained(function.attribute(), name) || scope.attributes.contains(name);
    if (!known)
      return emitError(at, ErrorCode::BadAttribute)
             << "function '" << function.name() << "' has no attribute '" << name << "'";
    scope.attributes[name] = attribute;
  }
  if (call.input_size() > function.input_size() || call.output_size() > function.output_size())
    return emitError(at, ErrorCode::BadGraph) << "more inputs or outputs than function '" << function.name() << "' has";
  llvm::StringSet<> defined;
  for (auto [i, name] : llvm::enumerate(function.input())) {
    if (!defined.insert(name).second)
      return emitError(at, ErrorCode::BadGraph)
             << "the name '" << name << "' is defined twice in function '" << function.name() << "'";
    scope.values[name] = i < inputs.size() ? inputs[i] : Value();
    if (!scope.values[name])
      scope.absent.insert(name);
  }
  bool good = succeeded(importNodes(function.node(), defined, scope, at));
  if (!good && !keepGoing)
    return failure();
  for (auto [inner, outer] : llvm::zip(function.output(), call.output())) {
    auto value = scope.values.find(inner);
    if (value == scope.values.end() || scope.absent.contains(inner))
      return emitError(at, ErrorCode::BadGraph)
             << "function '" << function.name() << "' does not define its output '" << inner << "'";
    if (!outer.empty())
      caller.values[outer] = value->second;
  }
  return success(good);
}

} // namespace fathom::importer
