// If and Loop: their graphs become regions, which see the values around them.
#include "compiler/graph/Graph.h"
#include "compiler/import/build/Importer.h"
#include "compiler/import/read/DeclaredType.h"
#include "compiler/import/sequence/Sequence.h"

using namespace mlir;

namespace fathom::importer {

using Values = FailureOr<SmallVector<Value>>;

bool Importer::isControl(StringRef op) { return llvm::is_contained({"If", "Loop", "Scan", "SequenceMap"}, op); }

StringRef Importer::partOf(StringRef graphAttribute) {
  return graphAttribute == "then_branch" ? "then/" : graphAttribute == "else_branch" ? "else/" : "";
}

// A condition or a count: one element of this width, whatever the dimensions around it. Null after a report.
static Value oneElement(Node &node, Value value, unsigned bits, const Twine &what) {
  StringRef type = bits == 1 ? "bool" : "int64";
  if (isCompound(value) || !getElementTypeOrSelf(value).isInteger(bits)) {
    node.error(ErrorCode::BadType) << what << ", must be a" << (bits == 1 ? " " : "n ") << type;
    return {};
  }
  auto tensor = cast<RankedTensorType>(value.getType());
  if (tensor.hasStaticShape() && tensor.getNumElements() == 1)
    return value;
  if (tensor.hasStaticShape()) {
    node.error(ErrorCode::BadShape) << what << ", must be one " << type << ", and is " << node.text(tensor);
    return {};
  }
  return node.emit("Reshape", {value, node.ints({}, "scalar")}, {}, "scalar");
}

const onnx::GraphProto *Importer::graphOf(Node &node, const Attributes &attributes, StringRef name) {
  const onnx::AttributeProto *attribute = attributes.lookup(name);
  if (attribute && attribute->has_g())
    return &attribute->g();
  node.error(ErrorCode::BadAttribute) << node.type() << " has no graph '" << name << "'";
  return nullptr;
}

Values Importer::importGraph(const onnx::GraphProto &graph, ValueRange inputs, Scope &outer, Node &node,
                             StringRef part) {
  Scope scope;
  scope.outer = &outer;
  scope.opsets = outer.opsets;
  scope.prefix = outer.prefix + node.name() + "/" + part.str();
  for (const auto &entry : outer.attributes)
    scope.attributes[entry.first()] = entry.second;
  llvm::StringSet<> defined;
  if (graph.input_size() != int(inputs.size()))
    return node.error(ErrorCode::BadGraph)
           << "its graph takes " << graph.input_size() << " values where " << inputs.size() << " are given";
  if (failed(declareNames(graph, scope, defined)))
    return failure();
  for (auto [input, value] : llvm::zip(graph.input(), inputs))
    scope.values[input.name()] = value;
  if (failed(importNodes(graph.node(), defined, scope, node.loc())))
    return failure();
  SmallVector<Value> results;
  for (const auto &output : graph.output()) {
    FailureOr<Value> value = valueOf(output.name(), scope);
    if (failed(value))
      return node.error(ErrorCode::BadGraph) << "nothing defines '" << output.name() << "', which its graph gives";
    if (!*value)
      return failure();
    results.push_back(*value);
  }
  return results;
}

Values Importer::importIf(Node &node, const Attributes &attributes, Scope &scope) {
  const onnx::GraphProto *branches[] = {graphOf(node, attributes, "else_branch"),
                                        graphOf(node, attributes, "then_branch")};
  if (!branches[0] || !branches[1])
    return failure();
  if (branches[0]->output_size() != branches[1]->output_size())
    return node.error(ErrorCode::BadGraph)
           << "its branches give " << branches[1]->output_size() << " and " << branches[0]->output_size() << " values";
  auto body = [&](bool isThen) {
    return importGraph(*branches[isThen], {}, scope, node, partOf(isThen ? "then_branch" : "else_branch"));
  };
  Value condition = node.input(0);
  // Exporters guard cases that cannot occur for the shapes at hand.
  if (auto known = graph::constantElementsOf(condition); known && known->size() == 1)
    return body(known->front() != 0);
  Values values = branchOf(node, condition, body);
  // The branch that failed says nothing about the other.
  if (failed(values))
    reportOperatorsIn(node.onnx(), scope.opsets, scope.prefix);
  return values;
}

Values Importer::importLoop(Node &node, const Attributes &attributes, Scope &scope) {
  const onnx::GraphProto *graph = graphOf(node, attributes, "body");
  if (!graph)
    return failure();
  SmallVector<Value> carried = node.allInputs();
  if (carried.size() > 2)
    carried.erase(carried.begin(), carried.begin() + 2);
  else
    carried.clear();
  if (graph->output_size() < int(1 + carried.size()))
    return node.error(ErrorCode::BadGraph) << "its body gives " << graph->output_size() << " values, fewer than the "
                                           << 1 + carried.size() << " of the next iteration";
  // No iteration, and nothing that it would stack: what is carried stays as it is, whatever the body makes of it.
  auto isConstant = [&](unsigned input, auto isMet) {
    auto known = node.hasInput(input) ? graph::constantElementsOf(node.input(input)) : std::nullopt;
    return known && known->size() == 1 && isMet(known->front());
  };
  if (graph->output_size() == int(1 + carried.size()) && (isConstant(0, [](int64_t trips) { return trips <= 0; }) ||
                                                          isConstant(1, [](int64_t goesOn) { return !goesOn; })))
    return carried;
  // What a model declares as a scalar may just be unknown.
  auto rankOfType = [](const onnx::ValueInfoProto &value) -> std::optional<int64_t> {
    const onnx::TypeProto::Tensor *tensor = tensorIn(value.type());
    int64_t rank = tensor && tensor->has_shape() ? tensor->shape().dim_size() : 0;
    return rank ? std::optional(rank) : std::nullopt;
  };
  SmallVector<std::optional<int64_t>> ranks;
  for (auto [i, value] : llvm::enumerate(carried)) {
    if (isa<NoneType>(value.getType()))
      return node.error(ErrorCode::BadGraph) << "input " << 2 + i << " of Loop is missing";
    ranks.push_back(int(2 + i) < graph->input_size() ? rankOfType(graph->input(2 + i)) : std::nullopt);
    if (!ranks.back())
      ranks.back() = rankOfType(graph->output(1 + i));
  }
  if (std::optional<Values> made = importAppending(node, *graph, carried, ranks, scope))
    return *made;
  auto body = [&](Value iteration, Value condition, ValueRange values) {
    return importBody(node, *graph, iteration, condition, values, scope);
  };
  return loopOf(node, node.hasInput(0) ? node.input(0) : Value(), node.hasInput(1) ? node.input(1) : Value(), carried,
                ranks, body);
}

Values Importer::importBody(Node &node, const onnx::GraphProto &body, Value iteration, Value condition,
                            ValueRange carried, Scope &scope) {
  SmallVector<Value> inputs{iteration, condition};
  llvm::append_range(inputs, carried);
  Values made = importGraph(body, inputs, scope, node, "");
  if (failed(made))
    return failure();
  Value &goesOn = made->front();
  goesOn = oneElement(node, goesOn, 1, "output 0 of the body of Loop, the condition");
  return goesOn ? made : Values(failure());
}

LogicalResult Importer::importControl(const onnx::NodeProto &proto, Attributes attributes, SmallVector<Value> inputs,
                                      Scope &scope) {
  int64_t opset = scope.opsets.lookup("");
  Node node(session, proto, attributes, std::move(inputs), opset, scope.prefix);
  for (StringRef name : {"then_branch", "else_branch", "body", "score_mod", "prob_mod"})
    node.ignoreAttr(name);
  if (proto.op_type() == "If" && !node.hasInput(0))
    return node.error(ErrorCode::BadGraph) << "If has no condition";
  // Only what a loop carries, and what is mapped, may be something else than a tensor.
  for (unsigned i = 0; proto.op_type() == "Scan" && i < node.numInputs(); ++i)
    if (isCompound(node.input(i)))
      return node.error(ErrorCode::BadType) << "input " << i << " of " << proto.op_type() << " must be a tensor";
  auto makeOne = [&](unsigned input, unsigned bits, StringRef what) -> LogicalResult {
    if (!node.hasInput(input))
      return success();
    Value value =
        oneElement(node, node.input(input), bits, "input " + Twine(input) + " of " + proto.op_type() + ", the " + what);
    node.setInput(input, value);
    return success(bool(value));
  };
  bool isIf = proto.op_type() == "If", isLoop = proto.op_type() == "Loop";
  if ((isIf && failed(makeOne(0, 1, "condition"))) ||
      (isLoop && (failed(makeOne(0, 64, "number of iterations")) || failed(makeOne(1, 1, "condition")))))
    return failure();
  Values values = proto.op_type() == "If"            ? importIf(node, attributes, scope)
                  : proto.op_type() == "Loop"        ? importLoop(node, attributes, scope)
                  : proto.op_type() == "SequenceMap" ? importMap(node, attributes, scope)
                  : isFlexAttention(domainOf(proto.domain()), proto.op_type())
                      ? importFlexAttention(node, attributes, scope)
                      : importScan(node, attributes, scope);
  if (failed(values) || failed(node.finish(*values)))
    return failure();
  for (auto [name, value] : llvm::zip(proto.output(), node.results()))
    if (!name.empty())
      scope.values[name] = value;
  return success();
}

} // namespace fathom::importer
