// The best elements of a row, by insertion into a list that lies in the result.
// RUN: fathom-opt --emit-loops=target=neoverse-n1 --canonicalize --cse --split-input-file %s | FileCheck %s

// Only a strictly better element moves others, so that the first of equal ones stays in front.
// CHECK-LABEL: func @TopK_TopK.0(
// CHECK-SAME: %[[X:arg0]]: {{.*}}, %[[VALUES:arg1]]: {{.*}}, %[[INDICES:arg2]]:
// CHECK: scf.for {{.*}} to %c3_i64
// CHECK: scf.for %[[I:.*]] = %c0_i64 to %c5_i64
// CHECK: %[[NEW:.*]] = llvm.load
// CHECK: arith.minsi %[[I]], %c2_i64
// CHECK: scf.while
// CHECK: llvm.getelementptr inbounds %[[VALUES]]
// CHECK: %[[LISTED:.*]] = llvm.load
// CHECK: arith.cmpf ogt, %[[NEW]], %[[LISTED]]
// CHECK: } do {
// CHECK: llvm.store
// CHECK: llvm.store
// CHECK: scf.yield
// CHECK: llvm.store %[[NEW]]
// CHECK: llvm.store %[[I]]
func.func @main(%x: tensor<3x5xf32>) -> (tensor<3x2xf32>, tensor<3x2xi64>) {
  %k = graph.Constant dense<2> : tensor<1xi64> as tensor<1xi64>
  %values, %indices = graph.TopK(%x, %k) : (tensor<3x5xf32>, tensor<1xi64>) -> (tensor<3x2xf32>, tensor<3x2xi64>)
  return %values, %indices : tensor<3x2xf32>, tensor<3x2xi64>
}

// -----

// Where nobody reads the values, the indices are the list, and the smallest are what is asked for.
// CHECK-LABEL: func @TopK_TopK.0(
// CHECK-SAME: %[[X:arg0]]: {{.*}}, %[[INDICES:arg1]]:
// CHECK: scf.while
// CHECK: %[[P:.*]] = llvm.getelementptr inbounds %[[INDICES]]
// CHECK: llvm.load %[[P]]
// CHECK: %[[Q:.*]] = llvm.getelementptr inbounds %[[X]]
// CHECK: %[[LISTED:.*]] = llvm.load %[[Q]]
// CHECK: arith.cmpi slt, %{{.*}}, %[[LISTED]]
func.func @main(%x: tensor<3x5xi32>) -> tensor<3x2xi64> {
  %k = graph.Constant dense<2> : tensor<1xi64> as tensor<1xi64>
  %values, %indices = graph.TopK(%x, %k) {largest = 0 : i64} : (tensor<3x5xi32>, tensor<1xi64>) -> (tensor<3x2xi32>, tensor<3x2xi64>)
  return %indices : tensor<3x2xi64>
}
