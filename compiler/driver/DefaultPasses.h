// The pipeline of passes that a model takes where nobody says another: 'fathom passes' prints it.
#pragma once

#include "llvm/ADT/StringRef.h"

namespace fathom {

// From the imported graph to kernels.
llvm::StringRef defaultPasses();
// The same with more passes on the graph, between its rounds and the choice of algorithms.
std::string defaultPassesWith(llvm::StringRef more);
// What goes in front of them where gradients are asked for.
llvm::StringRef gradientPasses();
// Its part from a graph whose ops have kernels of their own.
llvm::StringRef kernelPasses();

} // namespace fathom
