// RUN: fathom-opt --canonicalize-cast --split-input-file %s | FileCheck %s
// example

// The type between holds all numbers: it is not needed.
// CHECK-LABEL: func @chain
// CHECK-NEXT: %[[C:.*]] = graph.Cast(%arg0) {to = f32} : (tensor<3xi8>) -> tensor<3xf32>
// CHECK-NEXT: return %[[C]], %arg0
func.func @chain(%x: tensor<3xi8>) -> (tensor<3xf32>, tensor<3xi8>) {
  %a = graph.Cast(%x) {to = i32} : (tensor<3xi8>) -> tensor<3xi32>
  %b = graph.Cast(%a) {to = f32} : (tensor<3xi32>) -> tensor<3xf32>
  %c = graph.Cast(%a) {to = i8} : (tensor<3xi32>) -> tensor<3xi8>
  return %b, %c : tensor<3xf32>, tensor<3xi8>
}

// -----

// It loses some: of 32-bit integers, of floats, of what has a sign.
// CHECK-LABEL: func @lossy
// CHECK-COUNT-6: graph.Cast
func.func @lossy(%x: tensor<3xi32>, %y: tensor<3xf32>, %z: tensor<3xi8>) -> (tensor<3xi32>, tensor<3xf32>, tensor<3xi32>) {
  %a = graph.Cast(%x) {to = f32} : (tensor<3xi32>) -> tensor<3xf32>
  %b = graph.Cast(%a) {to = i32} : (tensor<3xf32>) -> tensor<3xi32>
  %c = graph.Cast(%y) {to = f16} : (tensor<3xf32>) -> tensor<3xf16>
  %d = graph.Cast(%c) {to = f32} : (tensor<3xf16>) -> tensor<3xf32>
  %e = graph.Cast(%z) {to = ui8} : (tensor<3xi8>) -> tensor<3xui8>
  %f = graph.Cast(%e) {to = i32} : (tensor<3xui8>) -> tensor<3xi32>
  return %b, %d, %f : tensor<3xi32>, tensor<3xf32>, tensor<3xi32>
}

// -----

// Each reader of a wider tensor computes it from the narrow one; a narrower one stays shared.
// CHECK-LABEL: func @shared
// CHECK: %[[A:.*]] = graph.Cast(%arg0)
// CHECK-NEXT: graph.Exp(%[[A]])
// CHECK-NEXT: %[[B:.*]] = graph.Cast(%arg0)
// CHECK-NEXT: graph.Abs(%[[B]])
// CHECK-NEXT: %[[N:.*]] = graph.Cast(%arg1)
// CHECK-NEXT: graph.Exp(%[[N]])
// CHECK-NEXT: graph.Abs(%[[N]])
func.func @shared(%x: tensor<3xf16>, %y: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>, tensor<3xf16>, tensor<3xf16>) {
  %a = graph.Cast(%x) {to = f32} : (tensor<3xf16>) -> tensor<3xf32>
  %b = graph.Exp(%a) : (tensor<3xf32>) -> tensor<3xf32>
  %c = graph.Abs(%a) : (tensor<3xf32>) -> tensor<3xf32>
  %n = graph.Cast(%y) {to = f16} : (tensor<3xf32>) -> tensor<3xf16>
  %d = graph.Exp(%n) : (tensor<3xf16>) -> tensor<3xf16>
  %e = graph.Abs(%n) : (tensor<3xf16>) -> tensor<3xf16>
  return %b, %c, %d, %e : tensor<3xf32>, tensor<3xf32>, tensor<3xf16>, tensor<3xf16>
}
