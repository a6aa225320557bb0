// RUN: fathom-opt --batching-ops --split-input-file %s | FileCheck %s
// example

// Weights of one size are the matrices of a batch; each result is a stretch of it.
// CHECK-LABEL: func @batch
// CHECK: %[[W:.*]] = graph.Concat({{.*}}) {axis = 0 : i64} : (tensor<1x1x3x4xf32>, tensor<1x1x3x4xf32>) -> tensor<2x1x3x4xf32>
// CHECK: %[[X:.*]] = graph.Reshape(%arg0, {{.*}} -> tensor<1x2x5x3xf32>
// CHECK: %[[P:.*]] = graph.MatMul(%[[X]], %[[W]]) {{.*}} -> tensor<2x2x5x4xf32>
// CHECK: %[[S:.*]] = graph.Slice(%[[P]], {{.*}} -> tensor<1x2x5x4xf32>
// CHECK: graph.Reshape(%[[S]], {{.*}} -> tensor<2x5x4xf32>
func.func @batch(%x: tensor<2x5x3xf32>) -> (tensor<2x5x4xf32>, tensor<2x5x4xf32>) {
  %v = graph.Constant dense<2.0> : tensor<3x4xf32> as tensor<3x4xf32>
  %w = graph.Constant dense<3.0> : tensor<3x4xf32> as tensor<3x4xf32>
  %p = graph.MatMul(%x, %v) : (tensor<2x5x3xf32>, tensor<3x4xf32>) -> tensor<2x5x4xf32>
  %q = graph.MatMul(%x, %w) : (tensor<2x5x3xf32>, tensor<3x4xf32>) -> tensor<2x5x4xf32>
  return %p, %q : tensor<2x5x4xf32>, tensor<2x5x4xf32>
}

// -----

// CHECK-LABEL: func @other_sizes
// CHECK-NOT: graph.Concat
func.func @other_sizes(%x: tensor<2x5x3xf32>) -> (tensor<2x5x4xf32>, tensor<2x5x2xf32>) {
  %v = graph.Constant dense<2.0> : tensor<3x4xf32> as tensor<3x4xf32>
  %w = graph.Constant dense<3.0> : tensor<3x2xf32> as tensor<3x2xf32>
  %p = graph.MatMul(%x, %v) : (tensor<2x5x3xf32>, tensor<3x4xf32>) -> tensor<2x5x4xf32>
  %q = graph.MatMul(%x, %w) : (tensor<2x5x3xf32>, tensor<3x2xf32>) -> tensor<2x5x2xf32>
  return %p, %q : tensor<2x5x4xf32>, tensor<2x5x2xf32>
}
