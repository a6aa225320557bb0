// Running sums: along a row the lanes of each vector by doubling the distance, other axes are tasks.
// RUN: fathom-opt --emit-loops --target=neoverse-n1 --canonicalize --cse --split-input-file %s | FileCheck %s

// Nothing but one addition is between a vector and the next; what is left of the row is added one by one.
// CHECK-LABEL: func @CumSum_CumSum.0(
// CHECK: scf.for %[[ROW:.*]] = %c0_i64 to %c3_i64
// CHECK: %[[ALL:.*]] = scf.for %[[I:.*]] = %c0_i64 to %c8_i64 step %c4_i64 iter_args(%[[BEFORE:.*]] = %[[ZERO:[a-z0-9_]+]])
// CHECK: %[[X:.*]] = llvm.load {{.*}} vector<4xf32>
// CHECK: %[[MOVED:.*]] = vector.shuffle %[[ZERO]], %[[X]] [0, 4, 5, 6]
// CHECK: %[[PAIRS:.*]] = arith.addf %[[X]], %[[MOVED]]
// CHECK: %[[FURTHER:.*]] = vector.shuffle %[[ZERO]], %[[PAIRS]] [0, 0, 4, 5]
// CHECK: %[[SUMS:.*]] = arith.addf %[[PAIRS]], %[[FURTHER]]
// CHECK: %[[LAST:.*]] = vector.extract %[[SUMS]][3]
// CHECK: %[[SPREAD:.*]] = vector.broadcast %[[LAST]]
// CHECK: arith.addf %[[BEFORE]], %[[SUMS]]
// CHECK: %[[NEXT:.*]] = arith.addf %[[BEFORE]], %[[SPREAD]]
// CHECK: scf.yield %[[NEXT]]
// CHECK: %[[START:.*]] = vector.extract %[[ALL]][0]
// CHECK: arith.addf
// CHECK: llvm.store {{.*}} : f32
func.func @main(%x: tensor<3x9xf32>) -> tensor<3x9xf32> {
  %axis = graph.Constant dense<1> : tensor<i64> as tensor<i64>
  %0 = graph.CumSum(%x, %axis) : (tensor<3x9xf32>, tensor<i64>) -> tensor<3x9xf32>
  return %0 : tensor<3x9xf32>
}

// -----

// From the last to the first, each without itself.
// CHECK-LABEL: func @CumSum_CumSum.0(
// CHECK: scf.for %[[I:.*]] = %c0_i64 to %c8_i64 step %c4_i64
// CHECK: arith.subi %c5_i64, %[[I]]
// CHECK: %[[X:.*]] = llvm.load {{.*}} vector<4xf32>
// CHECK: vector.shuffle %{{.*}}, %[[X]] [5, 6, 7, 0]
// CHECK: vector.shuffle {{.*}} [6, 7, 0, 0]
// CHECK: %[[SUMS:.*]] = arith.addf
// CHECK: vector.extract %[[SUMS]][0]
// CHECK: vector.shuffle %{{.*}}, %[[SUMS]] [5, 6, 7, 0]
func.func @main(%x: tensor<3x9xf32>) -> tensor<3x9xf32> {
  %axis = graph.Constant dense<1> : tensor<i64> as tensor<i64>
  %0 = graph.CumSum(%x, %axis) {exclusive = 1 : i64, reverse = 1 : i64} : (tensor<3x9xf32>, tensor<i64>) -> tensor<3x9xf32>
  return %0 : tensor<3x9xf32>
}

// -----

// Side by side, rows are summed up in vectors, with what is computed from the sums.
// CHECK-LABEL: func @CumSum_Relu_Relu.0(
// CHECK: scf.for {{.*}} to %c3_i64 step %c1_i64 iter_args(%[[SUM:.*]] = {{.*}}) -> (vector<{{[0-9]+}}xf32>)
// CHECK: %[[NEXT:.*]] = arith.addf %[[SUM]]
// CHECK: arith.maximumf %[[NEXT]]
// CHECK: scf.yield %[[NEXT]]
func.func @main(%x: tensor<3x32xf32>) -> tensor<3x32xf32> {
  %axis = graph.Constant dense<0> : tensor<i64> as tensor<i64>
  %0 = graph.CumSum(%x, %axis) : (tensor<3x32xf32>, tensor<i64>) -> tensor<3x32xf32>
  %1 = graph.Relu(%0) : (tensor<3x32xf32>) -> tensor<3x32xf32>
  return %1 : tensor<3x32xf32>
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
