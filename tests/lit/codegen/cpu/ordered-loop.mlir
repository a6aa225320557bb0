// The loop of a product in the assembler of AArch64: its loads come ahead, in an order that no later pass changes. Other
// targets, and types without such instructions, have a loop of multiply-adds that LLVM orders.
// RUN: split-file %s %t
// RUN: fathom-opt --emit-loops --target=neoverse-n1 --plan=%t/plan --canonicalize --cse %t/floats.mlir | FileCheck %t/floats.mlir
// RUN: fathom-opt --emit-loops --target=x86-64-v3 --canonicalize --cse %t/floats.mlir | FileCheck %t/floats.mlir --check-prefix=OTHER
// RUN: fathom-opt --emit-loops --target=neoverse-n1 --canonicalize --cse %t/doubles.mlir | FileCheck %t/doubles.mlir

//--- plan
fathom-plan: 1
target: 'aarch64-unknown-linux-gnu:neoverse-n1'
kernels:
  - kernel: p
    class: contract
    ops: [ p ]
    schedule: { tile_m: 2, tile_n: 8, unroll_k: 8, in_flight: 4, load_ahead: 24, pack_a: 0, block_k: 29, rows_outer: 0, through_scratch: 0, streams: 1, fetch_ahead: 0, task_m: 4, task_n: 1 }

//--- floats.mlir
// Four sums of two rows begin with zero. An iteration is eight steps of four multiply-adds; the last one, which has
// nothing to load for the next, stands apart. Of the 29 steps, five are left: four, then one.
// CHECK-LABEL: func @MatMul_p.0(
// CHECK: llvm.inline_asm has_side_effects
// CHECK-SAME: "ldr
// CHECK-SAME: \0Amovi $0.2d, #0\0Amovi $1.2d, #0\0Amovi $2.2d, #0\0Amovi $3.2d, #0\0Acbz
// CHECK-SAME: \0A1:\0Asubs
// CHECK-COUNT-32: fmla
// CHECK-SAME: b.ne 1b\0A2:\0Afmla
// CHECK-COUNT-31: fmla
// CHECK-NOT: fmla
// CHECK-SAME: ~{cc},~{memory}
// CHECK-COUNT-16: llvm.intr.fmuladd
// CHECK-COUNT-4: llvm.intr.fmuladd
// OTHER-LABEL: func @MatMul_p.0(
// OTHER-NOT: llvm.inline_asm
// OTHER: llvm.intr.fmuladd
func.func @main(%x: tensor<4x29xf32>) -> tensor<4x8xf32> {
  %w = graph.Constant dense<2.0> : tensor<29x8xf32> as tensor<29x8xf32>
  %0 = graph.MatMul(%x, %w) {graph.name = "p"} : (tensor<4x29xf32>, tensor<29x8xf32>) -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

//--- doubles.mlir
// CHECK-LABEL: func @MatMul_p.0(
// CHECK-NOT: llvm.inline_asm
// CHECK: llvm.intr.fmuladd
func.func @main(%x: tensor<4x64xf64>) -> tensor<4x8xf64> {
  %w = graph.Constant dense<2.0> : tensor<64x8xf64> as tensor<64x8xf64>
  %0 = graph.MatMul(%x, %w) {graph.name = "p"} : (tensor<4x64xf64>, tensor<64x8xf64>) -> tensor<4x8xf64>
  return %0 : tensor<4x8xf64>
}
