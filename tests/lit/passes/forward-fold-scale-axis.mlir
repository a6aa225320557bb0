// RUN: fathom-opt --forward-fold-scale-axis --split-input-file %s | FileCheck %s
// example

// CHECK-LABEL: func @scale_and_shift
// CHECK-DAG: %[[W:.*]] = graph.Mul({{.*}}) {{.*}} -> tensor<4x3x1x1xf32>
// CHECK: %[[C:.*]] = graph.Conv(%arg0, %[[W]],
// CHECK-NEXT: return %[[C]]
func.func @scale_and_shift(%x: tensor<1x3x5x5xf32>) -> tensor<1x4x5x5xf32> {
  %n = graph.None
  %w = graph.Constant dense<2.0> : tensor<4x3x1x1xf32> as tensor<4x3x1x1xf32>
  %s = graph.Constant dense<3.0> : tensor<4x1x1xf32> as tensor<4x1x1xf32>
  %c = graph.Conv(%x, %w, %n) : (tensor<1x3x5x5xf32>, tensor<4x3x1x1xf32>, none) -> tensor<1x4x5x5xf32>
  %m = graph.Mul(%c, %s) : (tensor<1x4x5x5xf32>, tensor<4x1x1xf32>) -> tensor<1x4x5x5xf32>
  %a = graph.Add(%m, %s) : (tensor<1x4x5x5xf32>, tensor<4x1x1xf32>) -> tensor<1x4x5x5xf32>
  return %a : tensor<1x4x5x5xf32>
}

// -----

// A factor for each column is not one for each channel.
// CHECK-LABEL: func @not_per_channel
// CHECK: graph.Conv
// CHECK: graph.Mul
func.func @not_per_channel(%x: tensor<1x3x5x5xf32>) -> tensor<1x4x5x5xf32> {
  %n = graph.None
  %w = graph.Constant dense<2.0> : tensor<4x3x1x1xf32> as tensor<4x3x1x1xf32>
  %s = graph.Constant dense<3.0> : tensor<5xf32> as tensor<5xf32>
  %c = graph.Conv(%x, %w, %n) : (tensor<1x3x5x5xf32>, tensor<4x3x1x1xf32>, none) -> tensor<1x4x5x5xf32>
  %m = graph.Mul(%c, %s) : (tensor<1x4x5x5xf32>, tensor<5xf32>) -> tensor<1x4x5x5xf32>
  return %m : tensor<1x4x5x5xf32>
}

// -----

// The output channels of a transposed convolution are the second dimension of its weights.
// CHECK-LABEL: func @transposed
// CHECK: graph.Reshape({{.*}}) {{.*}} -> tensor<1x4x1x1xf32>
// CHECK: %[[W:.*]] = graph.Mul({{.*}}) {{.*}} -> tensor<3x4x2x2xf32>
// CHECK: %[[C:.*]] = graph.ConvTranspose(%arg0, %[[W]],
// CHECK-NEXT: return %[[C]]
func.func @transposed(%x: tensor<1x3x5x5xf32>) -> tensor<1x4x10x10xf32> {
  %n = graph.None
  %w = graph.Constant dense<2.0> : tensor<3x4x2x2xf32> as tensor<3x4x2x2xf32>
  %s = graph.Constant dense<3.0> : tensor<4x1x1xf32> as tensor<4x1x1xf32>
  %c = graph.ConvTranspose(%x, %w, %n) {strides = array<i64: 2, 2>} : (tensor<1x3x5x5xf32>, tensor<3x4x2x2xf32>, none) -> tensor<1x4x10x10xf32>
  %m = graph.Mul(%c, %s) : (tensor<1x4x10x10xf32>, tensor<4x1x1xf32>) -> tensor<1x4x10x10xf32>
  %a = graph.Add(%m, %s) : (tensor<1x4x10x10xf32>, tensor<4x1x1xf32>) -> tensor<1x4x10x10xf32>
  return %a : tensor<1x4x10x10xf32>
}

// -----

// With groups they are not one dimension.
// CHECK-LABEL: func @transposed_groups
// CHECK: graph.ConvTranspose
// CHECK: graph.Mul
func.func @transposed_groups(%x: tensor<1x4x5x5xf32>) -> tensor<1x4x10x10xf32> {
  %n = graph.None
  %w = graph.Constant dense<2.0> : tensor<4x2x2x2xf32> as tensor<4x2x2x2xf32>
  %s = graph.Constant dense<3.0> : tensor<4x1x1xf32> as tensor<4x1x1xf32>
  %c = graph.ConvTranspose(%x, %w, %n) {group = 2 : i64, strides = array<i64: 2, 2>} : (tensor<1x4x5x5xf32>, tensor<4x2x2x2xf32>, none) -> tensor<1x4x10x10xf32>
  %m = graph.Mul(%c, %s) : (tensor<1x4x10x10xf32>, tensor<4x1x1xf32>) -> tensor<1x4x10x10xf32>
  return %m : tensor<1x4x10x10xf32>
}

// -----

// Four bytes in an element of the weights are not multiplied as one number.
// CHECK-LABEL: func @quads
// CHECK: graph.Conv(%arg0
// CHECK: graph.Mul({{.*}} -> tensor<1x2x4x4xi32>
func.func @quads(%x: tensor<1x4x5x5xui8>) -> tensor<1x2x4x4xi32> {
  %s = graph.Constant dense<3> : tensor<i32> as tensor<i32>
  %b = graph.Constant dense<0> : tensor<2xi32> as tensor<2xi32>
  %w = graph.Constant dense<-1> : tensor<2x1x2x2xi32> as tensor<2x1x2x2xi32>
  %c = graph.Conv(%x, %w, %b) {graph.quads = "plain"} : (tensor<1x4x5x5xui8>, tensor<2x1x2x2xi32>, tensor<2xi32>) -> tensor<1x2x4x4xi32>
  %m = graph.Mul(%c, %s) : (tensor<1x2x4x4xi32>, tensor<i32>) -> tensor<1x2x4x4xi32>
  return %m : tensor<1x2x4x4xi32>
}
