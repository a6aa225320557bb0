// Rows that become columns of panels: four by four elements are transposed in registers, the rest go one by one. Where
// columns lie side by side already, vectors are copied as they are; of three columns there is nothing to transpose.
// RUN: fathom-opt --emit-loops --target=neoverse-n1 --canonicalize --cse --split-input-file %s | FileCheck %s
// RUN: fathom-opt --emit-loops --target=x86-64-v3 --canonicalize --cse --split-input-file %s | FileCheck %s

// CHECK-LABEL: func.func @Relayout_Relayout.0(
// CHECK-COUNT-4: llvm.load {{.*}} vector<4xf32>
// CHECK-COUNT-8: vector.shuffle
// CHECK-COUNT-4: llvm.store {{.*}} vector<4xf32>
// CHECK: llvm.load {{.*}} -> f32
func.func @main(%x: tensor<2x13x30xf32>) -> tensor<2x13x30xf32, #graph.enc<order = [0, 1, 2, 1], block = 8>> {
  %0 = graph.Relayout(%x) : (tensor<2x13x30xf32>) -> tensor<2x13x30xf32, #graph.enc<order = [0, 1, 2, 1], block = 8>>
  return %0 : tensor<2x13x30xf32, #graph.enc<order = [0, 1, 2, 1], block = 8>>
}

// -----

// CHECK-LABEL: func.func @Relayout_Relayout.0(
// CHECK-NOT: vector.shuffle
// CHECK: llvm.store {{.*}} vector<
func.func @main(%x: tensor<2x30x16xf32>) -> tensor<2x30x16xf32, #graph.enc<order = [0, 2, 1, 2], block = 8>> {
  %0 = graph.Relayout(%x) : (tensor<2x30x16xf32>) -> tensor<2x30x16xf32, #graph.enc<order = [0, 2, 1, 2], block = 8>>
  return %0 : tensor<2x30x16xf32, #graph.enc<order = [0, 2, 1, 2], block = 8>>
}

// -----

// CHECK-LABEL: func.func @Relayout_Relayout.0(
// CHECK-NOT: vector.shuffle
// CHECK: return
func.func @main(%x: tensor<2x3x30xf32>) -> tensor<2x3x30xf32, #graph.enc<order = [0, 1, 2, 1], block = 8>> {
  %0 = graph.Relayout(%x) : (tensor<2x3x30xf32>) -> tensor<2x3x30xf32, #graph.enc<order = [0, 1, 2, 1], block = 8>>
  return %0 : tensor<2x3x30xf32, #graph.enc<order = [0, 1, 2, 1], block = 8>>
}
