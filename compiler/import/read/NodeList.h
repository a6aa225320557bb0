// Every node of a model by the name that the importer gives what it makes of it.
#pragma once

#include "compiler/import/read/ImportOptions.h"

namespace fathom {

struct ListedNode {
  std::string name; // as in locations: with the nodes around it, such as "loop/add"
  std::string op;
  bool isUsed; // whether an output of the model depends on it
};

// The nodes of all graphs and of functions where they are called; none where the model cannot be read.
std::vector<ListedNode> listNodes(llvm::StringRef path, mlir::MLIRContext &context, const ImportLimits &limits = {});

} // namespace fathom
