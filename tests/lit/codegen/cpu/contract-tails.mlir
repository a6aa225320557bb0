// Tails of a register tile: how much code there is for them.
// RUN: split-file %s %t
// RUN: fathom-opt --emit-loops --target=neoverse-n1 --plan=%t/plan --canonicalize --cse %t/shared.mlir | FileCheck %t/shared.mlir
// RUN: fathom-opt --emit-loops --target=neoverse-n1 --plan=%t/plan --canonicalize --cse %t/own.mlir | FileCheck %t/own.mlir

//--- plan
fathom-plan: 1
target: 'aarch64-unknown-linux-gnu:neoverse-n1'
kernels:
  - kernel: p
    class: contract
    ops: [ p ]
    schedule: { tile_m: 10, tile_n: 8, unroll_k: 4, in_flight: 8, load_ahead: 0, pack_a: 0, block_k: 8, rows_outer: 1, through_scratch: 0, streams: 1, fetch_ahead: 0, task_m: 40, task_n: 2 }

//--- shared.mlir
// 13 columns are a panel of 8 and one of 5, which takes as many vectors: one tile in a loop over both, and two ways to
// store it.
// CHECK-LABEL: func @MatMul_p.0(
// CHECK: scf.for {{.*}} step %c10_i64
// CHECK: scf.for %[[PANEL:.*]] = {{.*}} step %c1_i64
// CHECK-COUNT-80: llvm.intr.fmuladd{{.*}} : (vector<4xf32>
// CHECK-NOT: llvm.intr.fmuladd
// CHECK: %[[FULL:.*]] = arith.cmpi slt, %[[PANEL]], %c1_i64
// CHECK: scf.if %[[FULL]] {
// CHECK-COUNT-20: llvm.store {{.*}} : vector<4xf32>
// CHECK: } else {
// CHECK: llvm.store {{.*}} : vector<4xf32>
// CHECK: llvm.store {{.*}} : f32
// CHECK-NOT: llvm.intr.fmuladd
func.func @main(%x: tensor<40x8xf32>) -> tensor<40x13xf32> {
  %w = graph.Constant dense<2.0> : tensor<8x13xf32> as tensor<8x13xf32>
  %0 = graph.MatMul(%x, %w) {graph.name = "p"} : (tensor<40x8xf32>, tensor<8x13xf32>) -> tensor<40x13xf32>
  return %0 : tensor<40x13xf32>
}

//--- own.mlir
// 9 columns are a panel of 8 and one of 1, which has a tile of its own: a whole vector for each row, of which one element
// is stored.
// CHECK-LABEL: func @MatMul_p.0(
// CHECK-COUNT-80: llvm.intr.fmuladd{{.*}} : (vector<4xf32>
// CHECK-COUNT-20: llvm.store {{.*}} : vector<4xf32>
// CHECK-COUNT-40: llvm.intr.fmuladd{{.*}} : (vector<4xf32>
// CHECK-COUNT-10: llvm.store {{.*}} : f32
func.func @main(%x: tensor<40x8xf32>) -> tensor<40x9xf32> {
  %w = graph.Constant dense<2.0> : tensor<8x9xf32> as tensor<8x9xf32>
  %0 = graph.MatMul(%x, %w) {graph.name = "p"} : (tensor<40x8xf32>, tensor<8x9xf32>) -> tensor<40x9xf32>
  return %0 : tensor<40x9xf32>
}
