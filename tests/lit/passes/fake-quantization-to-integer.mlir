// RUN: fathom-opt --fake-quantization-to-integer --dead-code-elimination --target=sapphirerapids --split-input-file %s | FileCheck %s
// RUN: fathom-opt --fake-quantization-to-integer --dead-code-elimination --target=neoverse-n1 --split-input-file %s | FileCheck %s --check-prefix=SIGNED
// RUN: fathom-opt --fake-quantization-to-integer --dead-code-elimination --target=sapphirerapids --fp=strict --split-input-file %s | FileCheck %s --check-prefix=STRICT
// example

// The number of channels is filled up to whole quads, and the zero point stands around the image.
// CHECK-LABEL: func @integers
// CHECK: %[[X:.*]] = graph.Pad(%arg0, {{.*}} -> tensor<1x4x7x7xui8>
// CHECK: %[[W:.*]] = graph.Quads({{.*}}) {axis = 1 : i64{{.*}} -> tensor<2x1x3x3xi32>
// CHECK: graph.Conv(%[[X]], %[[W]], %{{.*}}) {{{.*}}graph.quads = "plain"{{.*}}pads = array<i64: 0, 0, 0, 0>
// SIGNED-LABEL: func @integers
// SIGNED: graph.quads = "centred"
func.func @integers(%x: tensor<1x3x5x5xui8>) -> tensor<1x2x5x5xi32> {
  %n = graph.None
  %z = graph.Constant dense<3> : tensor<ui8> as tensor<ui8>
  %w = graph.Constant dense<1> : tensor<2x3x3x3xi8> as tensor<2x3x3x3xi8>
  %0 = graph.ConvInteger(%x, %w, %z, %n) {graph.name = "y", pads = array<i64: 1, 1, 1, 1>} : (tensor<1x3x5x5xui8>, tensor<2x3x3x3xi8>, tensor<ui8>, none) -> tensor<1x2x5x5xi32>
  return %0 : tensor<1x2x5x5xi32>
}

// -----

// A zero point of zero needs nothing around the image.
// CHECK-LABEL: func @zeros
// CHECK-NOT: graph.Pad
// CHECK: graph.Conv(%arg0, {{.*}}pads = array<i64: 1, 1, 1, 1>
func.func @zeros(%x: tensor<1x4x5x5xui8>) -> tensor<1x2x5x5xi32> {
  %n = graph.None
  %w = graph.Constant dense<1> : tensor<2x4x3x3xi8> as tensor<2x4x3x3xi8>
  %0 = graph.ConvInteger(%x, %w, %n, %n) {graph.name = "y", pads = array<i64: 1, 1, 1, 1>} : (tensor<1x4x5x5xui8>, tensor<2x4x3x3xi8>, none, none) -> tensor<1x2x5x5xi32>
  return %0 : tensor<1x2x5x5xi32>
}

// A convolution of single channels reads the numbers, less their zero point; the scale goes into its weights.
// CHECK-LABEL: func @single_channels
// CHECK: %[[I:.*]] = graph.Cast(%arg0) {{.*}}i32
// CHECK: %[[C:.*]] = graph.Sub(%[[I]]
// CHECK: %[[W:.*]] = graph.Mul(
// CHECK: %[[X:.*]] = graph.Cast(%[[C]]) {{.*}}-> tensor<1x4x5x5xf32>
// CHECK: graph.Conv(%[[X]], %[[W]]
// STRICT-LABEL: func @single_channels
// STRICT: graph.DequantizeLinear(%arg0
func.func @single_channels(%x: tensor<1x4x5x5xui8>) -> tensor<1x4x5x5xf32> {
  %n = graph.None
  %s = graph.Constant dense<0.5> : tensor<f32> as tensor<f32>
  %z = graph.Constant dense<3> : tensor<ui8> as tensor<ui8>
  %w = graph.Constant dense<1.0> : tensor<4x1x3x3xf32> as tensor<4x1x3x3xf32>
  %0 = graph.DequantizeLinear(%x, %s, %z) : (tensor<1x4x5x5xui8>, tensor<f32>, tensor<ui8>) -> tensor<1x4x5x5xf32>
  %1 = graph.Conv(%0, %w, %n) {graph.name = "y", group = 4 : i64, pads = array<i64: 1, 1, 1, 1>} : (tensor<1x4x5x5xf32>, tensor<4x1x3x3xf32>, none) -> tensor<1x4x5x5xf32>
  return %1 : tensor<1x4x5x5xf32>
}

// Between a quantiser and another one: no number is dequantised. Numbers with a sign lose it, and a ReLU that the
// quantiser implies goes.
// CHECK-LABEL: func @between
// CHECK: %[[Q:.*]] = graph.QuantizeLinear(%arg0, {{.*}} -> tensor<3x8xui8>
// CHECK: %[[S:.*]] = graph.MatMul(%[[Q]], {{.*}}graph.quads = "plain"
// CHECK-NOT: graph.DequantizeLinear
// CHECK-NOT: graph.Relu
// CHECK: graph.QuantizeLinear
// STRICT-LABEL: func @between
// STRICT: graph.MatMul({{.*}}graph.why_float = "--fp strict
func.func @between(%x: tensor<3x8xf32>) -> tensor<3x5xi8> {
  %s = graph.Constant dense<0.5> : tensor<f32> as tensor<f32>
  %z = graph.Constant dense<-128> : tensor<i8> as tensor<i8>
  %n = graph.None
  %w = graph.Constant dense<3> : tensor<8x5xi8> as tensor<8x5xi8>
  %0 = graph.QuantizeLinear(%x, %s, %z) : (tensor<3x8xf32>, tensor<f32>, tensor<i8>) -> tensor<3x8xi8>
  %1 = graph.DequantizeLinear(%0, %s, %z) : (tensor<3x8xi8>, tensor<f32>, tensor<i8>) -> tensor<3x8xf32>
  %2 = graph.DequantizeLinear(%w, %s, %n) : (tensor<8x5xi8>, tensor<f32>, none) -> tensor<8x5xf32>
  %3 = graph.MatMul(%1, %2) {graph.name = "y"} : (tensor<3x8xf32>, tensor<8x5xf32>) -> tensor<3x5xf32>
  %4 = graph.Relu(%3) : (tensor<3x5xf32>) -> tensor<3x5xf32>
  %5 = graph.QuantizeLinear(%4, %s, %z) : (tensor<3x5xf32>, tensor<f32>, tensor<i8>) -> tensor<3x5xi8>
  return %5 : tensor<3x5xi8>
}

// Numbers with a sign between two products lose it as well, and their scale is divided ahead.
// CHECK-LABEL: func @chain
// CHECK: graph.MatMul(
// CHECK: graph.Mul({{.*}}graph.name = "q.requantized"
// CHECK: graph.QuantizeLinear({{.*}} -> tensor<3x8xui8>
// CHECK-NOT: graph.QuantizeLinear
// CHECK: graph.MatMul(
func.func @chain(%x: tensor<3x8xui8>) -> tensor<3x8xf32> {
  %s = graph.Constant dense<0.5> : tensor<f32> as tensor<f32>
  %z = graph.Constant dense<-3> : tensor<i8> as tensor<i8>
  %n = graph.None
  %w = graph.Constant dense<3> : tensor<8x8xi8> as tensor<8x8xi8>
  %0 = graph.DequantizeLinear(%x, %s, %n) : (tensor<3x8xui8>, tensor<f32>, none) -> tensor<3x8xf32>
  %1 = graph.DequantizeLinear(%w, %s, %n) : (tensor<8x8xi8>, tensor<f32>, none) -> tensor<8x8xf32>
  %2 = graph.MatMul(%0, %1) {graph.name = "y"} : (tensor<3x8xf32>, tensor<8x8xf32>) -> tensor<3x8xf32>
  %3 = graph.QuantizeLinear(%2, %s, %z) {graph.name = "q"} : (tensor<3x8xf32>, tensor<f32>, tensor<i8>) -> tensor<3x8xi8>
  %4 = graph.DequantizeLinear(%3, %s, %z) : (tensor<3x8xi8>, tensor<f32>, tensor<i8>) -> tensor<3x8xf32>
  %5 = graph.MatMul(%4, %1) {graph.name = "v"} : (tensor<3x8xf32>, tensor<8x8xf32>) -> tensor<3x8xf32>
  return %5 : tensor<3x8xf32>
}

// Weights that the run makes, and weights too large for 8 bits with a sign, stay.
// CHECK-LABEL: func @others
// CHECK: graph.MatMulInteger({{.*}}graph.why_float = "its weights are not constant"
// CHECK: graph.MatMulInteger({{.*}}graph.why_float = "its weights less their zero points are not numbers of 8 bits"
func.func @others(%x: tensor<3x4xui8>, %y: tensor<4x5xi8>) -> (tensor<3x5xi32>, tensor<3x5xi32>) {
  %n = graph.None
  %w = graph.Constant dense<200> : tensor<4x5xui8> as tensor<4x5xui8>
  %0 = graph.MatMulInteger(%x, %y, %n, %n) {graph.name = "y"} : (tensor<3x4xui8>, tensor<4x5xi8>, none, none) -> tensor<3x5xi32>
  %1 = graph.MatMulInteger(%x, %w, %n, %n) {graph.name = "z"} : (tensor<3x4xui8>, tensor<4x5xui8>, none, none) -> tensor<3x5xi32>
  return %0, %1 : tensor<3x5xi32>, tensor<3x5xi32>
}
