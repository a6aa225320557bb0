// RUN: fathom-opt --eliminate-common-subexpr --split-input-file %s | FileCheck %s
// example

// What is computed twice is computed once.
// CHECK-LABEL: func @main
// CHECK: %[[E:.*]] = graph.Exp(%arg0)
// CHECK-NOT: graph.Exp
// CHECK: graph.Mul(%[[E]], %[[E]])
func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {
  %a = graph.Exp(%x) : (tensor<3xf32>) -> tensor<3xf32>
  %b = graph.Exp(%x) : (tensor<3xf32>) -> tensor<3xf32>
  %c = graph.Mul(%a, %b) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  return %c : tensor<3xf32>
}

// -----

// Other attributes are another computation.
// CHECK-LABEL: func @attributes
// CHECK: graph.Softmax(%arg0) {axis = 0
// CHECK: graph.Softmax(%arg0) {axis = 1
func.func @attributes(%x: tensor<3x4xf32>) -> tensor<3x4xf32> {
  %a = graph.Softmax(%x) {axis = 0 : i64} : (tensor<3x4xf32>) -> tensor<3x4xf32>
  %b = graph.Softmax(%x) {axis = 1 : i64} : (tensor<3x4xf32>) -> tensor<3x4xf32>
  %c = graph.Mul(%a, %b) : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
  return %c : tensor<3x4xf32>
}
