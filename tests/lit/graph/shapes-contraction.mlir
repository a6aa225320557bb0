// Shape functions of matrix products, convolutions and pooling, static and symbolic.
// RUN: fathom-opt %s --mlir-very-unsafe-disable-verifier-on-parsing --infer-shapes | FileCheck %s

!image = tensor<?x3x?x224xf32, #graph.enc<shape = ()[s0, s1] -> (s0, 3, s1, 224)>>

// CHECK-LABEL: @matmul
func.func @matmul(%v: tensor<6xf32>, %m: tensor<5x6xf32>, %b: tensor<3x1x6x7xf32>, %c: tensor<2x6x7xf32>,
                  %q: tensor<?x12x?x64xf32, #graph.enc<shape = ()[s0, s1] -> (s0, 12, s1, 64)>>,
                  %k: tensor<?x12x64x?xf32, #graph.enc<shape = ()[s0, s1] -> (s0, 12, 64, s1)>>, %bias: tensor<7xf32>, %w: tensor<6x7xf32>) {
  // CHECK: graph.MatMul{{.*}} -> tensor<f32>
  %0 = graph.MatMul(%v, %v) : (tensor<6xf32>, tensor<6xf32>) -> tensor<1xf32>
  // CHECK: graph.MatMul{{.*}} -> tensor<5xf32>
  %1 = graph.MatMul(%m, %v) : (tensor<5x6xf32>, tensor<6xf32>) -> tensor<f32>
  // CHECK: graph.MatMul{{.*}} -> tensor<3x1x7xf32>
  %2 = graph.MatMul(%v, %b) : (tensor<6xf32>, tensor<3x1x6x7xf32>) -> tensor<f32>
  // CHECK: graph.MatMul{{.*}} -> tensor<2x5x7xf32>
  %3 = graph.MatMul(%m, %c) : (tensor<5x6xf32>, tensor<2x6x7xf32>) -> tensor<f32>
  // CHECK: graph.MatMul{{.*}} -> tensor<?x12x?x?xf32, #graph.enc<shape = ()[s0, s1] -> (s0, 12, s1, s1)>>
  %4 = graph.MatMul(%q, %k) : (tensor<?x12x?x64xf32, #graph.enc<shape = ()[s0, s1] -> (s0, 12, s1, 64)>>, tensor<?x12x64x?xf32, #graph.enc<shape = ()[s0, s1] -> (s0, 12, 64, s1)>>) -> tensor<f32>
  // CHECK: graph.Gemm{{.*}} -> tensor<5x7xf32>
  %5 = graph.Gemm(%m, %w, %bias) : (tensor<5x6xf32>, tensor<6x7xf32>, tensor<7xf32>) -> tensor<f32>
  return
}

// CHECK-LABEL: @conv
func.func @conv(%x: tensor<1x3x224x224xf32>, %w: tensor<64x3x7x7xf32>, %line: tensor<2x4x16xf32>, %k1: tensor<4x1x3xf32>,
                %volume: tensor<1x2x8x8x8xf32>, %k3: tensor<5x2x3x3x3xf32>, %y: !image) {
  %none = graph.None
  // CHECK: graph.Conv{{.*}} -> tensor<1x64x112x112xf32>
  %0 = graph.Conv(%x, %w, %none) {pads = array<i64: 3, 3, 3, 3>, strides = array<i64: 2, 2>} : (tensor<1x3x224x224xf32>, tensor<64x3x7x7xf32>, none) -> tensor<f32>
  // CHECK: graph.Conv{{.*}} -> tensor<1x64x56x75xf32>
  %1 = graph.Conv(%x, %w, %none) {auto_pad = "SAME_LOWER", strides = array<i64: 4, 3>} : (tensor<1x3x224x224xf32>, tensor<64x3x7x7xf32>, none) -> tensor<f32>
  // CHECK: graph.Conv{{.*}} -> tensor<1x64x212x218xf32>
  %2 = graph.Conv(%x, %w, %none) {auto_pad = "VALID", dilations = array<i64: 2, 1>} : (tensor<1x3x224x224xf32>, tensor<64x3x7x7xf32>, none) -> tensor<f32>
  // CHECK: graph.Conv{{.*}} -> tensor<2x4x16xf32>
  %3 = graph.Conv(%line, %k1, %none) {group = 4 : i64, pads = array<i64: 1, 1>} : (tensor<2x4x16xf32>, tensor<4x1x3xf32>, none) -> tensor<f32>
  // CHECK: graph.Conv{{.*}} -> tensor<1x5x6x6x6xf32>
  %4 = graph.Conv(%volume, %k3, %none) : (tensor<1x2x8x8x8xf32>, tensor<5x2x3x3x3xf32>, none) -> tensor<f32>
  // CHECK: graph.Conv{{.*}} -> tensor<?x64x?x112xf32, #graph.enc<shape = ()[s0, s1] -> (s0, 64, (s1 + 1) floordiv 2, 112)>>
  %5 = graph.Conv(%y, %w, %none) {pads = array<i64: 3, 3, 3, 3>, strides = array<i64: 2, 2>} : (!image, tensor<64x3x7x7xf32>, none) -> tensor<f32>
  // A chain of strides is one division.
  // CHECK: graph.MaxPool{{.*}} -> tensor<?x64x?x56xf32, #graph.enc<shape = ()[s0, s1] -> (s0, 64, (s1 + 3) floordiv 4, 56)>>
  %6 = graph.MaxPool(%5) {kernel_shape = array<i64: 3, 3>, pads = array<i64: 1, 1, 1, 1>, strides = array<i64: 2, 2>} : (tensor<f32>) -> tensor<f32>
  return
}

// CHECK-LABEL: @transposed
func.func @transposed(%x: tensor<1x8x10x10xf32>, %w: tensor<8x2x3x3xf32>, %y: tensor<1x8x?x10xf32, #graph.enc<shape = ()[s0] -> (1, 8, s0, 10)>>) {
  %none = graph.None
  // CHECK: graph.ConvTranspose{{.*}} -> tensor<1x4x20x20xf32>
  %0 = graph.ConvTranspose(%x, %w, %none) {group = 2 : i64, output_padding = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, strides = array<i64: 2, 2>} : (tensor<1x8x10x10xf32>, tensor<8x2x3x3xf32>, none) -> tensor<f32>
  // CHECK: graph.ConvTranspose{{.*}} -> tensor<1x2x30x30xf32>
  %1 = graph.ConvTranspose(%x, %w, %none) {auto_pad = "SAME_UPPER", strides = array<i64: 3, 3>} : (tensor<1x8x10x10xf32>, tensor<8x2x3x3xf32>, none) -> tensor<f32>
  // CHECK: graph.ConvTranspose{{.*}} -> tensor<1x2x32x25xf32>
  %2 = graph.ConvTranspose(%x, %w, %none) {output_shape = array<i64: 32, 25>, strides = array<i64: 3, 3>} : (tensor<1x8x10x10xf32>, tensor<8x2x3x3xf32>, none) -> tensor<f32>
  // CHECK: graph.ConvTranspose{{.*}} -> tensor<1x2x?x21xf32, #graph.enc<shape = ()[s0] -> (1, 2, s0 * 2 + 1, 21)>>
  %3 = graph.ConvTranspose(%y, %w, %none) {strides = array<i64: 2, 2>} : (tensor<1x8x?x10xf32, #graph.enc<shape = ()[s0] -> (1, 8, s0, 10)>>, tensor<8x2x3x3xf32>, none) -> tensor<f32>
  return
}

// CHECK-LABEL: @pool
func.func @pool(%x: tensor<1x1x4x4xf32>, %y: tensor<1x64x112x112xf32>, %l: tensor<1x1x2xf32>, %s: tensor<1x8x?xf32, #graph.enc<shape = ()[s0] -> (1, 8, s0)>>) {
  // CHECK: graph.MaxPool{{.*}} -> tensor<1x1x2x2xf32>
  %0 = graph.MaxPool(%x) {ceil_mode = 1 : i64, kernel_shape = array<i64: 3, 3>, strides = array<i64: 2, 2>} : (tensor<1x1x4x4xf32>) -> tensor<f32>
  // A window that would start in the end padding is left out.
  // CHECK: graph.AveragePool{{.*}} -> tensor<1x1x2xf32>
  %1 = graph.AveragePool(%l) {ceil_mode = 1 : i64, kernel_shape = array<i64: 1>, pads = array<i64: 0, 1>, strides = array<i64: 1>} : (tensor<1x1x2xf32>) -> tensor<f32>
  // CHECK: graph.MaxPool{{.*}} -> (tensor<1x64x56x56xf32>, tensor<1x64x56x56xi64>)
  %2:2 = graph.MaxPool(%y) {kernel_shape = array<i64: 3, 3>, pads = array<i64: 1, 1, 1, 1>, strides = array<i64: 2, 2>} : (tensor<1x64x112x112xf32>) -> (tensor<f32>, tensor<f32>)
  // CHECK: graph.MaxPool{{.*}} -> tensor<1x8x?xf32, #graph.enc<shape = ()[s0] -> (1, 8, s0 floordiv 2)>>
  %3 = graph.MaxPool(%s) {ceil_mode = 1 : i64, kernel_shape = array<i64: 3>, strides = array<i64: 2>} : (tensor<1x8x?xf32, #graph.enc<shape = ()[s0] -> (1, 8, s0)>>) -> tensor<f32>
  // A window that would start in the padding is left out, whatever the size.
  // CHECK: graph.AveragePool{{.*}} -> tensor<1x8x?xf32, #graph.enc<shape = ()[s0] -> (1, 8, s0 floordiv 2 + 1)>>
  %4 = graph.AveragePool(%s) {ceil_mode = 1 : i64, kernel_shape = array<i64: 2>, pads = array<i64: 1, 1>, strides = array<i64: 2>} : (tensor<1x8x?xf32, #graph.enc<shape = ()[s0] -> (1, 8, s0)>>) -> tensor<f32>
  // CHECK: graph.GlobalAveragePool{{.*}} -> tensor<1x8x1xf32>
  %5 = graph.GlobalAveragePool(%s) : (tensor<1x8x?xf32, #graph.enc<shape = ()[s0] -> (1, 8, s0)>>) -> tensor<f32>
  return
}
