// A product in quarters: seven products for a pair of rows, of which nothing but the result leaves scratch.
// RUN: fathom-opt --emit-loops --target=neoverse-v1 --canonicalize --cse --split-input-file %s | FileCheck %s

// The factors: two rows of two halves for each of four pairs, seven sums of them, transposed; then the seven products,
// and four results of them.
// CHECK-LABEL: func @Strassen_y.
// CHECK: scf.for
// CHECK-COUNT-16: llvm.load {{.*}} -> vector<4xf32>
// CHECK-COUNT-28: llvm.store {{.*}} : vector<4xf32>
// CHECK: scf.for {{.*}} to %c7_i64 step %c1_i64
// CHECK: llvm.inline_asm {{.*}}fmla
// CHECK: scf.for
// CHECK-COUNT-7: llvm.load {{.*}} -> vector<4xf32>
// CHECK: return
func.func @main(%x: tensor<1x16x32xf32>) -> tensor<1x16x32xf32> {
  %n = graph.None
  %u = graph.Constant dense<2.0> : tensor<7x16x16xf32> as tensor<7x16x16xf32>
  %0 = graph.Strassen(%x, %u, %n) {graph.name = "y", axis = 2 : i64} : (tensor<1x16x32xf32>, tensor<7x16x16xf32>, none) -> tensor<1x16x32xf32>
  return %0 : tensor<1x16x32xf32>
}

// -----

// Four factors are stored: behind their products, three sums of them are brought into scratch, for those of the others.
// CHECK-LABEL: func @Strassen_z.
// CHECK: scf.for {{.*}} to %c7_i64 step %c1_i64
// CHECK: arith.cmpi eq, {{.*}}, %c4_i64
// CHECK: scf.if
// CHECK: scf.for
// CHECK-COUNT-4: llvm.load {{.*}} -> vector<4xf32>
// CHECK-COUNT-4: arith.addf
// CHECK-COUNT-3: llvm.store {{.*}} : vector<4xf32>
// CHECK: llvm.inline_asm {{.*}}fmla
// CHECK: return
func.func @main(%x: tensor<1x16x32xf32>) -> tensor<1x16x32xf32> {
  %n = graph.None
  %u = graph.Constant dense<2.0> : tensor<4x16x16xf32> as tensor<4x16x16xf32>
  %0 = graph.Strassen(%x, %u, %n) {graph.name = "z", axis = 2 : i64} : (tensor<1x16x32xf32>, tensor<4x16x16xf32>, none) -> tensor<1x16x32xf32>
  return %0 : tensor<1x16x32xf32>
}
