// Which passes cannot change a graph, by its features, and why.
#pragma once

#include "compiler/passes/select/GraphFeatures.h"
#include <string>

namespace fathom {

// Why a pass changes no graph that has these features alone, as "it has no loop"; empty: it may, or it must run anyway.
std::string whyUnchanged(llvm::StringRef pass, GraphFeatures features);

// Those of these passes that cannot change the graph wherever among the others they run, since none of them can make
// what they look for. In their order, each once.
std::vector<llvm::StringRef> idlePasses(llvm::ArrayRef<llvm::StringRef> passes, GraphFeatures features);

} // namespace fathom
