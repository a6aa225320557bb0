// Walks the model as the importer does, but makes nothing.
#include "compiler/import/read/NodeList.h"

#include "compiler/import/read/MappedFile.h"
#include "compiler/import/read/ModelCheck.h"

using namespace mlir;
using namespace fathom::importer;

namespace fathom {
namespace {

class Lister {
public:
  Lister(const onnx::ModelProto &model, const ImportLimits &limits) : limits(limits) {
    for (const auto &function : model.functions())
      functions[functionKey(function.domain(), function.name(), function.overload())] = &function;
    list(model.graph().node(), outputsOf(model.graph()), "", /*isUsed=*/true);
  }

  std::vector<ListedNode> nodes;

private:
  using Names = SmallVector<StringRef>;

  static Names outputsOf(const onnx::GraphProto &graph) {
    return llvm::map_to_vector(graph.output(), [](const auto &output) { return StringRef(output.name()); });
  }

  // What a node takes, its graphs included.
  static void collectInputs(const onnx::NodeProto &node, Names &names) {
    names.append(node.input().begin(), node.input().end());
    for (const auto &attribute : node.attribute())
      if (attribute.has_g()) {
        llvm::append_range(names, outputsOf(attribute.g()));
        for (const auto &inner : attribute.g().node())
          collectInputs(inner, names);
      }
  }

  // The nodes that these outputs depend on.
  static llvm::DenseSet<const onnx::NodeProto *> findUsed(const Nodes &all, Names outputs) {
    llvm::StringMap<const onnx::NodeProto *> producers;
    for (const auto &node : all)
      for (const std::string &output : node.output())
        producers[output] = &node;
    llvm::DenseSet<const onnx::NodeProto *> used;
    while (!outputs.empty()) {
      auto producer = producers.find(outputs.pop_back_val());
      if (producer != producers.end() && used.insert(producer->second).second)
        collectInputs(*producer->second, outputs);
    }
    return used;
  }

  void list(const Nodes &all, Names outputs, const std::string &prefix, bool isUsed) {
    llvm::DenseSet<const onnx::NodeProto *> used = findUsed(all, std::move(outputs));
    for (const auto &node : all) {
      if (nodes.size() >= limits.nodes)
        return;
      std::string name = prefix + nameOf(node);
      auto function = functions.find(functionKey(node.domain(), node.op_type(), node.overload()));
      if (function != functions.end()) {
        Names results(function->second->output().begin(), function->second->output().end());
        list(function->second->node(), results, name + "/", isUsed && used.contains(&node));
        continue;
      }
      nodes.push_back({name, node.op_type(), isUsed && used.contains(&node)});
      for (const auto &attribute : node.attribute())
        if (attribute.has_g())
          list(attribute.g().node(), outputsOf(attribute.g()), name + "/" + branchOf(attribute.name()),
               isUsed && used.contains(&node));
    }
  }

  static std::string branchOf(StringRef attribute) {
    return attribute == "then_branch" ? "then/" : attribute == "else_branch" ? "else/" : "";
  }

  const ImportLimits &limits;
  llvm::StringMap<const onnx::FunctionProto *> functions;
};

} // namespace

std::vector<ListedNode> listNodes(StringRef path, MLIRContext &context, const ImportLimits &limits) {
  Location loc = UnknownLoc::get(&context);
  auto file = MappedFile::open(path);
  if (!file) {
    llvm::consumeError(file.takeError());
    return {};
  }
  std::shared_ptr<onnx::ModelProto> model = parseModel((*file)->bytes(), limits, loc);
  // The check refuses functions that call each other without end.
  if (!model || failed(checkModel(*model, limits, loc)))
    return {};
  return std::move(Lister(*model, limits).nodes);
}

} // namespace fathom
