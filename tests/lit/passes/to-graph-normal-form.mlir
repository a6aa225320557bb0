// RUN: fathom-opt --to-a-normal-form --to-graph-normal-form %s | FileCheck %s
// example behind to-a-normal-form

// The graph that the program was made of comes back.
// CHECK-NOT: graph.program
// CHECK-LABEL: func @main
// CHECK: %[[P:.*]] = graph.MatMul(%arg0, %{{.*}}) {graph.name = "product"}
// CHECK: %[[S:.*]] = graph.Add(%[[P]], %{{.*}}) {graph.name = "sum"}
// CHECK: graph.Softmax(%[[S]]) {graph.name = "y"}
func.func @main(%x: tensor<3x4xf32> {graph.name = "x"}) -> (tensor<3x5xf32> {graph.name = "y"}) {
  %w = graph.Constant dense<2.0> : tensor<4x5xf32> {graph.name = "w"} as tensor<4x5xf32>
  %b = graph.Constant dense<[1.0, 2.0, 3.0, 4.0, 5.0]> : tensor<5xf32> as tensor<5xf32>
  %p = graph.MatMul(%x, %w) {graph.name = "product"} : (tensor<3x4xf32>, tensor<4x5xf32>) -> tensor<3x5xf32>
  %s = graph.Add(%p, %b) {graph.name = "sum"} : (tensor<3x5xf32>, tensor<5xf32>) -> tensor<3x5xf32>
  %y = graph.Softmax(%s) {axis = -1 : i64, graph.name = "y"} : (tensor<3x5xf32>) -> tensor<3x5xf32>
  return %y : tensor<3x5xf32>
}
