// The default pipeline as text.
#include "compiler/driver/DefaultPasses.h"

namespace fathom {

// What folding finds out may make sizes known, and these may make more constant: hence the rounds. What is brought into
// another layout for a loop's body, is so once: hence the second hoisting.
#define FATHOM_KERNEL_PASSES                                                                                           \
  "name-ops, convert-layout, hoist-invariants, store-results, place-pieces, fuse-ops, outline-kernels\n"

#define FATHOM_GRAPH_PASSES                                                                                            \
  "repeat{rounds=4 passes={\n"                                                                                         \
  "  fake-quantization-to-integer, decompose-quantized,\n"                                                             \
  "  canonicalize-ops, eliminate-common-subexpr, dead-code-elimination,\n"                                             \
  "  hoist-invariants, fold-explicit-padding, simplify-inference, forward-fold-scale-axis,\n"                          \
  "  canonicalize-ops, eliminate-common-subexpr, dead-code-elimination,\n"                                             \
  "  nest-concats,\n"                                                                                                  \
  "  fold-constant, dynamic-to-static}},\n"
#define FATHOM_ALGORITHM_PASSES "name-ops, alter-op-layout, fold-constant,\n"

llvm::StringRef defaultPasses() { return FATHOM_GRAPH_PASSES FATHOM_ALGORITHM_PASSES FATHOM_KERNEL_PASSES; }

std::string defaultPassesWith(llvm::StringRef more) {
  return (FATHOM_GRAPH_PASSES + more + ",\n" FATHOM_ALGORITHM_PASSES FATHOM_KERNEL_PASSES).str();
}

llvm::StringRef gradientPasses() {
  return "lift-weights, canonicalize-ops, simplify-inference, canonicalize-ops, eliminate-common-subexpr,\n"
         "dead-code-elimination, first-order-gradient, rematerialize, update-weights";
}

llvm::StringRef kernelPasses() { return FATHOM_KERNEL_PASSES; }

} // namespace fathom
