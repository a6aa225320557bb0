// A module without a model in it: there is nothing to fold, and no loops to emit.
// RUN: fathom-opt --fold-constant --split-input-file %s | FileCheck %s
// RUN: not fathom-opt --emit-loops --split-input-file %s 2>&1 | FileCheck %s --check-prefix=LOOPS

// LOOPS-COUNT-2: error: [F1003] the module has no function 'main' with a body

// CHECK: module
module {}

// -----

// CHECK: func.func private @main
func.func private @main(tensor<4xf32>) -> tensor<4xf32>
