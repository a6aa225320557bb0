// RUN: fathom-opt --to-a-normal-form %s | FileCheck %s
// example

// Every op has a name by a let; small constants are written out. Weights and loops are in normal-forms.mlir.
// CHECK: graph.program = "fn main(x: Tensor[(3, 4), float32]) {\0A
// CHECK-SAME: let product = x @ {{\[\[}}2.0, 2.0, 2.0, 2.0, 2.0],
// CHECK-SAME: let sum = product + [1.0, 2.0, 3.0, 4.0, 5.0];\0A
// CHECK-SAME: let y = Softmax(sum, axis=-1);\0A
func.func @main(%x: tensor<3x4xf32> {graph.name = "x"}) -> (tensor<3x5xf32> {graph.name = "y"}) {
  %w = graph.Constant dense<2.0> : tensor<4x5xf32> {graph.name = "w"} as tensor<4x5xf32>
  %b = graph.Constant dense<[1.0, 2.0, 3.0, 4.0, 5.0]> : tensor<5xf32> as tensor<5xf32>
  %p = graph.MatMul(%x, %w) {graph.name = "product"} : (tensor<3x4xf32>, tensor<4x5xf32>) -> tensor<3x5xf32>
  %s = graph.Add(%p, %b) {graph.name = "sum"} : (tensor<3x5xf32>, tensor<5xf32>) -> tensor<3x5xf32>
  %y = graph.Softmax(%s) {axis = -1 : i64, graph.name = "y"} : (tensor<3x5xf32>) -> tensor<3x5xf32>
  return %y : tensor<3x5xf32>
}
