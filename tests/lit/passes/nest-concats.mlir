// RUN: fathom-opt --nest-concats --split-input-file %s | FileCheck %s
// example

// The concatenations of a dense block: each is the one before it and one tensor more.
// CHECK-LABEL: func @dense
// CHECK: %[[AB:.*]] = graph.Concat(%arg0, %arg1)
// CHECK: %[[ABC:.*]] = graph.Concat(%[[AB]], %arg2)
// CHECK: graph.Concat(%[[ABC]], %arg0, %arg1) {{.*}} -> tensor<1x14xf32>
func.func @dense(%a: tensor<1x2xf32>, %b: tensor<1x3xf32>, %c: tensor<1x4xf32>) -> (tensor<1x5xf32>, tensor<1x9xf32>, tensor<1x14xf32>) {
  %0 = graph.Concat(%a, %b) {axis = 1} : (tensor<1x2xf32>, tensor<1x3xf32>) -> tensor<1x5xf32>
  %1 = graph.Concat(%a, %b, %c) {axis = -1} : (tensor<1x2xf32>, tensor<1x3xf32>, tensor<1x4xf32>) -> tensor<1x9xf32>
  %2 = graph.Concat(%a, %b, %c, %a, %b) {axis = 1} : (tensor<1x2xf32>, tensor<1x3xf32>, tensor<1x4xf32>, tensor<1x2xf32>, tensor<1x3xf32>) -> tensor<1x14xf32>
  return %0, %1, %2 : tensor<1x5xf32>, tensor<1x9xf32>, tensor<1x14xf32>
}

// -----

// Not along another axis, not in another order, and not one that comes later.
// CHECK-LABEL: func @others
// CHECK: graph.Concat(%arg0, %arg1, %arg0) {axis = 0
// CHECK: graph.Concat(%arg0, %arg1) {axis = 1
// CHECK: graph.Concat(%arg1, %arg0, %arg0) {axis = 1
func.func @others(%a: tensor<2x2xf32>, %b: tensor<2x2xf32>) -> (tensor<6x2xf32>, tensor<2x4xf32>, tensor<2x6xf32>) {
  %0 = graph.Concat(%a, %b, %a) {axis = 0} : (tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<6x2xf32>
  %1 = graph.Concat(%a, %b) {axis = 1} : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x4xf32>
  %2 = graph.Concat(%b, %a, %a) {axis = 1} : (tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x6xf32>
  return %0, %1, %2 : tensor<6x2xf32>, tensor<2x4xf32>, tensor<2x6xf32>
}
