// What is added to a tile is fetched while the tile is computed: a line of 16 elements for each of its rows. The bias of
// all rows is not.
// RUN: split-file %s %t
// RUN: fathom-opt --emit-loops --target=neoverse-n1 --plan=%t/plan --canonicalize --cse %t/model.mlir | FileCheck %t/model.mlir

//--- plan
fathom-plan: 1
target: 'aarch64-unknown-linux-gnu:neoverse-n1'
kernels:
  - kernel: y
    class: contract
    ops: [ p, b, y ]
    schedule: { tile_m: 4, tile_n: 16, unroll_k: 4, in_flight: 8, load_ahead: 0, pack_a: 0, block_k: 8, rows_outer: 1, through_scratch: 0, streams: 1, fetch_ahead: 0, task_m: 40, task_n: 2 }

//--- model.mlir
// CHECK-LABEL: func @MatMul_Add_Add_y.0(
// CHECK-COUNT-4: llvm.intr.prefetch
// CHECK-NOT: llvm.intr.prefetch
// CHECK: llvm.intr.fmuladd
// CHECK-NOT: llvm.intr.prefetch
// CHECK: arith.addf
func.func @main(%x: tensor<40x8xf32>, %bias: tensor<32xf32>, %r: tensor<40x32xf32>) -> tensor<40x32xf32> {
  %w = graph.Constant dense<2.0> : tensor<8x32xf32> as tensor<8x32xf32>
  %0 = graph.MatMul(%x, %w) {graph.name = "p"} : (tensor<40x8xf32>, tensor<8x32xf32>) -> tensor<40x32xf32>
  %1 = graph.Add(%0, %bias) {graph.name = "b"} : (tensor<40x32xf32>, tensor<32xf32>) -> tensor<40x32xf32>
  %2 = graph.Add(%1, %r) {graph.name = "y"} : (tensor<40x32xf32>, tensor<40x32xf32>) -> tensor<40x32xf32>
  return %2 : tensor<40x32xf32>
}
