// What the shape functions of quantised products and convolutions refuse.
// RUN: fathom-opt %s -split-input-file -verify-diagnostics

func.func @wide(%x: tensor<2x3xi32>, %y: tensor<3x5xi8>) {
  %none = graph.None
  // expected-error @below {{[F1007] MatMulInteger: the left input must have integers of 8 bits}}
  %0 = graph.MatMulInteger(%x, %y, %none, %none) : (tensor<2x3xi32>, tensor<3x5xi8>, none, none) -> tensor<2x5xi32>
  return
}

// -----

func.func @zero_of_another_type(%x: tensor<2x3xi8>, %y: tensor<3x5xi8>, %z: tensor<ui8>) {
  %none = graph.None
  // expected-error @below {{[F1007] MatMulInteger: the left zero point must have the type of the numbers that it belongs to}}
  %0 = graph.MatMulInteger(%x, %y, %z, %none) : (tensor<2x3xi8>, tensor<3x5xi8>, tensor<ui8>, none) -> tensor<2x5xi32>
  return
}

// -----

func.func @zero_points_of_other_rows(%x: tensor<2x3xi8>, %y: tensor<3x5xi8>, %z: tensor<4xi8>) {
  %none = graph.None
  // expected-error @below {{[F1008] MatMulInteger: sizes 3 and 4 cannot be broadcast together}}
  %0 = graph.MatMulInteger(%x, %y, %z, %none) : (tensor<2x3xi8>, tensor<3x5xi8>, tensor<4xi8>, none) -> tensor<2x5xi32>
  return
}

// -----

func.func @bias(%x: tensor<1x4x5x5xui8>, %w: tensor<2x4x3x3xui8>, %s: tensor<f32>, %z: tensor<ui8>, %b: tensor<2xf32>) {
  // expected-error @below {{[F1007] QLinearConv: bias must have integers of 32 bits}}
  %0 = graph.QLinearConv(%x, %s, %z, %w, %s, %z, %s, %z, %b) : (tensor<1x4x5x5xui8>, tensor<f32>, tensor<ui8>, tensor<2x4x3x3xui8>, tensor<f32>, tensor<ui8>, tensor<f32>, tensor<ui8>, tensor<2xf32>) -> tensor<1x2x3x3xui8>
  return
}

// -----

func.func @scale_of_the_result(%x: tensor<2x3xui8>, %y: tensor<3x5xui8>, %s: tensor<f32>, %z: tensor<ui8>, %t: tensor<4xf32>) {
  // expected-error @below {{[F1008] QLinearMatMul: sizes 5 and 4 cannot be broadcast together}}
  %0 = graph.QLinearMatMul(%x, %s, %z, %y, %s, %z, %t, %z) : (tensor<2x3xui8>, tensor<f32>, tensor<ui8>, tensor<3x5xui8>, tensor<f32>, tensor<ui8>, tensor<4xf32>, tensor<ui8>) -> tensor<2x5xui8>
  return
}

// -----

func.func @range(%x: tensor<3xf64>) {
  // expected-error @below {{[F1007] DynamicQuantizeLinear: the input must be float}}
  %0, %1, %2 = graph.DynamicQuantizeLinear(%x) : (tensor<3xf64>) -> (tensor<3xui8>, tensor<f64>, tensor<ui8>)
  return
}
