// Shape functions of reductions and normalisations, static and symbolic.
// RUN: fathom-opt %s --mlir-very-unsafe-disable-verifier-on-parsing --infer-shapes | FileCheck %s

!bsc = tensor<?x?x768xf32, #graph.enc<shape = ()[s0, s1] -> (s0, s1, 768)>>

// CHECK-LABEL: @reduce
func.func @reduce(%x: tensor<2x3x4xf32>, %y: !bsc) {
  %none = graph.None
  %axes = graph.Constant dense<[-1, 0]> : tensor<2xi64> as tensor<2xi64>
  %empty = graph.Constant dense<> : tensor<0xi64> as tensor<0xi64>
  // CHECK: graph.ReduceMean{{.*}} -> tensor<1x3x1xf32>
  %0 = graph.ReduceMean(%x, %axes) : (tensor<2x3x4xf32>, tensor<2xi64>) -> tensor<f32>
  // CHECK: graph.ReduceMean{{.*}} -> tensor<3xf32>
  %1 = graph.ReduceMean(%x, %axes) {keepdims = 0 : i64} : (tensor<2x3x4xf32>, tensor<2xi64>) -> tensor<f32>
  // CHECK: graph.ReduceMax{{.*}} -> tensor<1x1x1xf32>
  %2 = graph.ReduceMax(%x, %empty) : (tensor<2x3x4xf32>, tensor<0xi64>) -> tensor<f32>
  // CHECK: graph.ReduceMax{{.*}} -> tensor<2x3x4xf32>
  %3 = graph.ReduceMax(%x, %empty) {noop_with_empty_axes = 1 : i64} : (tensor<2x3x4xf32>, tensor<0xi64>) -> tensor<f32>
  // CHECK: graph.ReduceSum{{.*}} -> tensor<?xf32, #graph.enc<shape = ()[s0, s1] -> (s1)>>
  %4 = graph.ReduceSum(%y, %axes) {keepdims = 0 : i64} : (!bsc, tensor<2xi64>) -> tensor<f32>
  // CHECK: graph.ArgMax{{.*}} -> tensor<?x?x1xi64, #graph.enc<shape = ()[s0, s1] -> (s0, s1, 1)>>
  %5 = graph.ArgMax(%y) {axis = -1 : i64} : (!bsc) -> tensor<f32>
  return
}

// CHECK-LABEL: @normalize
func.func @normalize(%x: !bsc, %s: tensor<768xf32>, %h: tensor<2x3x4xf16>, %t: tensor<4xf16>) {
  %none = graph.None
  // CHECK: graph.LayerNormalization{{.*}} -> (tensor<?x?x768xf32, #graph.enc<shape = ()[s0, s1] -> (s0, s1, 768)>>, tensor<?x?x1xf32, #graph.enc<shape = ()[s0, s1] -> (s0, s1, 1)>>, tensor<?x?x1xf32, #graph.enc<shape = ()[s0, s1] -> (s0, s1, 1)>>)
  %0:3 = graph.LayerNormalization(%x, %s, %s) : (!bsc, tensor<768xf32>, tensor<768xf32>) -> (tensor<f32>, tensor<f32>, tensor<f32>)
  // The statistics are computed in single precision.
  // CHECK: graph.LayerNormalization{{.*}} -> (tensor<2x3x4xf16>, tensor<2x1x1xf32>, tensor<2x1x1xf32>)
  %1:3 = graph.LayerNormalization(%h, %t, %none) {axis = 1 : i64} : (tensor<2x3x4xf16>, tensor<4xf16>, none) -> (tensor<f32>, tensor<f32>, tensor<f32>)
  // CHECK: graph.RMSNormalization{{.*}} -> tensor<?x?x768xf32, #graph.enc<shape = ()[s0, s1] -> (s0, s1, 768)>>
  %2 = graph.RMSNormalization(%x, %s) : (!bsc, tensor<768xf32>) -> tensor<f32>
  // CHECK: graph.Softmax{{.*}} -> tensor<?x?x768xf32, #graph.enc<shape = ()[s0, s1] -> (s0, s1, 768)>>
  %3 = graph.Softmax(%x) : (!bsc) -> tensor<f32>
  return
}
