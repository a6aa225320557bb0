// What a program that was changed by hand may not have, each with its place.
// RUN: split-file %s %t
// RUN: not fathom-opt --to-graph-normal-form %t/operator.mlir 2>&1 | FileCheck %s --check-prefix=OPERATOR
// RUN: not fathom-opt --to-graph-normal-form %t/name.mlir 2>&1 | FileCheck %s --check-prefix=NAME
// RUN: not fathom-opt --to-graph-normal-form %t/types.mlir 2>&1 | FileCheck %s --check-prefix=TYPES
// RUN: not fathom-opt --to-graph-normal-form %t/weight.mlir 2>&1 | FileCheck %s --check-prefix=WEIGHT
// RUN: not fathom-opt --to-graph-normal-form %t/result.mlir 2>&1 | FileCheck %s --check-prefix=RESULT
// RUN: not fathom-opt --to-graph-normal-form %t/branch.mlir 2>&1 | FileCheck %s --check-prefix=BRANCH
// RUN: not fathom-opt --to-graph-normal-form %t/syntax.mlir 2>&1 | FileCheck %s --check-prefix=SYNTAX

// OPERATOR: [F1018] program:1:{{[0-9]+}}: there is no operator 'Frobnicate'
// NAME: [F1018] program:1:{{[0-9]+}}: there is no value 'y'
// TYPES: [F1018] program:1:{{[0-9]+}}: 'MatMul' does not take this
// WEIGHT: [F1018] program:1:{{[0-9]+}}: there is no such weight
// RESULT: [F1018] program:1:{{[0-9]+}}: 'main' has other results than the model
// BRANCH: [F1018] program:1:{{[0-9]+}}: a graph has operators and names of their results, and nothing else
// SYNTAX: [F1017] program:1:{{[0-9]+}}: expected '('

//--- operator.mlir
module attributes {graph.program = "fn main(x: Tensor[(3), float32]) { Frobnicate(x) }"} {
  func.func private @main(tensor<3xf32>) -> tensor<3xf32>
}
//--- name.mlir
module attributes {graph.program = "fn main(x: Tensor[(3), float32]) { Exp(y) }"} {
  func.func private @main(tensor<3xf32>) -> tensor<3xf32>
}
//--- types.mlir
module attributes {graph.program = "fn main(x: Tensor[(3), float32]) { MatMul(x, [1.0, 2.0]) }"} {
  func.func private @main(tensor<3xf32>) -> tensor<f32>
}
//--- weight.mlir
module attributes {graph.program = "fn main(x: Tensor[(3), float32]) { x + weights.0 }"} {
  func.func private @main(tensor<3xf32>) -> tensor<3xf32>
}
//--- result.mlir
module attributes {graph.program = "fn main(x: Tensor[(3), float32]) { (Exp(x), x) }"} {
  func.func private @main(tensor<3xf32>) -> tensor<3xf32>
}
//--- branch.mlir
module attributes {graph.program = "fn main(x: Tensor[(3), float32]) { if true { x } else { x } }"} {
  func.func private @main(tensor<3xf32>) -> tensor<3xf32>
}
//--- syntax.mlir
module attributes {graph.program = "fn main"} {
  func.func private @main(tensor<3xf32>) -> tensor<3xf32>
}
