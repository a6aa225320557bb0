// A dimension that is 1 or as large as the result's: its index is clamped, and along the lanes one of two loads is taken.
// RUN: fathom-opt --emit-loops --target=neoverse-n1 --canonicalize --cse --split-input-file %s | FileCheck %s

!from = tensor<?x64xf32, #graph.enc<shape = ()[s0] -> (s0, 64)>>
!to = tensor<?x64xf32, #graph.enc<shape = ()[s0, s1] -> (s1, 64)>>
module attributes {graph.symbols = [{name = "a", min = 1 : i64, max = 100 : i64}, {name = "b", min = 1 : i64, max = 100 : i64}]} {
// CHECK-LABEL: func @Expand_
// CHECK: scf.for
// CHECK: scf.for
// CHECK: %[[LAST:.*]] = arith.subi %{{.*}}, %c1_i64
// CHECK: arith.minsi %{{.*}}, %[[LAST]]
// CHECK-NOT: scf.if
// CHECK: llvm.load
func.func @main(%x: !from, %y: !to) -> !to {
  %sizes = graph.Sizes affine_map<()[s0, s1] -> (s1, 64)> as tensor<2xi64>
  %0 = graph.Expand(%x, %sizes) : (!from, tensor<2xi64>) -> !to
  %1 = graph.Add(%0, %y) : (!to, !to) -> !to
  return %1 : !to
}
}

// -----

!from = tensor<4x?xf32, #graph.enc<shape = ()[s0] -> (4, s0)>>
!to = tensor<4x?xf32, #graph.enc<shape = ()[s0, s1] -> (4, s1)>>
module attributes {graph.symbols = [{name = "a", min = 1 : i64, max = 100 : i64}, {name = "b", min = 1 : i64, max = 100 : i64}]} {
// CHECK-LABEL: func @Expand_
// CHECK: %[[ISONE:.*]] = arith.cmpi eq, %{{.*}}, %c1_i64
// CHECK: scf.if %[[ISONE]] -> (vector<
// CHECK: vector.broadcast
// CHECK: } else {
// CHECK: llvm.load {{.*}} -> vector<
func.func @main(%x: !from, %y: !to) -> !to {
  %sizes = graph.Sizes affine_map<()[s0, s1] -> (4, s1)> as tensor<2xi64>
  %0 = graph.Expand(%x, %sizes) : (!from, tensor<2xi64>) -> !to
  %1 = graph.Add(%0, %y) : (!to, !to) -> !to
  return %1 : !to
}
}
