// A transposed convolution by phases: which taps a phase has is computed once, for a register tile of its pixels.
// RUN: fathom-opt --emit-loops --target=neoverse-n1 --canonicalize --cse %s | FileCheck %s

// CHECK-LABEL: func @ConvTranspose_Relu
// Phases: the last dimension's are side by side, then the other's.
// CHECK: scf.for %[[PHASE:.*]] = {{.*}} : i64 {
// CHECK: %[[X:.*]] = arith.remui %[[PHASE]], %c2_i64
// Which taps of a window of 3 meet it, the padding of 1 counted in: one or two.
// CHECK: %[[REACH:.*]] = arith.addi %[[X]], %c1_i64
// CHECK: %[[DOWN:.*]] = arith.divui %[[PHASE]], %c2_i64
// CHECK: %[[FIRST:.*]] = arith.remui %[[REACH]], %c2_i64
// CHECK: %[[LEFT:.*]] = arith.subi %c4_i64, %[[FIRST]]
// CHECK: %[[ACROSS:.*]] = arith.divui %[[LEFT]], %c2_i64
// CHECK: arith.remui %[[DOWN]], %c2_i64
// A loop over the taps down and one along the row, the input's channels inside.
// CHECK: scf.for {{.*}} iter_args(
// CHECK: scf.for {{.*}} to %[[ACROSS]] {{.*}} iter_args(
// CHECK: llvm.intr.fmuladd
// The consumer is applied to the tile, and stored where the phase has it.
// CHECK: arith.maximumf
// CHECK: llvm.store
func.func @main(%x: tensor<1x8x6x8xf32>, %w: tensor<8x16x3x3xf32>) -> tensor<1x16x12x16xf32> {
  %none = graph.None
  %0 = graph.ConvTranspose(%x, %w, %none) {output_padding = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, strides = array<i64: 2, 2>} : (tensor<1x8x6x8xf32>, tensor<8x16x3x3xf32>, none) -> tensor<1x16x12x16xf32>
  %1 = graph.Relu(%0) : (tensor<1x16x12x16xf32>) -> tensor<1x16x12x16xf32>
  return %1 : tensor<1x16x12x16xf32>
}
