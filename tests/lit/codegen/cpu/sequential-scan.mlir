// Running sums go along their axis in order, other axes are tasks.
// RUN: fathom-opt --emit-loops=target=neoverse-n1 --canonicalize --cse --split-input-file %s | FileCheck %s

// CHECK-LABEL: func @CumSum_CumSum.0(
// CHECK: scf.for %[[ROW:.*]] = %c0_i64 to %c3_i64
// CHECK: scf.for %[[I:.*]] = %c0_i64 to %c5_i64 {{.*}} iter_args(%[[SUM:.*]] = %cst)
// CHECK: %[[X:.*]] = llvm.load
// CHECK: %[[NEXT:.*]] = arith.addf %[[SUM]], %[[X]]
// CHECK: llvm.store %[[NEXT]]
// CHECK: scf.yield %[[NEXT]]
func.func @main(%x: tensor<3x5xf32>) -> tensor<3x5xf32> {
  %axis = graph.Constant dense<1> : tensor<i64> as tensor<i64>
  %0 = graph.CumSum(%x, %axis) : (tensor<3x5xf32>, tensor<i64>) -> tensor<3x5xf32>
  return %0 : tensor<3x5xf32>
}

// -----

// From the last to the first, each without itself.
// CHECK-LABEL: func @CumSum_CumSum.0(
// CHECK: scf.for %[[I:.*]] = %c0_i64 to %c5_i64 {{.*}} iter_args(%[[SUM:.*]] = %cst)
// CHECK: arith.subi %c4_i64, %[[I]]
// CHECK: %[[NEXT:.*]] = arith.addf %[[SUM]]
// CHECK: llvm.store %[[SUM]]
// CHECK: scf.yield %[[NEXT]]
func.func @main(%x: tensor<3x5xf32>) -> tensor<3x5xf32> {
  %axis = graph.Constant dense<1> : tensor<i64> as tensor<i64>
  %0 = graph.CumSum(%x, %axis) {exclusive = 1 : i64, reverse = 1 : i64} : (tensor<3x5xf32>, tensor<i64>) -> tensor<3x5xf32>
  return %0 : tensor<3x5xf32>
}

// -----

// An axis that comes with the data is checked, and code for every axis is there. Along others than the innermost, rows
// side by side are summed together.
// CHECK-LABEL: func @CumSum_CumSum.0(
// CHECK: %[[OUTSIDE:.*]] = arith.cmpi uge, %{{.*}}, %c2_i64
// CHECK: scf.if %[[OUTSIDE]]
// CHECK: %[[AXIS:.*]] = arith.select %[[OUTSIDE]], %c0_i64
// CHECK: arith.cmpi eq, %[[AXIS]], %c0_i64
// CHECK: scf.for {{.*}} to %c3_i64 {{.*}} iter_args({{.*}}) -> (vector<4xf32>)
// CHECK: scf.for {{.*}} to %c3_i64 {{.*}} iter_args({{.*}}) -> (f32)
// CHECK: arith.cmpi eq, %[[AXIS]], %c1_i64
// CHECK: scf.for {{.*}} to %c3_i64
// CHECK: scf.for {{.*}} to %c5_i64 {{.*}} iter_args
func.func @main(%x: tensor<3x5xf32>, %axis: tensor<i64>) -> tensor<3x5xf32> {
  %0 = graph.CumSum(%x, %axis) : (tensor<3x5xf32>, tensor<i64>) -> tensor<3x5xf32>
  return %0 : tensor<3x5xf32>
}
