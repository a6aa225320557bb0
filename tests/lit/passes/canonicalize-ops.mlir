// RUN: fathom-opt --canonicalize-ops --split-input-file %s | FileCheck %s

// A Gemm is a product of views, scaled and shifted.
// CHECK-LABEL: func @gemm
// CHECK: %[[T:.*]] = graph.Transpose(%arg1)
// CHECK: %[[P:.*]] = graph.MatMul(%arg0, %[[T]])
// CHECK: graph.Add(%[[P]], %arg2)
func.func @gemm(%a: tensor<3x4xf32>, %b: tensor<5x4xf32>, %c: tensor<5xf32>) -> tensor<3x5xf32> {
  %0 = graph.Gemm(%a, %b, %c) {transB = 1 : i64} : (tensor<3x4xf32>, tensor<5x4xf32>, tensor<5xf32>) -> tensor<3x5xf32>
  return %0 : tensor<3x5xf32>
}

// -----

// CHECK-LABEL: func @vector_times_matrix
// CHECK: graph.Unsqueeze(%arg0
// CHECK: graph.MatMul
// CHECK: graph.Squeeze
func.func @vector_times_matrix(%a: tensor<4xf32>, %b: tensor<4x5xf32>) -> tensor<5xf32> {
  %0 = graph.MatMul(%a, %b) : (tensor<4xf32>, tensor<4x5xf32>) -> tensor<5xf32>
  return %0 : tensor<5xf32>
}

// -----

// CHECK-LABEL: func @pool
// CHECK: graph.ReduceMean
// CHECK-NOT: GlobalAveragePool
func.func @pool(%x: tensor<1x8x5x7xf32>) -> tensor<1x8x1x1xf32> {
  %0 = graph.GlobalAveragePool(%x) : (tensor<1x8x5x7xf32>) -> tensor<1x8x1x1xf32>
  return %0 : tensor<1x8x1x1xf32>
}

// -----

// Transposes that undo each other leave nothing.
// CHECK-LABEL: func @transposes
// CHECK-NEXT: return %arg0
func.func @transposes(%x: tensor<2x3x4xf32>) -> tensor<2x3x4xf32> {
  %0 = graph.Transpose(%x) {perm = array<i64: 2, 0, 1>} : (tensor<2x3x4xf32>) -> tensor<4x2x3xf32>
  %1 = graph.Transpose(%0) {perm = array<i64: 1, 2, 0>} : (tensor<4x2x3xf32>) -> tensor<2x3x4xf32>
  return %1 : tensor<2x3x4xf32>
}

// -----

// Arithmetic on static sizes is a constant.
// CHECK-LABEL: func @sizes
// CHECK: graph.Constant dense<[2, 3]>
// CHECK-NOT: graph.Shape
func.func @sizes(%x: tensor<2x3xf32>) -> tensor<2xi64> {
  %0 = graph.Shape(%x) : (tensor<2x3xf32>) -> tensor<2xi64>
  return %0 : tensor<2xi64>
}
