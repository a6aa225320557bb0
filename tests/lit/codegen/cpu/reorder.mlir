// Between images with their channels innermost and such with rows: squares of elements are loaded as vectors of one, and
// stored as vectors of the other.
// RUN: fathom-opt --emit-loops --target=neoverse-n1 --canonicalize --cse --split-input-file %s | FileCheck %s --check-prefixes=CHECK,FOUR
// RUN: fathom-opt --emit-loops --target=x86-64-v3 --canonicalize --cse --split-input-file %s | FileCheck %s --check-prefixes=CHECK,EIGHT

// Sizes that do not come out even have no code of their own: their last squares overlap with those before them.
// CHECK-LABEL: func.func @Relayout_Relayout.0(
// FOUR-COUNT-4: llvm.load {{.*}} vector<4xf32>
// FOUR-COUNT-8: vector.shuffle
// FOUR-COUNT-4: llvm.store {{.*}} vector<4xf32>
// EIGHT-COUNT-8: llvm.load {{.*}} vector<8xf32>
// EIGHT-COUNT-24: vector.shuffle
// EIGHT-COUNT-8: llvm.store {{.*}} vector<8xf32>
// CHECK-NOT: llvm.load {{.*}} -> f32
// CHECK: return
func.func @main(%x: tensor<2x13x30x31xf32>) -> tensor<2x13x30x31xf32, #graph.enc<order = [0, 2, 3, 1]>> {
  %0 = graph.Relayout(%x) : (tensor<2x13x30x31xf32>) -> tensor<2x13x30x31xf32, #graph.enc<order = [0, 2, 3, 1]>>
  return %0 : tensor<2x13x30x31xf32, #graph.enc<order = [0, 2, 3, 1]>>
}

// -----

// An operand in the results' order is read as it is, beside one that is transposed.
// CHECK-LABEL: func.func @Add_Add.0(
// FOUR-COUNT-8: vector.shuffle
// EIGHT-COUNT-24: vector.shuffle
// CHECK-NOT: vector.shuffle
// FOUR: arith.addf {{.*}} vector<4xf32>
// EIGHT: arith.addf {{.*}} vector<8xf32>
func.func @main(%x: tensor<1x16x9x9xf32, #graph.enc<order = [0, 2, 3, 1]>>, %z: tensor<1x16x9x9xf32>) -> tensor<1x16x9x9xf32> {
  %0 = graph.Add(%x, %z) : (tensor<1x16x9x9xf32, #graph.enc<order = [0, 2, 3, 1]>>, tensor<1x16x9x9xf32>) -> tensor<1x16x9x9xf32>
  return %0 : tensor<1x16x9x9xf32>
}
