// A scatter copies its input, then writes the updates in order; every index that comes with the data is checked.
// RUN: fathom-opt --emit-loops --target=neoverse-n1 --canonicalize --cse --split-input-file %s | FileCheck %s

// CHECK-LABEL: func @ScatterElements_ScatterElements.0(
// CHECK-SAME: %[[X:arg0]]: {{.*}}, %[[AT:arg1]]: {{.*}}, %[[U:arg2]]: {{.*}}, %[[Y:arg3]]:
// The copy is made in vectors.
// CHECK: scf.for {{.*}} = %c0_i64 to %c3_i64
// CHECK: %[[V:.*]] = llvm.load {{.*}} -> vector<4xf32>
// CHECK: llvm.store %[[V]]
// CHECK: scf.for %[[ROW:.*]] = %c0_i64 to %c3_i64
// CHECK: scf.for {{.*}} to %c2_i64
// CHECK: %[[P:.*]] = llvm.getelementptr inbounds %[[U]]
// CHECK: %[[UPDATE:.*]] = llvm.load %[[P]]
// CHECK: llvm.getelementptr inbounds %[[AT]]
// CHECK: %[[OUTSIDE:.*]] = arith.cmpi uge, %{{.*}}, %c5_i64
// CHECK: scf.if %[[OUTSIDE]] {
// CHECK-NEXT: llvm.store %c1_i32
// CHECK: arith.select %[[OUTSIDE]], %c0_i64
// CHECK: %[[Q:.*]] = llvm.getelementptr inbounds %[[Y]]
// CHECK: %[[OLD:.*]] = llvm.load %[[Q]]
// CHECK: %[[NEW:.*]] = arith.addf %[[OLD]], %[[UPDATE]]
// CHECK: llvm.store %[[NEW]], %[[Q]]
func.func @main(%x: tensor<3x5xf32>, %i: tensor<3x2xi64>, %u: tensor<3x2xf32>) -> tensor<3x5xf32> {
  %0 = graph.ScatterElements(%x, %i, %u) {axis = 1 : i64, reduction = "add"} : (tensor<3x5xf32>, tensor<3x2xi64>, tensor<3x2xf32>) -> tensor<3x5xf32>
  return %0 : tensor<3x5xf32>
}

// -----

// Fewer rows of indices than of data: the others are copied alone.
// CHECK-LABEL: func @ScatterElements_ScatterElements.0(
// CHECK: scf.for %[[ROW:.*]] = %c0_i64 to %c3_i64
// CHECK: %[[INSIDE:.*]] = arith.cmpi slt, %[[ROW]], %c2_i64
// CHECK: scf.if %[[INSIDE]]
// CHECK: scf.for
func.func @main(%x: tensor<3x5xf32>, %i: tensor<2x4xi64>, %u: tensor<2x4xf32>) -> tensor<3x5xf32> {
  %0 = graph.ScatterElements(%x, %i, %u) {axis = 1 : i64} : (tensor<3x5xf32>, tensor<2x4xi64>, tensor<2x4xf32>) -> tensor<3x5xf32>
  return %0 : tensor<3x5xf32>
}

// -----

// Along an outer axis a task goes over its rows together, position by position of the axis, as they lie in memory. Its
// rows are those along the axis: of 12544 there are several tasks.
// CHECK-LABEL: func @ScatterElements_ScatterElements.0(
// CHECK: %[[LOW:.*]] = arith.muli %arg4, %[[GRAIN:.*]] : i64
// CHECK: scf.for {{.*}} = %c0_i64 to %c147_i64
// CHECK: scf.for
// CHECK: llvm.store {{.*}} : vector<4xf32>
// CHECK: scf.for %[[I:.*]] = %c0_i64 to %c140_i64
// CHECK: scf.for {{.*}} {
// CHECK: scf.for %[[ROW:.*]] = {{.*}} step %c1_i64
// CHECK: llvm.getelementptr inbounds %arg2
func.func @main(%x: tensor<147x256x49xf32>, %i: tensor<140x256x49xi64>, %u: tensor<140x256x49xf32>) -> tensor<147x256x49xf32> {
  %0 = graph.ScatterElements(%x, %i, %u) {axis = 0 : i64} : (tensor<147x256x49xf32>, tensor<140x256x49xi64>, tensor<140x256x49xf32>) -> tensor<147x256x49xf32>
  return %0 : tensor<147x256x49xf32>
}

// -----

// Without a reduction the old element is not read. Updates keep their order, so that the last of equal indices wins.
// CHECK-LABEL: func @ScatterND_ScatterND.0(
// CHECK: scf.for {{.*}} to %c4_i64
// CHECK: llvm.store {{.*}} : vector<4xf32>
// CHECK: scf.for %[[TUPLE:.*]] = %c0_i64 to %c2_i64
// CHECK: arith.cmpi uge, %{{.*}}, %c4_i64
// CHECK: %[[UPDATE:.*]] = llvm.load {{.*}} -> vector<4xf32>
// CHECK-NOT: llvm.load
// CHECK: llvm.store %[[UPDATE]]
func.func @main(%x: tensor<4x5xf32>, %i: tensor<2x1xi64>, %u: tensor<2x5xf32>) -> tensor<4x5xf32> {
  %0 = graph.ScatterND(%x, %i, %u) : (tensor<4x5xf32>, tensor<2x1xi64>, tensor<2x5xf32>) -> tensor<4x5xf32>
  return %0 : tensor<4x5xf32>
}

// -----

// The maximum of integers without a sign.
// CHECK-LABEL: func @ScatterND_ScatterND.0(
// CHECK: arith.maxui
func.func @main(%x: tensor<4xui8>, %i: tensor<2x1xi64>, %u: tensor<2xui8>) -> tensor<4xui8> {
  %0 = graph.ScatterND(%x, %i, %u) {reduction = "max"} : (tensor<4xui8>, tensor<2x1xi64>, tensor<2xui8>) -> tensor<4xui8>
  return %0 : tensor<4xui8>
}
