// Rows that pass a panel fetch the next one meanwhile, where the schedule says so.
// RUN: split-file %s %t
// RUN: fathom-opt --emit-loops --target=neoverse-n1 --plan=%t/plan --canonicalize --cse %t/many.mlir | FileCheck %t/many.mlir
// RUN: fathom-opt --emit-loops --target=neoverse-n1 --plan=%t/none --canonicalize --cse %t/many.mlir | FileCheck %t/many.mlir --check-prefix=NONE
// RUN: not fathom-opt --emit-loops --target=neoverse-n1 --plan=%t/plan %t/one.mlir 2>&1 | FileCheck %t/one.mlir

//--- plan
fathom-plan: 1
target: 'aarch64-unknown-linux-gnu:neoverse-n1'
kernels:
  - kernel: p
    class: contract
    ops: [ p ]
    schedule: { tile_m: 8, tile_n: 12, unroll_k: 8, in_flight: 8, load_ahead: 24, pack_a: 1, block_k: 64, rows_outer: 0, through_scratch: 0, streams: 1, fetch_ahead: 1, task_m: 24, task_n: 3 }

//--- none
fathom-plan: 1
target: 'aarch64-unknown-linux-gnu:neoverse-n1'
kernels:
  - kernel: p
    class: contract
    ops: [ p ]
    schedule: { tile_m: 8, tile_n: 12, unroll_k: 8, in_flight: 8, load_ahead: 24, pack_a: 1, block_k: 64, rows_outer: 0, through_scratch: 0, streams: 1, fetch_ahead: 0, task_m: 24, task_n: 3 }

//--- many.mlir
// Three tiles of rows share a panel of 12 columns, 4 each for every step: 32 floats in 8 steps, two cache lines.
// CHECK-LABEL: func @MatMul_p.0(
// CHECK: llvm.inline_asm
// CHECK-SAME: {{\\0A1:\\0Aprfm pldl2keep, \[\$[0-9]+, #0\]\\0Aprfm pldl2keep, \[\$[0-9]+, #64\]\\0Asubs}}
// CHECK-COUNT-192: fmla
// CHECK-SAME: b.ne 1b
// NONE-LABEL: func @MatMul_p.0(
// NONE-NOT: prfm
func.func @main(%x: tensor<24x64xf32>) -> tensor<24x36xf32> {
  %w = graph.Constant dense<2.0> : tensor<64x36xf32> as tensor<64x36xf32>
  %0 = graph.MatMul(%x, %w) {graph.name = "p"} : (tensor<24x64xf32>, tensor<64x36xf32>) -> tensor<24x36xf32>
  return %0 : tensor<24x36xf32>
}

//--- one.mlir
// One tile of rows passes every panel once, as one stream: nothing to fetch ahead.
// CHECK: fetch_ahead must be 0: it takes several tiles of rows that pass a panel
func.func @main(%x: tensor<8x64xf32>) -> tensor<8x36xf32> {
  %w = graph.Constant dense<2.0> : tensor<64x36xf32> as tensor<64x36xf32>
  %0 = graph.MatMul(%x, %w) {graph.name = "p"} : (tensor<8x64xf32>, tensor<64x36xf32>) -> tensor<8x36xf32>
  return %0 : tensor<8x36xf32>
}
