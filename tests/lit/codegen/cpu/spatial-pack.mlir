// Groups of two channels, two groups in a vector: every lane multiplies the input channel of its own group. The pixels of
// a window along a row are unrolled and share what they load: three pixels of the result read five of the input.
// RUN: split-file %s %t
// RUN: fathom-opt --emit-loops --target=neoverse-v1 --plan=%t/plan --canonicalize --cse %t/pairs.mlir | FileCheck %t/pairs.mlir

//--- plan
fathom-plan: 1
target: 'aarch64-unknown-linux-gnu:neoverse-v1'
layouts:
  - value: y
    order: [ 0, 2, 3, 1 ]
kernels:
  - kernel: argument0.pixels
    class: reorder
    ops: [ argument0.pixels ]
    schedule: { tile: 4, run: 64, along_inner: 0, grain: 1 }
  - kernel: y
    class: spatial_pack
    ops: [ y ]
    schedule: { tile_w: 3, tile_o: 2, groups: 2, tile_i: 2, unroll_w: 1, load_ahead: 0, rows_outer: 1, task_h: 4, task_n: 4 }
  - kernel: y.rows
    class: reorder
    ops: [ y.rows ]
    schedule: { tile: 4, run: 64, along_inner: 0, grain: 1 }

//--- pairs.mlir
// CHECK-LABEL: func @Conv_y.
// CHECK: scf.for {{.*}} step %c3_i64
// CHECK: llvm.load {{.*}} -> vector<4xf32>
// CHECK: vector.shuffle {{.*}} [0, 0, 2, 2] : vector<4xf32>
// CHECK: vector.shuffle {{.*}} [1, 1, 3, 3] : vector<4xf32>
// CHECK-COUNT-6: llvm.intr.fmuladd{{.*}} : (vector<4xf32>
// CHECK-COUNT-3: llvm.store {{.*}} : vector<4xf32>
// CHECK: return
func.func @main(%x: tensor<1x16x6x11xf32>) -> tensor<1x16x4x9xf32> {
  %n = graph.None
  %w = graph.Constant dense<2.0> : tensor<16x2x3x3xf32> as tensor<16x2x3x3xf32>
  %0 = graph.Conv(%x, %w, %n) {graph.name = "y", graph.algorithm = "grouped_spatial_pack", group = 8 : i64} : (tensor<1x16x6x11xf32>, tensor<16x2x3x3xf32>, none) -> tensor<1x16x4x9xf32>
  return %0 : tensor<1x16x4x9xf32>
}
