// Transposed convolutions that other ops compute better.
// RUN: fathom-opt --alter-op-layout --target=neoverse-n1 --split-input-file %s | FileCheck %s
// RUN: fathom-opt --alter-op-layout --target=sapphirerapids --split-input-file %s | FileCheck %s

// One output channel leaves most lanes of a vector idle. All phases are output channels of one convolution instead,
// whose windows hold every fourth tap, back to front; then each phase goes to its place.
// CHECK-LABEL: func @upscale
// CHECK: graph.Pad({{.*}}-> tensor<56x1x12x12xf32>
// CHECK: graph.Reshape({{.*}}-> tensor<56x1x3x4x3x4xf32>
// CHECK: graph.Slice(
// CHECK: graph.Transpose({{.*}}perm = array<i64: 3, 5, 1, 0, 2, 4>
// CHECK: %[[W:.*]] = graph.Reshape({{.*}}-> tensor<16x56x3x3xf32>
// CHECK: %[[C:.*]] = graph.Conv(%arg0, %[[W]], {{.*}}graph.name = "y.phases"{{.*}}pads = array<i64: 2, 2, 1, 1>{{.*}} -> tensor<1x16x9x10xf32>
// CHECK: graph.Transpose(%[[C]]){{.*}}perm = array<i64: 0, 2, 3, 1>
// CHECK: graph.Transpose({{.*}}perm = array<i64: 0, 5, 1, 3, 2, 4>
// CHECK: %[[Y:.*]] = graph.DynamicSlice({{.*}}graph.name = "y"{{.*}} -> tensor<1x1x32x36xf32>
// CHECK: return %[[Y]]
func.func @upscale(%x: tensor<1x56x8x9xf32>) -> tensor<1x1x32x36xf32> {
  %n = graph.None
  %w = graph.Constant dense<2.0> : tensor<56x1x9x9xf32> as tensor<56x1x9x9xf32>
  %c = graph.ConvTranspose(%x, %w, %n) {graph.name = "y", output_padding = array<i64: 3, 3>, pads = array<i64: 4, 4, 4, 4>, strides = array<i64: 4, 4>} : (tensor<1x56x8x9xf32>, tensor<56x1x9x9xf32>, none) -> tensor<1x1x32x36xf32>
  return %c : tensor<1x1x32x36xf32>
}

// -----

// Many output channels fill vectors.
// CHECK-LABEL: func @wide
// CHECK: graph.ConvTranspose(
func.func @wide(%x: tensor<1x56x8x9xf32>) -> tensor<1x64x16x18xf32> {
  %n = graph.None
  %w = graph.Constant dense<2.0> : tensor<56x64x2x2xf32> as tensor<56x64x2x2xf32>
  %c = graph.ConvTranspose(%x, %w, %n) {graph.name = "y", strides = array<i64: 2, 2>} : (tensor<1x56x8x9xf32>, tensor<56x64x2x2xf32>, none) -> tensor<1x64x16x18xf32>
  return %c : tensor<1x64x16x18xf32>
}

// -----

// Weights that come when it runs stay as they are.
// CHECK-LABEL: func @not_constant
// CHECK: graph.ConvTranspose(
func.func @not_constant(%x: tensor<1x56x8x9xf32>, %w: tensor<56x1x2x2xf32>) -> tensor<1x1x16x18xf32> {
  %n = graph.None
  %c = graph.ConvTranspose(%x, %w, %n) {graph.name = "y", strides = array<i64: 2, 2>} : (tensor<1x56x8x9xf32>, tensor<56x1x2x2xf32>, none) -> tensor<1x1x16x18xf32>
  return %c : tensor<1x1x16x18xf32>
}

// -----

// The window of a single pixel is a product of matrices, whose result has channels innermost.
// CHECK-LABEL: func @pixel
// CHECK: %[[T:.*]] = graph.Transpose({{.*}}perm = array<i64: 0, 2, 3, 1>
// CHECK: %[[W:.*]] = graph.Reshape(%[[T]], {{.*}}-> tensor<100x512xf32>
// CHECK: %[[X:.*]] = graph.Reshape(%arg0, {{.*}}-> tensor<2x100xf32>
// CHECK: %[[P:.*]] = graph.MatMul(%[[X]], %[[W]]) {graph.name = "y.taps"}
// CHECK: %[[I:.*]] = graph.Reshape(%[[P]], {{.*}}-> tensor<2x4x4x32xf32>
// CHECK: %[[Y:.*]] = graph.Transpose(%[[I]]) {graph.name = "y", perm = array<i64: 0, 3, 1, 2>}
// CHECK: return %[[Y]]
func.func @pixel(%x: tensor<2x100x1x1xf32>) -> tensor<2x32x4x4xf32> {
  %n = graph.None
  %w = graph.Constant dense<2.0> : tensor<100x32x4x4xf32> as tensor<100x32x4x4xf32>
  %c = graph.ConvTranspose(%x, %w, %n) {graph.name = "y"} : (tensor<2x100x1x1xf32>, tensor<100x32x4x4xf32>, none) -> tensor<2x32x4x4xf32>
  return %c : tensor<2x32x4x4xf32>
}
