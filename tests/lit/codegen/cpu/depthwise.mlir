// Taps outside of the image are left out: a row of windows has only those rows of the image that there are, and of a row
// of three pixels, whose width is known, seven of nine taps.
// RUN: split-file %s %t
// RUN: fathom-opt --emit-loops --target=neoverse-v1 --plan=%t/plan --canonicalize --cse %t/row.mlir | FileCheck %t/row.mlir

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
    class: depthwise
    ops: [ y ]
    schedule: { tile_w: 3, lanes: 4, block_c: 16, fetch_ahead: 0, grain: 6 }
  - kernel: y.rows
    class: reorder
    ops: [ y.rows ]
    schedule: { tile: 4, run: 64, along_inner: 0, grain: 1 }

//--- row.mlir
// CHECK-LABEL: func @Conv_y.
// CHECK: %[[FIRST:.*]] = arith.maxsi
// CHECK: %[[LAST:.*]] = arith.minsi {{.*}}, %c3_i64
// CHECK: %[[END:.*]] = arith.maxsi %[[FIRST]], %[[LAST]]
// CHECK: scf.for {{.*}} = %[[FIRST]] to %[[END]]
// CHECK-COUNT-7: llvm.intr.fmuladd{{.*}} : (vector<4xf32>
// CHECK-NOT: llvm.intr.fmuladd
// CHECK: scf.yield
// CHECK-COUNT-3: llvm.store {{.*}} : vector<4xf32>
// CHECK: return
func.func @main(%x: tensor<1x16x6x3xf32>) -> tensor<1x16x6x3xf32> {
  %n = graph.None
  %w = graph.Constant dense<2.0> : tensor<16x1x3x3xf32> as tensor<16x1x3x3xf32>
  %0 = graph.Conv(%x, %w, %n) {graph.name = "y", group = 16 : i64, pads = array<i64: 1, 1, 1, 1>} : (tensor<1x16x6x3xf32>, tensor<16x1x3x3xf32>, none) -> tensor<1x16x6x3xf32>
  return %0 : tensor<1x16x6x3xf32>
}
