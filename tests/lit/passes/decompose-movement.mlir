// RUN: fathom-opt --canonicalize-ops --split-input-file %s | FileCheck %s

// The channels hold the rows and columns of blocks in front of what stays a channel.
// CHECK-LABEL: func @depth_to_space(
// CHECK-NOT: graph.DepthToSpace
// CHECK: %[[BLOCKS:.*]] = graph.Reshape(%arg0, {{.*}} -> tensor<2x2x2x3x4x5xf32>
// CHECK: %[[MOVED:.*]] = graph.Transpose(%[[BLOCKS]]) {perm = array<i64: 0, 3, 4, 1, 5, 2>} {{.*}} -> tensor<2x3x4x2x5x2xf32>
// CHECK: graph.Reshape(%[[MOVED]], {{.*}} -> tensor<2x3x8x10xf32>
func.func @depth_to_space(%x: tensor<2x12x4x5xf32>) -> tensor<2x3x8x10xf32> {
  %0 = graph.DepthToSpace(%x) {blocksize = 2 : i64} : (tensor<2x12x4x5xf32>) -> tensor<2x3x8x10xf32>
  return %0 : tensor<2x3x8x10xf32>
}

// -----

// In the other mode, behind it.
// CHECK-LABEL: func @depth_to_space_by_columns(
// CHECK: %[[BLOCKS:.*]] = graph.Reshape(%arg0, {{.*}} -> tensor<2x3x2x2x4x5xf32>
// CHECK: graph.Transpose(%[[BLOCKS]]) {perm = array<i64: 0, 1, 4, 2, 5, 3>}
func.func @depth_to_space_by_columns(%x: tensor<2x12x4x5xf32>) -> tensor<2x3x8x10xf32> {
  %0 = graph.DepthToSpace(%x) {blocksize = 2 : i64, mode = "CRD"} : (tensor<2x12x4x5xf32>) -> tensor<2x3x8x10xf32>
  return %0 : tensor<2x3x8x10xf32>
}

// -----

// CHECK-LABEL: func @space_to_depth(
// CHECK-NOT: graph.SpaceToDepth
// CHECK: %[[BLOCKS:.*]] = graph.Reshape(%arg0, {{.*}} -> tensor<2x3x4x2x5x2xf32>
// CHECK: %[[MOVED:.*]] = graph.Transpose(%[[BLOCKS]]) {perm = array<i64: 0, 3, 5, 1, 2, 4>} {{.*}} -> tensor<2x2x2x3x4x5xf32>
// CHECK: graph.Reshape(%[[MOVED]], {{.*}} -> tensor<2x12x4x5xf32>
func.func @space_to_depth(%x: tensor<2x3x8x10xf32>) -> tensor<2x12x4x5xf32> {
  %0 = graph.SpaceToDepth(%x) {blocksize = 2 : i64} : (tensor<2x3x8x10xf32>) -> tensor<2x12x4x5xf32>
  return %0 : tensor<2x12x4x5xf32>
}

// -----

// Sizes that are known at run time are expressions over the symbols.
// CHECK-DAG: #[[$SPLIT:.*]] = affine_map<()[s0] -> (s0, 2, 2, 3, 4, 5)>
// CHECK-DAG: #[[$WHOLE:.*]] = affine_map<()[s0] -> (s0, 3, 8, 10)>
// CHECK-LABEL: func @symbolic(
// CHECK: graph.Sizes #[[$SPLIT]]
// CHECK: graph.Transpose
// CHECK: graph.Sizes #[[$WHOLE]]
func.func @symbolic(%x: tensor<?x12x4x5xf32, #graph.enc<shape = ()[s0] -> (s0, 12, 4, 5)>>) -> tensor<?x3x8x10xf32, #graph.enc<shape = ()[s0] -> (s0, 3, 8, 10)>> {
  %0 = graph.DepthToSpace(%x) {blocksize = 2 : i64} : (tensor<?x12x4x5xf32, #graph.enc<shape = ()[s0] -> (s0, 12, 4, 5)>>) -> tensor<?x3x8x10xf32, #graph.enc<shape = ()[s0] -> (s0, 3, 8, 10)>>
  return %0 : tensor<?x3x8x10xf32, #graph.enc<shape = ()[s0] -> (s0, 3, 8, 10)>>
}
