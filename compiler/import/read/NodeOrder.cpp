// The order of a graph's nodes: each after those whose results it needs, otherwise as in the file.
#include "compiler/import/read/ModelCheck.h"
#include "llvm/ADT/STLExtras.h"
#include <queue>

using namespace mlir;

namespace fathom::importer {

static Location locOf(const onnx::NodeProto &node, Location loc) {
  return NameLoc::get(StringAttr::get(loc->getContext(), nameOf(node)));
}

namespace {
struct Edges {
  std::vector<std::vector<int>> users; // by node
  std::vector<int> waiting;            // how many results of other nodes each node needs
  bool sorted = true;
};
} // namespace

namespace {
// The names that a graph defines, within those of the graphs around it: looked up level by level, as copies of them
// for every node would be quadratic.
struct Scope {
  const Scope *outer;
  llvm::StringSet<> names;

  bool contains(StringRef name) const {
    for (const Scope *scope = this; scope; scope = scope->outer)
      if (scope->names.contains(name))
        return true;
    return false;
  }
};
} // namespace

// Names that the graphs inside a node use from around it. A graph that defines such a name itself means its own.
static void collectCaptured(const onnx::NodeProto &node, const Scope *outer, llvm::StringSet<> &captured) {
  auto visit = [&](const onnx::GraphProto &graph) {
    Scope local{outer, {}};
    for (const auto &input : graph.input())
      local.names.insert(input.name());
    for (const auto &tensor : graph.initializer())
      local.names.insert(tensor.name());
    for (const auto &inner : graph.node())
      for (const std::string &output : inner.output())
        local.names.insert(output);
    for (const auto &inner : graph.node()) {
      for (const std::string &input : inner.input())
        if (!local.contains(input))
          captured.insert(input);
      collectCaptured(inner, &local, captured);
    }
    for (const auto &output : graph.output())
      if (!local.contains(output.name()))
        captured.insert(output.name());
  };
  for (const auto &attribute : node.attribute()) {
    if (attribute.has_g())
      visit(attribute.g());
    for (const auto &graph : attribute.graphs())
      visit(graph);
  }
}

static FailureOr<Edges> findEdges(const Nodes &nodes, const llvm::StringSet<> &defined, Location loc,
                                  llvm::function_ref<bool(StringRef)> isOutside) {
  llvm::StringMap<int> producers;
  for (int i = 0; i < nodes.size(); ++i)
    for (const std::string &output : nodes[i].output()) {
      if (output.empty())
        continue;
      if (defined.contains(output) || !producers.try_emplace(output, i).second)
        return emitError(locOf(nodes[i], loc), ErrorCode::BadGraph) << "the name '" << output << "' is defined twice";
    }
  Edges edges;
  edges.users.resize(nodes.size());
  edges.waiting.resize(nodes.size());
  for (int i = 0; i < nodes.size(); ++i) {
    auto need = [&](StringRef name) {
      auto producer = producers.find(name);
      if (producer == producers.end())
        return false;
      edges.users[producer->second].push_back(i);
      ++edges.waiting[i];
      edges.sorted &= producer->second < i;
      return true;
    };
    for (const std::string &input : nodes[i].input())
      if (!input.empty() && !defined.contains(input) && !need(input) && !isOutside(input))
        return emitError(locOf(nodes[i], loc), ErrorCode::BadGraph)
               << "its input '" << input << "' is neither an input, an initializer nor the result of a node";
    llvm::StringSet<> captured;
    collectCaptured(nodes[i], nullptr, captured);
    for (const auto &name : captured)
      if (!defined.contains(name.first()))
        need(name.first());
  }
  return edges;
}

// Names the nodes of one cycle: backwards along unfinished nodes, a node is met twice at last.
static LogicalResult reportCycle(const Nodes &nodes, const Edges &edges, Location loc) {
  std::vector<int> before(nodes.size(), -1);
  int current = -1;
  for (int i = 0; i < nodes.size(); ++i)
    if (edges.waiting[i] > 0) {
      current = i;
      for (int user : edges.users[i])
        before[user] = i;
    }
  std::vector<bool> seen(nodes.size());
  while (!seen[current]) {
    seen[current] = true;
    current = before[current];
  }
  std::string names;
  int start = current, shown = 0;
  do {
    names = nameOf(nodes[current]) + (names.empty() ? "" : " -> " + names);
    current = before[current];
  } while (current != start && ++shown < 8);
  return emitError(locOf(nodes[start], loc), ErrorCode::BadGraph) << "the graph has a cycle: " << names;
}

FailureOr<std::vector<const onnx::NodeProto *>> sortNodes(const Nodes &nodes, const llvm::StringSet<> &defined,
                                                          Location loc, llvm::function_ref<bool(StringRef)> isOutside) {
  FailureOr<Edges> edges = findEdges(nodes, defined, loc, isOutside);
  if (failed(edges))
    return failure();
  std::vector<const onnx::NodeProto *> order;
  order.reserve(nodes.size());
  if (edges->sorted) {
    for (const auto &node : nodes)
      order.push_back(&node);
    return order;
  }
  std::priority_queue<int, std::vector<int>, std::greater<int>> ready;
  for (int i = 0; i < nodes.size(); ++i)
    if (edges->waiting[i] == 0)
      ready.push(i);
  while (!ready.empty()) {
    int node = ready.top();
    ready.pop();
    order.push_back(&nodes[node]);
    for (int user : edges->users[node])
      if (--edges->waiting[user] == 0)
        ready.push(user);
  }
  if (order.size() != size_t(nodes.size()))
    return reportCycle(nodes, *edges, loc);
  return order;
}

} // namespace fathom::importer
