// RUN: fathom-opt --canonicalize-ops --split-input-file %s | FileCheck %s
// example

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

// A column of weights, also a transposed one, is a row to multiply with and sum up; another matrix stays one.
// CHECK-LABEL: func @one_column
// CHECK-NOT: graph.MatMul
// CHECK: %[[R:.*]] = graph.Reshape(
// CHECK: %[[P:.*]] = graph.Mul(%arg0, %[[R]]) {{.*}} -> tensor<3x4xf32>
// CHECK: graph.ReduceSum(%[[P]]
// CHECK: graph.MatMul(%arg0, %arg1)
func.func @one_column(%x: tensor<3x4xf32>, %y: tensor<4x1xf32>) -> (tensor<3x1xf32>, tensor<3x1xf32>) {
  %w = graph.Constant dense<2.0> : tensor<1x4xf32> as tensor<1x4xf32>
  %t = graph.Transpose(%w) : (tensor<1x4xf32>) -> tensor<4x1xf32>
  %0 = graph.MatMul(%x, %t) : (tensor<3x4xf32>, tensor<4x1xf32>) -> tensor<3x1xf32>
  %1 = graph.MatMul(%x, %y) : (tensor<3x4xf32>, tensor<4x1xf32>) -> tensor<3x1xf32>
  return %0, %1 : tensor<3x1xf32>, tensor<3x1xf32>
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

// -----

// Factors of one are not written, others are; the last op takes the name.
// CHECK-LABEL: func @scaled_gemm
// CHECK-DAG: %[[ALPHA:.*]] = graph.Constant dense<5.000000e-01>
// CHECK-DAG: %[[BETA:.*]] = graph.Constant dense<2.000000e+00>
// CHECK: %[[T:.*]] = graph.Transpose(%arg0)
// CHECK: %[[P:.*]] = graph.MatMul(%[[T]], %arg1)
// CHECK: %[[SCALED:.*]] = graph.Mul(%[[P]], %[[ALPHA]])
// CHECK: %[[BIAS:.*]] = graph.Mul(%arg2, %[[BETA]])
// CHECK: graph.Add(%[[SCALED]], %[[BIAS]]) {graph.name = "g"}
func.func @scaled_gemm(%a: tensor<4x3xf32>, %b: tensor<4x5xf32>, %c: tensor<5xf32>) -> tensor<3x5xf32> {
  %0 = graph.Gemm(%a, %b, %c) {transA = 1 : i64, alpha = 0.5 : f32, beta = 2.0 : f32, graph.name = "g"} : (tensor<4x3xf32>, tensor<4x5xf32>, tensor<5xf32>) -> tensor<3x5xf32>
  return %0 : tensor<3x5xf32>
}

// -----

// CHECK-LABEL: func @matrix_times_vector
// CHECK: graph.Unsqueeze(%arg1
// CHECK: graph.MatMul(%arg0
// CHECK: graph.Squeeze
func.func @matrix_times_vector(%a: tensor<3x4xf32>, %b: tensor<4xf32>) -> tensor<3xf32> {
  %0 = graph.MatMul(%a, %b) : (tensor<3x4xf32>, tensor<4xf32>) -> tensor<3xf32>
  return %0 : tensor<3xf32>
}

// -----

// Products of matrices stay what they are.
// CHECK-LABEL: func @matrices
// CHECK-NEXT: graph.MatMul(%arg0, %arg1)
// CHECK-NEXT: return
func.func @matrices(%a: tensor<3x4xf32>, %b: tensor<4x5xf32>) -> tensor<3x5xf32> {
  %0 = graph.MatMul(%a, %b) : (tensor<3x4xf32>, tensor<4x5xf32>) -> tensor<3x5xf32>
  return %0 : tensor<3x5xf32>
}

// -----

// Transposes that do not undo each other become one.
// CHECK-LABEL: func @merged_transposes
// CHECK: graph.Transpose(%arg0) {perm = array<i64: 1, 2, 0>}
// CHECK-NOT: graph.Transpose
func.func @merged_transposes(%x: tensor<2x3x4xf32>) -> tensor<3x4x2xf32> {
  %0 = graph.Transpose(%x) {perm = array<i64: 2, 0, 1>} : (tensor<2x3x4xf32>) -> tensor<4x2x3xf32>
  %1 = graph.Transpose(%0) {perm = array<i64: 2, 0, 1>} : (tensor<4x2x3xf32>) -> tensor<3x4x2xf32>
  return %1 : tensor<3x4x2xf32>
}

// -----

// The parts of a split are slices that follow each other.
// CHECK-LABEL: func @split
// CHECK-DAG: %[[ZERO:.*]] = graph.Constant dense<0>
// CHECK-DAG: %[[TWO:.*]] = graph.Constant dense<2>
// CHECK-DAG: %[[SIX:.*]] = graph.Constant dense<6>
// CHECK-DAG: %[[AXIS:.*]] = graph.Constant dense<1>
// CHECK: graph.Slice(%arg0, %[[ZERO]], %[[TWO]], %[[AXIS]], {{.*}} -> tensor<3x2xf32>
// CHECK: graph.Slice(%arg0, %[[TWO]], %[[SIX]], %[[AXIS]], {{.*}} -> tensor<3x4xf32>
func.func @split(%x: tensor<3x6xf32>) -> (tensor<3x2xf32>, tensor<3x4xf32>) {
  %sizes = graph.Constant dense<[2, 4]> : tensor<2xi64> as tensor<2xi64>
  %0:2 = graph.Split(%x, %sizes) {axis = -1 : i64} : (tensor<3x6xf32>, tensor<2xi64>) -> (tensor<3x2xf32>, tensor<3x4xf32>)
  return %0#0, %0#1 : tensor<3x2xf32>, tensor<3x4xf32>
}

// -----

// What changes nothing is dropped; a cast to another type is not nothing.
// CHECK-LABEL: func @nothing
// CHECK-NEXT: %[[C:.*]] = graph.Cast(%arg0) {{.*}} -> tensor<2x3xf64>
// CHECK-NEXT: return %arg0, %[[C]]
func.func @nothing(%x: tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf64>) {
  %0 = graph.Identity(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %1 = graph.Cast(%0) {to = f32} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %sizes = graph.Constant dense<[2, 3]> : tensor<2xi64> as tensor<2xi64>
  %2 = graph.Reshape(%1, %sizes) : (tensor<2x3xf32>, tensor<2xi64>) -> tensor<2x3xf32>
  %3 = graph.Expand(%2, %sizes) : (tensor<2x3xf32>, tensor<2xi64>) -> tensor<2x3xf32>
  %4 = graph.Cast(%3) {to = f64} : (tensor<2x3xf32>) -> tensor<2x3xf64>
  return %3, %4 : tensor<2x3xf32>, tensor<2x3xf64>
}

// -----

// Sizes that only the symbols know are expressions over them.
// CHECK: #[[$MAP:.*]] = affine_map<()[s0] -> (s0, 3)>
// CHECK-LABEL: func @symbolic_sizes
// CHECK: graph.Sizes #[[$MAP]]
// CHECK-NOT: graph.Shape
func.func @symbolic_sizes(%x: tensor<?x3xf32, #graph.enc<shape = ()[s0] -> (s0, 3)>>) -> tensor<2xi64> {
  %0 = graph.Shape(%x) : (tensor<?x3xf32, #graph.enc<shape = ()[s0] -> (s0, 3)>>) -> tensor<2xi64>
  return %0 : tensor<2xi64>
}

// -----

// Parts without elements are dropped, and those that were cut from one tensor and follow each other are one part.
// CHECK-LABEL: func @joined
// CHECK: %[[P:.*]] = graph.Slice(%arg0
// CHECK: graph.Concat(%[[P]], %arg1, %arg0)
// CHECK-NOT: graph.Concat
func.func @joined(%x: tensor<2x6xf32>, %y: tensor<2x1xf32>, %e: tensor<2x0xf32>) -> (tensor<2x11xf32>, tensor<2x6xf32>) {
  %n = graph.None
  %0 = graph.Constant dense<0> : tensor<1xi64> as tensor<1xi64>
  %1 = graph.Constant dense<1> : tensor<1xi64> as tensor<1xi64>
  %2 = graph.Constant dense<2> : tensor<1xi64> as tensor<1xi64>
  %4 = graph.Constant dense<4> : tensor<1xi64> as tensor<1xi64>
  %6 = graph.Constant dense<6> : tensor<1xi64> as tensor<1xi64>
  %a = graph.Slice(%x, %0, %2, %1, %n) : (tensor<2x6xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, none) -> tensor<2x2xf32>
  %b = graph.Slice(%x, %2, %4, %1, %n) : (tensor<2x6xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, none) -> tensor<2x2xf32>
  %c = graph.Slice(%x, %4, %6, %1, %n) : (tensor<2x6xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, none) -> tensor<2x2xf32>
  %j = graph.Concat(%e, %a, %b, %y, %a, %b, %c) {axis = 1} : (tensor<2x0xf32>, tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x1xf32>, tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x11xf32>
  %k = graph.Concat(%e, %x) {axis = 1} : (tensor<2x0xf32>, tensor<2x6xf32>) -> tensor<2x6xf32>
  return %j, %k : tensor<2x11xf32>, tensor<2x6xf32>
}
