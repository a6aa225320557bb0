// Attention in one kernel: tiles of four rows by panels of eight columns. Where multiply-adds take a lane as their factor,
// a tile's rows lie side by side for every key; elsewhere a row of scores is a row.
// RUN: split-file %s %t
// RUN: fathom-opt --emit-loops --target=neoverse-v1 --plan=%t/whole --canonicalize --cse %t/attention.mlir | FileCheck %t/attention.mlir --check-prefix=WHOLE
// RUN: fathom-opt --emit-loops --target=neoverse-v1 --plan=%t/blocks --canonicalize --cse %t/attention.mlir | FileCheck %t/attention.mlir --check-prefix=BLOCKS
// RUN: fathom-opt --emit-loops --target=x86-64-v3 --canonicalize --cse %t/attention.mlir | FileCheck %t/attention.mlir --check-prefix=ROWS

//--- whole
fathom-plan: 1
target: 'aarch64-unknown-linux-gnu:neoverse-v1'
layouts: [ ]
kernels:
  - { kernel: argument1.packed, class: map, ops: [ argument1.packed ], schedule: { lanes: 4, grain: 16384 } }
  - { kernel: argument2.packed, class: map, ops: [ argument2.packed ], schedule: { lanes: 4, grain: 16384 } }
  - kernel: y
    class: attention
    ops: [ s, t, p, y ]
    schedule: { tile_m: 4, tile_n: 8, unroll_k: 4, load_ahead: 24, block_n: 40, fetch_ahead: 0, task_m: 32 }

//--- blocks
fathom-plan: 1
target: 'aarch64-unknown-linux-gnu:neoverse-v1'
layouts: [ ]
kernels:
  - { kernel: argument1.packed, class: map, ops: [ argument1.packed ], schedule: { lanes: 4, grain: 16384 } }
  - { kernel: argument2.packed, class: map, ops: [ argument2.packed ], schedule: { lanes: 4, grain: 16384 } }
  - kernel: y
    class: attention
    ops: [ s, t, p, y ]
    schedule: { tile_m: 4, tile_n: 8, unroll_k: 4, load_ahead: 24, block_n: 16, fetch_ahead: 0, task_m: 32 }

//--- attention.mlir
// Values are packed in the order of memory, by vectors that stay within a panel.
// WHOLE-LABEL: func @Relayout_argument2.packed
// WHOLE: scf.for %{{.*}} = %c0_i64 to %c33_i64
// WHOLE: scf.for %{{.*}} = %c0_i64 to %c16_i64 step %c4_i64
// WHOLE: llvm.load {{.*}} -> vector<4xf32>
// WHOLE: llvm.store {{.*}} : vector<4xf32>

// Four full panels of keys, on whose sums the scale is applied; the last key alone; the exponentials, four keys at a
// time; the values.
// WHOLE-LABEL: func @MatMul_Mul_Softmax_MatMul_
// WHOLE-DAG: %[[SCALE:.*]] = arith.constant dense<5.000000e-01> : vector<4xf32>
// WHOLE: scf.for %{{.*}} = {{.*}} step %c4_i64
// WHOLE: scf.for %{{.*}} = %c0_i64 to %c4_i64 step %c1_i64
// WHOLE: llvm.inline_asm {{.*}}movi $7.2d, #0\0A{{.*}}fmla
// WHOLE: arith.mulf {{.*}}%[[SCALE]]
// WHOLE: vector.shuffle
// WHOLE: arith.maximumf
// WHOLE: math.exp {{.*}} : vector<16xf32>
// WHOLE: arith.divf
// WHOLE: scf.for %{{.*}} = %c0_i64 to %c2_i64 step %c1_i64
// WHOLE: llvm.inline_asm {{.*}}fmla
// WHOLE-NOT: math.exp
// WHOLE: return

// All tiles of the task pass a block of keys; the factor of what lies before it is an exponential too.
// BLOCKS-LABEL: func @MatMul_Mul_Softmax_MatMul_
// BLOCKS: scf.for %{{.*}} = %c0_i64 to %c33_i64 step %c16_i64
// BLOCKS: scf.for %{{.*}} = {{.*}} step %c4_i64
// BLOCKS: arith.cmpf oeq, {{.*}} : vector<4xf32>
// BLOCKS: math.exp {{.*}} : vector<16xf32>
// BLOCKS: math.exp {{.*}} : vector<4xf32>
// BLOCKS: math.exp {{.*}} : vector<4xf32>
// BLOCKS: return

// ROWS-LABEL: func @MatMul_Mul_Softmax_MatMul_
// ROWS-NOT: vector.shuffle
// ROWS: arith.maximumf {{.*}} : vector<8xf32>
// ROWS: math.exp {{.*}} : vector<32xf32>
// ROWS: return
func.func @main(%q: tensor<2x32x12xf32>, %k: tensor<2x12x33xf32>, %v: tensor<2x33x16xf32>) -> tensor<2x32x16xf32> {
  %half = graph.Constant dense<0.5> : tensor<f32> as tensor<f32>
  %0 = graph.MatMul(%q, %k) {graph.name = "s"} : (tensor<2x32x12xf32>, tensor<2x12x33xf32>) -> tensor<2x32x33xf32>
  %1 = graph.Mul(%0, %half) {graph.name = "t"} : (tensor<2x32x33xf32>, tensor<f32>) -> tensor<2x32x33xf32>
  %2 = graph.Softmax(%1) {graph.name = "p"} : (tensor<2x32x33xf32>) -> tensor<2x32x33xf32>
  %3 = graph.MatMul(%2, %v) {graph.name = "y"} : (tensor<2x32x33xf32>, tensor<2x33x16xf32>) -> tensor<2x32x16xf32>
  return %3 : tensor<2x32x16xf32>
}
