// RUN: fathom-opt --simplify-fc-transpose --split-input-file %s | FileCheck %s
// example

// Weights are transposed ahead; what the run makes is not.
// CHECK-LABEL: func @weights
// CHECK: %[[T:.*]] = graph.Transpose(%{{.*}}) {{.*}} -> tensor<4x5xf32>
// CHECK: graph.Gemm(%arg0, %[[T]], %{{.*}}) : (tensor<3x4xf32>, tensor<4x5xf32>
// CHECK: graph.Gemm(%arg0, %arg1, {{.*}}transB = 1
func.func @weights(%x: tensor<3x4xf32>, %y: tensor<5x4xf32>) -> (tensor<3x5xf32>, tensor<3x5xf32>) {
  %n = graph.None
  %w = graph.Constant dense<2.0> : tensor<5x4xf32> as tensor<5x4xf32>
  %0 = graph.Gemm(%x, %w, %n) {transB = 1 : i64} : (tensor<3x4xf32>, tensor<5x4xf32>, none) -> tensor<3x5xf32>
  %1 = graph.Gemm(%x, %y, %n) {transB = 1 : i64} : (tensor<3x4xf32>, tensor<5x4xf32>, none) -> tensor<3x5xf32>
  return %0, %1 : tensor<3x5xf32>, tensor<3x5xf32>
}

// -----

// CHECK-LABEL: func @both
// CHECK-NEXT: %[[P:.*]] = graph.MatMul(%arg1, %arg0) {{.*}} -> tensor<2x5x3xf32>
// CHECK-NEXT: graph.Transpose(%[[P]]) {perm = array<i64: 0, 2, 1>}
func.func @both(%x: tensor<2x4x3xf32>, %y: tensor<2x5x4xf32>) -> tensor<2x3x5xf32> {
  %a = graph.Transpose(%x) {perm = array<i64: 0, 2, 1>} : (tensor<2x4x3xf32>) -> tensor<2x3x4xf32>
  %b = graph.Transpose(%y) {perm = array<i64: 0, 2, 1>} : (tensor<2x5x4xf32>) -> tensor<2x4x5xf32>
  %0 = graph.MatMul(%a, %b) : (tensor<2x3x4xf32>, tensor<2x4x5xf32>) -> tensor<2x3x5xf32>
  return %0 : tensor<2x3x5xf32>
}

// -----

// Another permutation, one factor alone, and a transpose that somebody else reads.
// CHECK-LABEL: func @others
// CHECK-COUNT-3: graph.Transpose
// CHECK: graph.MatMul
// CHECK: graph.MatMul
// CHECK-NOT: graph.Transpose
func.func @others(%x: tensor<3x4xf32>, %y: tensor<5x3xf32>, %z: tensor<4x5xf32>) -> (tensor<4x5xf32>, tensor<4x4xf32>, tensor<4x3xf32>) {
  %a = graph.Transpose(%x) : (tensor<3x4xf32>) -> tensor<4x3xf32>
  %b = graph.Transpose(%y) : (tensor<5x3xf32>) -> tensor<3x5xf32>
  %c = graph.Transpose(%z) : (tensor<4x5xf32>) -> tensor<5x4xf32>
  %0 = graph.MatMul(%a, %b) : (tensor<4x3xf32>, tensor<3x5xf32>) -> tensor<4x5xf32>
  %1 = graph.MatMul(%z, %c) : (tensor<4x5xf32>, tensor<5x4xf32>) -> tensor<4x4xf32>
  return %0, %1, %a : tensor<4x5xf32>, tensor<4x4xf32>, tensor<4x3xf32>
}
