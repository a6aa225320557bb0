// A convolution in tiles of 2 x 2 pixels: 16 products for a tile, of which nothing but the result leaves scratch.
// RUN: fathom-opt --emit-loops --target=neoverse-v1 --canonicalize --cse %s | FileCheck %s

// The tiles: 16 loads and as many stores of transformed ones; a product at each of 16 positions; the way back.
// CHECK-LABEL: func @WinogradConv_y.
// CHECK: scf.for
// CHECK-COUNT-16: llvm.load {{.*}} -> vector<4xf32>
// CHECK-COUNT-16: llvm.store {{.*}} : vector<4xf32>
// CHECK: scf.for {{.*}} to %c16_i64 step %c1_i64
// The weights of the next position, or those of the next panel, are fetched while tiles pass these.
// CHECK: arith.cmpi eq
// CHECK: arith.select
// CHECK: llvm.intr.prefetch
// CHECK: llvm.intr.fmuladd
// CHECK: arith.minsi
// CHECK: return
func.func @main(%x: tensor<1x8x6x6xf32>) -> tensor<1x8x6x6xf32> {
  %n = graph.None
  %u = graph.Constant dense<2.0> : tensor<16x8x8xf32> as tensor<16x8x8xf32>
  %0 = graph.WinogradConv(%x, %u, %n) {graph.name = "y", pads = array<i64: 1, 1, 1, 1>, tile = 2 : i64} : (tensor<1x8x6x6xf32>, tensor<16x8x8xf32>, none) -> tensor<1x8x6x6xf32>
  return %0 : tensor<1x8x6x6xf32>
}
