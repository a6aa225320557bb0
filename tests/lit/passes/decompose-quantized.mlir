// RUN: fathom-opt --decompose-quantized --split-input-file %s | FileCheck %s
// example

// Integer products are exact in 32 bits; rows of the left matrix have their zero points.
// CHECK-LABEL: func @integers
// CHECK: %[[LHS:.*]] = graph.Cast(%arg0) {{.*}} -> tensor<3x4xi32>
// CHECK: %[[ZERO:.*]] = graph.Cast(%arg2) {{.*}} -> tensor<3x1xi32>
// CHECK: %[[CENTRED:.*]] = graph.Sub(%[[LHS]], %[[ZERO]])
// CHECK: %[[RHS:.*]] = graph.Cast(%arg1) {{.*}} -> tensor<4x5xi32>
// CHECK: graph.MatMul(%[[CENTRED]], %[[RHS]])
// CHECK-NOT: MatMulInteger
func.func @integers(%a: tensor<3x4xui8>, %b: tensor<4x5xi8>, %z: tensor<3x1xui8>) -> tensor<3x5xi32> {
  %n = graph.None
  %0 = graph.MatMulInteger(%a, %b, %z, %n) {graph.name = "y"} : (tensor<3x4xui8>, tensor<4x5xi8>, tensor<3x1xui8>, none) -> tensor<3x5xi32>
  return %0 : tensor<3x5xi32>
}

// -----

// Short sums of a convolution are exact in single precision, long ones in double.
// CHECK-LABEL: func @convolutions
// CHECK: graph.Conv({{.*}} -> tensor<1x2x3x3xf32>
// CHECK: graph.Conv({{.*}} -> tensor<1x2x1x1xf64>
func.func @convolutions(%x: tensor<1x4x5x5xui8>, %w: tensor<2x4x3x3xui8>, %v: tensor<1x64x3x3xui8>, %u: tensor<2x64x3x3xui8>) -> (tensor<1x2x3x3xi32>, tensor<1x2x1x1xi32>) {
  %n = graph.None
  %0 = graph.ConvInteger(%x, %w, %n, %n) {graph.name = "y"} : (tensor<1x4x5x5xui8>, tensor<2x4x3x3xui8>, none, none) -> tensor<1x2x3x3xi32>
  %1 = graph.ConvInteger(%v, %u, %n, %n) {graph.name = "z"} : (tensor<1x64x3x3xui8>, tensor<2x64x3x3xui8>, none, none) -> tensor<1x2x1x1xi32>
  return %0, %1 : tensor<1x2x3x3xi32>, tensor<1x2x1x1xi32>
}

// What has scales is computed in floats; that of the bias is the product of the other two.
// CHECK-LABEL: func @scaled
// CHECK: %[[X:.*]] = graph.DequantizeLinear(%arg0,
// CHECK: %[[W:.*]] = graph.DequantizeLinear(%arg1,
// CHECK: %[[SCALES:.*]] = graph.Reshape(%arg4, {{.*}} -> tensor<2xf32>
// CHECK: %[[SCALE:.*]] = graph.Mul(%arg2, %[[SCALES]]) {{.*}} -> tensor<2xf32>
// CHECK: %[[B:.*]] = graph.DequantizeLinear(%{{.*}}, %[[SCALE]],
// CHECK: %[[Y:.*]] = graph.Conv(%[[X]], %[[W]], %[[B]]) {{{.*}}pads = array<i64: 1, 1, 1, 1>
// CHECK: graph.QuantizeLinear(%[[Y]],
func.func @scaled(%x: tensor<1x4x5x5xui8>, %w: tensor<2x4x3x3xi8>, %s: tensor<f32>, %z: tensor<ui8>, %ws: tensor<2x1x1x1xf32>, %wz: tensor<i8>, %b: tensor<2xi32>) -> tensor<1x2x5x5xui8> {
  %0 = graph.QLinearConv(%x, %s, %z, %w, %ws, %wz, %s, %z, %b) {graph.name = "y", pads = array<i64: 1, 1, 1, 1>} : (tensor<1x4x5x5xui8>, tensor<f32>, tensor<ui8>, tensor<2x4x3x3xi8>, tensor<2x1x1x1xf32>, tensor<i8>, tensor<f32>, tensor<ui8>, tensor<2xi32>) -> tensor<1x2x5x5xui8>
  return %0 : tensor<1x2x5x5xui8>
}

// CHECK-LABEL: func @products
// CHECK-COUNT-2: graph.DequantizeLinear
// CHECK: graph.MatMul
// CHECK: graph.QuantizeLinear
func.func @products(%a: tensor<3x4xi8>, %b: tensor<4x5xi8>, %s: tensor<f32>, %z: tensor<i8>) -> tensor<3x5xi8> {
  %0 = graph.QLinearMatMul(%a, %s, %z, %b, %s, %z, %s, %z) {graph.name = "y"} : (tensor<3x4xi8>, tensor<f32>, tensor<i8>, tensor<4x5xi8>, tensor<f32>, tensor<i8>, tensor<f32>, tensor<i8>) -> tensor<3x5xi8>
  return %0 : tensor<3x5xi8>
}

// The range of the data gives scale and zero point.
// CHECK-LABEL: func @by_range
// CHECK: graph.ReduceMin
// CHECK: graph.ReduceMax
// CHECK: %[[SCALE:.*]] = graph.Where
// CHECK: %[[ZERO:.*]] = graph.Cast({{.*}} -> tensor<ui8>
// CHECK: %[[Y:.*]] = graph.QuantizeLinear(%arg0, %[[SCALE]], %[[ZERO]])
// CHECK: return %[[Y]], %[[SCALE]], %[[ZERO]]
func.func @by_range(%x: tensor<3x4xf32>) -> (tensor<3x4xui8>, tensor<f32>, tensor<ui8>) {
  %0, %1, %2 = graph.DynamicQuantizeLinear(%x) {graph.name = "y"} : (tensor<3x4xf32>) -> (tensor<3x4xui8>, tensor<f32>, tensor<ui8>)
  return %0, %1, %2 : tensor<3x4xui8>, tensor<f32>, tensor<ui8>
}
