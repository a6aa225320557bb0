// RUN: fathom-opt --fold-explicit-padding --dead-code-elimination --split-input-file %s | FileCheck %s
// example

// Zeros around the pixels add to a convolution's own padding.
// CHECK-LABEL: func @convolution
// CHECK-NOT: graph.Pad
// CHECK: graph.Conv(%arg0, {{.*}}pads = array<i64: 1, 2, 4, 3>
func.func @convolution(%x: tensor<1x3x5x5xf32>, %w: tensor<4x3x3x3xf32>) -> tensor<1x4x8x8xf32> {
  %n = graph.None
  %p = graph.Constant dense<[0, 0, 1, 1, 0, 0, 4, 2]> : tensor<8xi64> as tensor<8xi64>
  %0 = graph.Pad(%x, %p, %n, %n) : (tensor<1x3x5x5xf32>, tensor<8xi64>, none, none) -> tensor<1x3x10x8xf32>
  %1 = graph.Conv(%0, %w, %n) {pads = array<i64: 0, 1, 0, 1>} : (tensor<1x3x10x8xf32>, tensor<4x3x3x3xf32>, none) -> tensor<1x4x8x8xf32>
  return %1 : tensor<1x4x8x8xf32>
}

// -----

// Other numbers, other axes and cuts are no padding of a window.
// CHECK-LABEL: func @not_zero
// CHECK: graph.Pad
func.func @not_zero(%x: tensor<1x3x5x5xf32>, %w: tensor<4x3x3x3xf32>) -> tensor<1x4x5x5xf32> {
  %n = graph.None
  %one = graph.Constant dense<1.0> : tensor<f32> as tensor<f32>
  %p = graph.Constant dense<[0, 0, 1, 1, 0, 0, 1, 1]> : tensor<8xi64> as tensor<8xi64>
  %0 = graph.Pad(%x, %p, %one, %n) : (tensor<1x3x5x5xf32>, tensor<8xi64>, tensor<f32>, none) -> tensor<1x3x7x7xf32>
  %1 = graph.Conv(%0, %w, %n) : (tensor<1x3x7x7xf32>, tensor<4x3x3x3xf32>, none) -> tensor<1x4x5x5xf32>
  return %1 : tensor<1x4x5x5xf32>
}

// -----

// CHECK-LABEL: func @channels
// CHECK: graph.Pad
func.func @channels(%x: tensor<1x2x5x5xf32>, %w: tensor<4x3x3x3xf32>) -> tensor<1x4x3x3xf32> {
  %n = graph.None
  %p = graph.Constant dense<[0, 1, 0, 0, 0, 0, 0, 0]> : tensor<8xi64> as tensor<8xi64>
  %0 = graph.Pad(%x, %p, %n, %n) : (tensor<1x2x5x5xf32>, tensor<8xi64>, none, none) -> tensor<1x3x5x5xf32>
  %1 = graph.Conv(%0, %w, %n) : (tensor<1x3x5x5xf32>, tensor<4x3x3x3xf32>, none) -> tensor<1x4x3x3xf32>
  return %1 : tensor<1x4x3x3xf32>
}

// -----

// CHECK-LABEL: func @cut
// CHECK: graph.Pad
func.func @cut(%x: tensor<1x3x5x5xf32>, %w: tensor<4x3x3x3xf32>) -> tensor<1x4x2x3xf32> {
  %n = graph.None
  %p = graph.Constant dense<[0, 0, -1, 0, 0, 0, 0, 0]> : tensor<8xi64> as tensor<8xi64>
  %0 = graph.Pad(%x, %p, %n, %n) : (tensor<1x3x5x5xf32>, tensor<8xi64>, none, none) -> tensor<1x3x4x5xf32>
  %1 = graph.Conv(%0, %w, %n) : (tensor<1x3x4x5xf32>, tensor<4x3x3x3xf32>, none) -> tensor<1x4x2x3xf32>
  return %1 : tensor<1x4x2x3xf32>
}

// -----

// A maximum ignores its own padding: that is minus infinity.
// CHECK-LABEL: func @maximum
// CHECK-NOT: graph.Pad
// CHECK: graph.MaxPool(%arg0) {{.*}}pads = array<i64: 1, 1, 1, 1>
func.func @maximum(%x: tensor<1x3x6x6xf32>) -> tensor<1x3x6x6xf32> {
  %n = graph.None
  %low = graph.Constant dense<0xFF800000> : tensor<f32> as tensor<f32>
  %p = graph.Constant dense<[1, 1, 1, 1]> : tensor<4xi64> as tensor<4xi64>
  %axes = graph.Constant dense<[2, 3]> : tensor<2xi64> as tensor<2xi64>
  %0 = graph.Pad(%x, %p, %low, %axes) : (tensor<1x3x6x6xf32>, tensor<4xi64>, tensor<f32>, tensor<2xi64>) -> tensor<1x3x8x8xf32>
  %1 = graph.MaxPool(%0) {kernel_shape = array<i64: 3, 3>} : (tensor<1x3x8x8xf32>) -> tensor<1x3x6x6xf32>
  return %1 : tensor<1x3x6x6xf32>
}

// -----

// Zeros are no padding of a maximum.
// CHECK-LABEL: func @maximum_of_zeros
// CHECK: graph.Pad
func.func @maximum_of_zeros(%x: tensor<1x3x6x6xf32>) -> tensor<1x3x6x6xf32> {
  %n = graph.None
  %p = graph.Constant dense<[0, 0, 1, 1, 0, 0, 1, 1]> : tensor<8xi64> as tensor<8xi64>
  %0 = graph.Pad(%x, %p, %n, %n) : (tensor<1x3x6x6xf32>, tensor<8xi64>, none, none) -> tensor<1x3x8x8xf32>
  %1 = graph.MaxPool(%0) {kernel_shape = array<i64: 3, 3>} : (tensor<1x3x8x8xf32>) -> tensor<1x3x6x6xf32>
  return %1 : tensor<1x3x6x6xf32>
}
