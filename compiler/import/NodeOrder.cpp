// The order of a graph's nodes: each after those whose results it needs, otherwise as in the file.
#include "compiler/import/ModelCheck.h"
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

static FailureOr<Edges> findEdges(const Nodes &nodes, const llvm::StringSet<> &defined, Location loc) {
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
  for (int i = 0; i < nodes.size(); ++i)
    for (const std::string &input : nodes[i].input()) {
      if (input.empty() || defined.contains(input))
        continue;
      auto producer = producers.find(input);
      if (producer == producers.end())
        return emitError(locOf(nodes[i], loc), ErrorCode::BadGraph)
               << "its input '" << input << "' is neither an input, an initializer nor the result of a node";
      edges.users[producer->second].push_back(i);
      ++edges.waiting[i];
      edges.sorted &= producer->second < i;
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
                                                          Location loc) {
  FailureOr<Edges> edges = findEdges(nodes, defined, loc);
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
