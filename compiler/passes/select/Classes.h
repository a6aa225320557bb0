// What kind of network a graph is, as its ops and edges show and never its name.
#pragma once

#include "mlir/IR/BuiltinOps.h"
#include <string>
#include <vector>

namespace fathom {

struct NetworkClass {
  llvm::StringRef name, meaning;
  std::string why; // what of the graph says so
};

// All that the graph is: a detector on a residual network is of two classes. Of a graph as it is imported; linear.
std::vector<NetworkClass> classesOf(mlir::ModuleOp module);

} // namespace fathom
