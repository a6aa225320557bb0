// RUN: fathom-opt --first-order-gradient --dead-code-elimination --split-input-file %s | FileCheck %s

// A convolution's images get what a transposed one makes, and its weights a convolution over the batch, whose windows
// are as large as the result and dilated as its windows move.
// CHECK-LABEL: func @main
// CHECK: %[[G:.*]] = graph.Mul({{.*}} -> tensor<2x5x4xf32>
// CHECK: %[[X:.*]] = graph.ConvTranspose(%[[G]], %arg1, {{.*}}) {{{.*}}output_padding = array<i64: 0>, pads = array<i64: 1, 0>, strides = array<i64: 2>}
// CHECK: %[[IMAGES:.*]] = graph.Transpose(%arg0) {{{.*}}perm = array<i64: 1, 0, 2>}
// CHECK: %[[WINDOWS:.*]] = graph.Transpose(%[[G]]) {{{.*}}perm = array<i64: 1, 0, 2>}
// CHECK: %[[W:.*]] = graph.Conv(%[[IMAGES]], %[[WINDOWS]], {{.*}}) {dilations = array<i64: 2>, {{.*}}kernel_shape = array<i64: 4>, {{.*}}strides = array<i64: 1>} {{.*}} -> tensor<3x5x3xf32>
// CHECK: %[[PIXELS:.*]] = graph.Transpose(%[[W]])
// CHECK: %[[ROWS:.*]] = graph.Reshape(%[[PIXELS]], {{.*}}) {{.*}} -> tensor<9x5xf32>
// CHECK: %[[TURNED:.*]] = graph.Transpose(%[[ROWS]])
// CHECK: %[[DONE:.*]] = graph.Reshape(%[[TURNED]], {{.*}}) {{.*}} -> tensor<5x3x3xf32>
// CHECK: return %{{.*}}, %[[X]], %[[DONE]]
module attributes {graph.wrt = ["x", "w"]} {
  func.func @main(%x: tensor<2x3x8xf32> {graph.name = "x"}, %w: tensor<5x3x3xf32> {graph.name = "w"}) -> (tensor<f32> {graph.name = "loss"}) {
    %n = graph.None
    %0 = graph.Conv(%x, %w, %n) {graph.name = "c", pads = array<i64: 1, 1>, strides = array<i64: 2>} : (tensor<2x3x8xf32>, tensor<5x3x3xf32>, none) -> tensor<2x5x4xf32>
    %1 = graph.ReduceSumSquare(%0, %n) {graph.name = "loss", keepdims = 0 : i64} : (tensor<2x5x4xf32>, none) -> tensor<f32>
    return %1 : tensor<f32>
  }
}

// -----

// Windows of a maximum say where it was.
// CHECK-LABEL: func @main
// CHECK: %[[MAX:.*]], %[[AT:.*]] = graph.MaxPool(%arg0)
// CHECK: graph.ReduceSumSquare(%[[MAX]]
// CHECK: %[[INDICES:.*]] = graph.Reshape(%[[AT]]
// CHECK: graph.ScatterElements(%{{.*}}, %[[INDICES]], {{.*}}) {{{.*}}reduction = "add"}
module attributes {graph.wrt = ["x"]} {
  func.func @main(%x: tensor<1x3x8xf32> {graph.name = "x"}) -> (tensor<f32> {graph.name = "loss"}) {
    %n = graph.None
    %0 = graph.MaxPool(%x) {graph.name = "m", kernel_shape = array<i64: 2>, strides = array<i64: 2>} : (tensor<1x3x8xf32>) -> tensor<1x3x4xf32>
    %1 = graph.ReduceSumSquare(%0, %n) {graph.name = "loss", keepdims = 0 : i64} : (tensor<1x3x4xf32>, none) -> tensor<f32>
    return %1 : tensor<f32>
  }
}

// -----

// Resampling is the product with a matrix: what it makes of unit vectors, which folding computes.
// CHECK-LABEL: func @main
// CHECK: %[[UNIT:.*]] = graph.Where({{.*}}) {{.*}} -> tensor<3x3xf32>
// CHECK: %[[MATRIX:.*]] = graph.Resize(%[[UNIT]]{{.*}} -> tensor<3x6xf32>
// CHECK: %[[T:.*]] = graph.Transpose(%[[MATRIX]])
// CHECK: graph.MatMul(%{{.*}}, %[[T]]) {{.*}} -> tensor<1x2x3xf32>
module attributes {graph.wrt = ["x"]} {
  func.func @main(%x: tensor<1x2x3xf32> {graph.name = "x"}) -> (tensor<f32> {graph.name = "loss"}) {
    %n = graph.None
    %s = graph.Constant dense<[1, 2, 6]> : tensor<3xi64> as tensor<3xi64>
    %0 = graph.Resize(%x, %n, %n, %s) {graph.name = "r", mode = "linear"} : (tensor<1x2x3xf32>, none, none, tensor<3xi64>) -> tensor<1x2x6xf32>
    %1 = graph.ReduceSumSquare(%0, %n) {graph.name = "loss", keepdims = 0 : i64} : (tensor<1x2x6xf32>, none) -> tensor<f32>
    return %1 : tensor<f32>
  }
}
