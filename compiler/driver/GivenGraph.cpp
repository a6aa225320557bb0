// A graph that was changed by hand, in the place of the imported one.
#include "compiler/driver/GivenStages.h"
#include "compiler/graph/Layout.h"
#include "compiler/graph/OpNames.h"
#include "compiler/graph/Symbols.h"
#include "compiler/kernel/ConvAlgorithm.h"
#include "compiler/support/Diagnostics.h"

using namespace mlir;
using namespace fathom::graph;

namespace fathom {
namespace {

LogicalResult refuse(ModuleOp module, const StageText &given, const Twine &why) {
  return hint(emitError(module.getLoc(), ErrorCode::BadPlan) << "cannot go on from '" << given.path << "': " << why,
              "start from what --emit graph prints of this model");
}

// An input or output as a model's caller knows it.
struct Port {
  StringRef name;
  Type type;
};

template <typename Attributes> Port portOf(Type type, const Attributes &attributeOf) {
  auto name = dyn_cast_or_null<StringAttr>(attributeOf("graph.name"));
  return {name ? name.strref() : "", type};
}

SmallVector<Port> inputsOf(func::FuncOp main) {
  return llvm::map_to_vector(llvm::enumerate(main.getArgumentTypes()), [&](auto input) {
    return portOf(input.value(), [&](StringRef name) { return main.getArgAttr(input.index(), name); });
  });
}

SmallVector<Port> outputsOf(func::FuncOp main) {
  return llvm::map_to_vector(llvm::enumerate(main.getResultTypes()), [&](auto output) {
    return portOf(output.value(), [&](StringRef name) { return main.getResultAttr(output.index(), name); });
  });
}

// Sizes are the text's own business: passes may have found them out.
bool agree(const Port &one, const Port &other) {
  auto first = dyn_cast<RankedTensorType>(one.type), second = dyn_cast<RankedTensorType>(other.type);
  return one.name == other.name && first && second && first.getElementType() == second.getElementType() &&
         first.getRank() == second.getRank();
}

// The first port that is not as the model has it, in words; empty where all are.
std::string findDifference(ArrayRef<Port> model, ArrayRef<Port> text, StringRef kind) {
  if (model.size() != text.size())
    return ("it has " + Twine(text.size()) + " " + kind + "s, the model " + Twine(model.size())).str();
  for (auto [ours, theirs] : llvm::zip(model, text))
    if (!agree(ours, theirs))
      return ("its " + kind + " '" + theirs.name + "' is not the model's '" + ours.name + "'").str();
  return "";
}

// Whether the op may be in a graph whose tensors all lie row by row.
bool belongs(Operation *op) {
  auto isRowMajor = [](Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return !tensor || tensor == withoutLayout(tensor);
  };
  return (isa_and_nonnull<GraphDialect>(op->getDialect()) || isa<func::ReturnOp>(op)) && !isa<RelayoutOp>(op) &&
         llvm::all_of(op->getResultTypes(), isRowMajor);
}

} // namespace

LogicalResult takeGraph(ModuleOp module, const StageText &given) {
  OwningOpRef<ModuleOp> parsed = parseStage(given.path, given.text, /*line=*/1, Calls::Fit, module.getLoc());
  if (!parsed)
    return failure();
  auto main = module.lookupSymbol<func::FuncOp>("main"), other = parsed->lookupSymbol<func::FuncOp>("main");
  if (!other || other.isExternal() || !llvm::hasSingleElement(*parsed->getBody()))
    return refuse(module, given, "it is not one function 'main'");
  std::string difference = findDifference(inputsOf(main), inputsOf(other), "input");
  if (difference.empty())
    difference = findDifference(outputsOf(main), outputsOf(other), "output");
  if (!difference.empty())
    return refuse(module, given, difference);
  Operation *foreign = nullptr;
  other.getBody().walk([&](Operation *op) {
    if (!belongs(op))
      foreign = op;
    // Ops that somebody wrote, without a location, have their place in the text: messages are to name a node.
    if (StringRef name = opName(op); !name.empty() && isa<FileLineColRange>(op->getLoc()))
      op->setLoc(NameLoc::get(StringAttr::get(op->getContext(), name), op->getLoc()));
  });
  if (foreign)
    return refuse(module, given, "'" + foreign->getName().getStringRef() + "' is not an op of a graph before layouts");
  module.getBodyRegion().takeBody(parsed->getBodyRegion());
  setSymbols(module, getSymbols(*parsed));
  if (Attribute mark = (*parsed)->getAttr(hasAlgorithmsAttribute))
    module->setAttr(hasAlgorithmsAttribute, mark);
  return success();
}

} // namespace fathom
