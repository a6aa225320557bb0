// A transposed convolution whose channels are not known gathers: a tap counts where its input lies on the grid of the stride and inside.
// RUN: fathom-opt --emit-loops --target=neoverse-n1 --canonicalize --cse %s | FileCheck %s

// Sixteen-bit floats are summed in 32 bits and rounded once.
// CHECK-LABEL: func @ConvTranspose_ConvTranspose.0(
// CHECK: scf.for %[[AT:.*]] = %c0_i64 to %c7_i64
// CHECK: %[[SUM:.*]] = scf.for %[[TAP:.*]] = %c0_i64 to %c3_i64 {{.*}} iter_args(%[[BEFORE:.*]] = %cst) -> (f32)
// CHECK: %[[REACH:.*]] = arith.subi %[[AT]], %[[TAP]]
// CHECK: arith.remui %[[REACH]], %c2_i64
// CHECK: arith.cmpi sge, %[[REACH]], %c0_i64
// CHECK: scf.if
// CHECK: scf.for {{.*}} iter_args(%[[CARRIED:.*]] = %[[BEFORE]])
// CHECK: %[[PRODUCT:.*]] = arith.mulf {{.*}} : f32
// CHECK: arith.addf %[[CARRIED]], %[[PRODUCT]] : f32
// CHECK: } else {
// CHECK-NEXT: scf.yield %[[BEFORE]]
// CHECK: arith.truncf %[[SUM]] : f32 to f16
module attributes {graph.symbols = [{name = "c", min = 1 : i64, max = 100 : i64}]} {
func.func @main(%x: tensor<1x?x3xf16, #graph.enc<shape = ()[s0] -> (1, s0, 3)>>, %w: tensor<?x1x3xf16, #graph.enc<shape = ()[s0] -> (s0, 1, 3)>>) -> tensor<1x1x7xf16> {
  %none = graph.None
  %0 = graph.ConvTranspose(%x, %w, %none) {strides = array<i64: 2>} : (tensor<1x?x3xf16, #graph.enc<shape = ()[s0] -> (1, s0, 3)>>, tensor<?x1x3xf16, #graph.enc<shape = ()[s0] -> (s0, 1, 3)>>, none) -> tensor<1x1x7xf16>
  return %0 : tensor<1x1x7xf16>
}
}
