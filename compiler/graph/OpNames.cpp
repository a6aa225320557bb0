// Names of ops.
#include "compiler/graph/OpNames.h"

#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace fathom::graph;

namespace fathom {

StringRef opName(Operation *op) {
  auto name = op->getAttrOfType<StringAttr>("graph.name");
  return name ? name.getValue() : "";
}

void nameAfter(Operation *op, Operation *like, StringRef suffix) {
  if (auto name = like->getAttrOfType<StringAttr>("graph.name"))
    op->setAttr("graph.name", StringAttr::get(op->getContext(), name.getValue() + suffix));
}

void nameOps(func::FuncOp main) {
  llvm::StringSet<> taken;
  OpBuilder b(main.getContext());
  main.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (op->getNumResults() == 0 || isLiteral(op))
      return;
    std::string base = opName(op).str();
    if (base.empty())
      base = op->getName().stripDialect().str();
    std::string name = base;
    for (unsigned i = 1; !taken.insert(name).second; ++i)
      name = base + "~" + std::to_string(i);
    op->setAttr("graph.name", b.getStringAttr(name));
  });
}

} // namespace fathom
