// Reads the reasons off the model as it was imported, before any pass.
#include "tools/fathom/explain/ExplainNodes.h"

#include "compiler/driver/DiagnosticLog.h"
#include "compiler/explain/TypeNotes.h"
#include "compiler/functional/Functional.h"
#include "compiler/graph/Graph.h"
#include "compiler/import/read/NodeList.h"
#include "llvm/ADT/StringSet.h"

using namespace llvm;

namespace fathom {
namespace {

// The imported model by nodes.
class ImportedNodes {
public:
  explicit ImportedNodes(mlir::ModuleOp module) {
    // What an op needs comes before it.
    module.walk([&](mlir::Operation *op) {
      StringRef node = nodeName(op->getLoc());
      if (!node.empty() && op->getNumResults() && !isa<graph::ConstantOp>(op))
        ops[node].push_back(op);
      if (op->getNumRegions() == 0 && all_of(op->getOperands(), [&](mlir::Value operand) {
            return operand.getDefiningOp() && constant.contains(operand.getDefiningOp());
          }))
        constant.insert(op);
    });
  }

  std::string why(const ListedNode &node) {
    if (!node.isUsed)
      return "unused: no output depends on it";
    auto found = ops.find(node.name);
    if (found == ops.end())
      return "needs no code: its result is known or is one of its inputs, or its branch is never taken";
    ArrayRef<mlir::Operation *> made = found->second;
    if (all_of(made, [&](mlir::Operation *op) { return constant.contains(op); }))
      return "folded: computed once, when the model is compiled";
    auto isSize = [](mlir::Value value) { return graph::elementsOf(value).has_value(); };
    if (all_of(made, [&](mlir::Operation *op) { return all_of(op->getResults(), isSize); }))
      return "arithmetic on sizes, done where it is needed";
    if (all_of(made, [](mlir::Operation *op) { return isa<graph::IdentityOp>(op); }))
      return "passes its input on";
    return "merged into others: moved into weights, expressed by other ops, or the same as another node";
  }

  std::string type(StringRef node) {
    auto found = ops.find(node);
    return found == ops.end() ? "" : explainType(found->second.back());
  }

private:
  StringMap<SmallVector<mlir::Operation *, 2>> ops;
  DenseSet<mlir::Operation *> constant; // those that depend on nothing that a run decides
};

StringSet<> nodesInKernels(const json::Object &manifest) {
  StringSet<> known;
  const json::Array *kernels = manifest.getArray("kernels");
  for (const json::Value &kernel : kernels ? *kernels : json::Array())
    if (const json::Array *ops = kernel.getAsObject() ? kernel.getAsObject()->getArray("ops") : nullptr)
      for (const json::Value &op : *ops)
        // A copy is the compiler's own, whatever node it copies for.
        if (const json::Object *object = op.getAsObject(); object && object->getString("op") != "Relayout")
          known.insert(object->getString("node").value_or(""));
  return known;
}

} // namespace

json::Array explainOtherNodes(const json::Object &manifest, StringRef model, const OptionValues &options) {
  json::Array nodes;
  StringSet<> known = nodesInKernels(manifest);
  const json::Array *others = manifest.getArray("other_ops");
  for (const json::Value &op : others ? *others : json::Array())
    if (const json::Object *object = op.getAsObject();
        object && known.insert(object->getString("node").value_or("")).second)
      nodes.push_back(op);
  if (model.empty())
    return nodes;
  std::unique_ptr<mlir::MLIRContext> context = createContext();
  DiagnosticLog log(*context, model, [](const LoggedDiagnostic &) {});
  auto request = makeCompileRequest(options, *context, ExplainBit);
  mlir::OwningOpRef<mlir::ModuleOp> module;
  if (succeeded(request))
    module = importAny(ModelSource::file(model), *context, request->import);
  if (!module)
    return nodes;
  ImportedNodes imported(*module);
  for (const ListedNode &node : listNodes(model, *context))
    if (known.insert(node.name).second)
      nodes.push_back(json::Object{
          {"op", node.op}, {"node", node.name}, {"why", imported.why(node)}, {"type", imported.type(node.name)}});
  return nodes;
}

} // namespace fathom
