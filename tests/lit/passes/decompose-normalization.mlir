// RUN: fathom-opt --canonicalize-ops --split-input-file %s | FileCheck %s

// The normalisation proper has no scale that differs by channel; the last op keeps the name.
// CHECK-LABEL: func @instance(
// CHECK-DAG: %[[SCALE:.*]] = graph.Unsqueeze(%arg1, {{.*}} -> tensor<3x1x1xf32>
// CHECK-DAG: %[[BIAS:.*]] = graph.Unsqueeze(%arg2, {{.*}} -> tensor<3x1x1xf32>
// CHECK: %[[NORMAL:[a-z0-9]*]], {{.*}} = graph.LayerNormalization(%arg0, {{.*}}) {axis = 2 : i64
// CHECK: %[[SCALED:.*]] = graph.Mul(%[[NORMAL]], %[[SCALE]])
// CHECK: graph.Add(%[[SCALED]], %[[BIAS]]) {graph.name = "n"}
func.func @instance(%x: tensor<2x3x4x5xf32>, %s: tensor<3xf32>, %b: tensor<3xf32>) -> tensor<2x3x4x5xf32> {
  %0 = graph.InstanceNormalization(%x, %s, %b) {graph.name = "n"} : (tensor<2x3x4x5xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3x4x5xf32>
  return %0 : tensor<2x3x4x5xf32>
}

// -----

// A group's channels and pixels come to lie in the trailing dimensions.
// CHECK-LABEL: func @group(
// CHECK: %[[GROUPS:.*]] = graph.Reshape(%arg0, {{.*}} -> tensor<2x3x2x20xf32>
// CHECK: graph.Reshape(%arg1, {{.*}} -> tensor<3x2x1xf32>
// CHECK: graph.Reshape(%arg2, {{.*}} -> tensor<3x2x1xf32>
// CHECK: graph.LayerNormalization(%[[GROUPS]], {{.*}}) {axis = 2 : i64}
// CHECK: graph.Mul
// CHECK: %[[SHIFTED:.*]] = graph.Add
// CHECK: graph.Reshape(%[[SHIFTED]], {{.*}} -> tensor<2x6x4x5xf32>
func.func @group(%x: tensor<2x6x4x5xf32>, %s: tensor<6xf32>, %b: tensor<6xf32>) -> tensor<2x6x4x5xf32> {
  %0 = graph.GroupNormalization(%x, %s, %b) {num_groups = 3 : i64} : (tensor<2x6x4x5xf32>, tensor<6xf32>, tensor<6xf32>) -> tensor<2x6x4x5xf32>
  return %0 : tensor<2x6x4x5xf32>
}

// -----

// An even window reaches one channel further up than down; channels outside count as zeros.
// CHECK-LABEL: func @lrn(
// CHECK: %[[SQUARES:.*]] = graph.Mul(%arg0, %arg0)
// CHECK: %[[ROWS:.*]] = graph.Reshape(%[[SQUARES]], {{.*}} -> tensor<1x1x6x20xf32>
// CHECK: graph.AveragePool(%[[ROWS]]) {count_include_pad = 1 : i64, kernel_shape = array<i64: 4, 1>, pads = array<i64: 1, 0, 2, 0>}
// CHECK: graph.Mul
// CHECK: graph.Add
// CHECK: %[[POWER:.*]] = graph.Pow
// CHECK: graph.Div(%arg0, %[[POWER]])
func.func @lrn(%x: tensor<1x6x4x5xf32>) -> tensor<1x6x4x5xf32> {
  %0 = graph.LRN(%x) {size = 4 : i64, alpha = 0.5 : f32, beta = 0.75 : f32, bias = 2.0 : f32} : (tensor<1x6x4x5xf32>) -> tensor<1x6x4x5xf32>
  return %0 : tensor<1x6x4x5xf32>
}

// -----

// The first two norms are reductions of their own.
// CHECK-LABEL: func @lp_pool(
// CHECK: %[[ONE:.*]] = graph.ReduceL1(%arg0
// CHECK: %[[TWO:.*]] = graph.ReduceL2(%arg0
// CHECK: %[[ABS:.*]] = graph.Abs(%arg0)
// CHECK: %[[POWERS:.*]] = graph.Pow(%[[ABS]],
// CHECK: %[[SUM:.*]] = graph.ReduceSum(%[[POWERS]],
// CHECK: %[[THREE:.*]] = graph.Pow(%[[SUM]],
// CHECK: return %[[ONE]], %[[TWO]], %[[THREE]]
func.func @lp_pool(%x: tensor<1x3x4xf32>) -> (tensor<1x3x1xf32>, tensor<1x3x1xf32>, tensor<1x3x1xf32>) {
  %0 = graph.GlobalLpPool(%x) {p = 1 : i64} : (tensor<1x3x4xf32>) -> tensor<1x3x1xf32>
  %1 = graph.GlobalLpPool(%x) {p = 2 : i64} : (tensor<1x3x4xf32>) -> tensor<1x3x1xf32>
  %2 = graph.GlobalLpPool(%x) {p = 3 : i64} : (tensor<1x3x4xf32>) -> tensor<1x3x1xf32>
  return %0, %1, %2 : tensor<1x3x1xf32>, tensor<1x3x1xf32>, tensor<1x3x1xf32>
}

// -----

// Statistics of the batch, and running ones that keep three quarters of what they were.
// CHECK-LABEL: func @training(
// CHECK-DAG: %[[KEEP:.*]] = graph.Constant dense<7.500000e-01>
// CHECK-DAG: %[[TAKE:.*]] = graph.Constant dense<2.500000e-01>
// CHECK: %[[MEAN:.*]] = graph.ReduceMean(%arg0
// CHECK: %[[CENTERED:.*]] = graph.Sub(%arg0, %[[MEAN]])
// CHECK: %[[SQUARES:.*]] = graph.Mul(%[[CENTERED]], %[[CENTERED]])
// CHECK: %[[VARIANCE:.*]] = graph.ReduceMean(%[[SQUARES]]
// CHECK: graph.Sqrt
// CHECK: graph.Div(%[[CENTERED]],
// CHECK: %[[NOW:.*]] = graph.Squeeze(%[[MEAN]]
// CHECK: %[[KEPT:.*]] = graph.Mul(%arg1, %[[KEEP]])
// CHECK: %[[ADDED:.*]] = graph.Mul(%[[NOW]], %[[TAKE]])
// CHECK: graph.Add(%[[KEPT]], %[[ADDED]])
// CHECK: graph.Squeeze(%[[VARIANCE]]
func.func @training(%x: tensor<2x3x4xf32>, %c: tensor<3xf32>) -> (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>) {
  %0:3 = graph.BatchNormalization(%x, %c, %c, %c, %c) {training_mode = 1 : i64, momentum = 0.75 : f32} : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>)
  return %0#0, %0#1, %0#2 : tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>
}

// -----

// With fixed statistics it is left to --simplify-inference.
// CHECK-LABEL: func @inference(
// CHECK-NEXT: graph.BatchNormalization
func.func @inference(%x: tensor<2x3x4xf32>, %c: tensor<3xf32>) -> tensor<2x3x4xf32> {
  %0 = graph.BatchNormalization(%x, %c, %c, %c, %c) : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3x4xf32>
  return %0 : tensor<2x3x4xf32>
}
