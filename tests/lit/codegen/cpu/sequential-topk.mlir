// The best elements of a row: a heap of k entries in the result with the worst on top, sorted in place at the end.
// RUN: fathom-opt --emit-loops --target=neoverse-n1 --canonicalize --cse --split-input-file %s | FileCheck %s

// The first k elements make the heap; a later one that is better than the worst takes its place.
// CHECK-LABEL: func @TopK_TopK.0(
// CHECK-SAME: %[[X:arg0]]: {{.*}}, %[[VALUES:arg1]]: {{.*}}, %[[INDICES:arg2]]:
// CHECK: scf.for {{.*}} to %c3_i64
// CHECK: scf.for %[[FIRST:.*]] = %c0_i64 to %c2_i64
// CHECK: llvm.store {{.*}} : f32
// CHECK: llvm.store %[[FIRST]], {{.*}} : i64
// CHECK: scf.while
// CHECK: scf.for %[[I:.*]] = %c2_i64 to %c5_i64
// CHECK: arith.cmpf ord
// CHECK: scf.while
// CHECK: llvm.store %[[I]], {{.*}} : i64
// Of equal elements the one with the lower index comes first, when the heap is sorted too.
// CHECK: scf.while
// CHECK: arith.cmpi sgt
func.func @main(%x: tensor<3x5xf32>) -> (tensor<3x2xf32>, tensor<3x2xi64>) {
  %k = graph.Constant dense<2> : tensor<1xi64> as tensor<1xi64>
  %values, %indices = graph.TopK(%x, %k) : (tensor<3x5xf32>, tensor<1xi64>) -> (tensor<3x2xf32>, tensor<3x2xi64>)
  return %values, %indices : tensor<3x2xf32>, tensor<3x2xi64>
}

// -----

// Where nobody reads the values, the indices are the heap, and the smallest are what is asked for.
// CHECK-LABEL: func @TopK_TopK.0(
// CHECK-SAME: %[[X:arg0]]: {{.*}}, %[[INDICES:arg1]]:
// CHECK: scf.while
// CHECK: %[[P:.*]] = llvm.getelementptr inbounds %[[INDICES]]
// CHECK: llvm.load %[[P]]
// CHECK: %[[Q:.*]] = llvm.getelementptr inbounds %[[X]]
// CHECK: llvm.load %[[Q]]
// CHECK: arith.cmpi slt, {{.*}} : i32
func.func @main(%x: tensor<3x5xi32>) -> tensor<3x2xi64> {
  %k = graph.Constant dense<2> : tensor<1xi64> as tensor<1xi64>
  %values, %indices = graph.TopK(%x, %k) {largest = 0 : i64} : (tensor<3x5xi32>, tensor<1xi64>) -> (tensor<3x2xi32>, tensor<3x2xi64>)
  return %indices : tensor<3x2xi64>
}
