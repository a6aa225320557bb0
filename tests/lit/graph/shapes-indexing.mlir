// Shape functions of ops that gather, scatter, generate and resample.
// RUN: fathom-opt %s --mlir-very-unsafe-disable-verifier-on-parsing --infer-shapes | FileCheck %s

!bs = tensor<?x?xi64, #graph.enc<shape = ()[s0, s1] -> (s0, s1)>>

// CHECK-LABEL: @gather
func.func @gather(%table: tensor<30522x768xf32>, %ids: !bs, %x: tensor<2x3x4xf32>, %i: tensor<5xi64>, %nd: tensor<2x7x1xi64>, %p: tensor<2xf32>) {
  %one = graph.Constant dense<1> : tensor<1xi64> as tensor<1xi64>
  %k = graph.Constant dense<2> : tensor<1xi64> as tensor<1xi64>
  // CHECK: graph.Gather{{.*}} -> tensor<?x?x768xf32, #graph.enc<shape = ()[s0, s1] -> (s0, s1, 768)>>
  %0 = graph.Gather(%table, %ids) : (tensor<30522x768xf32>, !bs) -> tensor<f32>
  // CHECK: graph.Gather{{.*}} -> tensor<2x3x5xf32>
  %1 = graph.Gather(%x, %i) {axis = -1 : i64} : (tensor<2x3x4xf32>, tensor<5xi64>) -> tensor<f32>
  // CHECK: graph.GatherND{{.*}} -> tensor<2x7x4xf32>
  %2 = graph.GatherND(%x, %nd) {batch_dims = 1 : i64} : (tensor<2x3x4xf32>, tensor<2x7x1xi64>) -> tensor<f32>
  // CHECK: graph.GatherElements{{.*}} -> tensor<?x?xi64, #graph.enc<shape = ()[s0, s1] -> (s0, s1)>>
  %3 = graph.GatherElements(%ids, %ids) : (!bs, !bs) -> tensor<f32>
  // CHECK: graph.TopK{{.*}} -> (tensor<2x2x4xf32>, tensor<2x2x4xi64>)
  %4:2 = graph.TopK(%x, %k) {axis = 1 : i64} : (tensor<2x3x4xf32>, tensor<1xi64>) -> (tensor<f32>, tensor<f32>)
  // CHECK: graph.OneHot{{.*}} -> tensor<?x2x?xf32, #graph.enc<shape = ()[s0, s1] -> (s0, 2, s1)>>
  %5 = graph.OneHot(%ids, %k, %p) {axis = 1 : i64} : (!bs, tensor<1xi64>, tensor<2xf32>) -> tensor<f32>
  return
}

// CHECK-LABEL: @generated
func.func @generated(%ids: !bs) {
  %0 = graph.Constant dense<0> : tensor<i64> as tensor<i64>
  %1 = graph.Constant dense<1> : tensor<i64> as tensor<i64>
  %7 = graph.Constant dense<7> : tensor<i64> as tensor<i64>
  %back = graph.Constant dense<-2> : tensor<i64> as tensor<i64>
  %f0 = graph.Constant dense<0.0> : tensor<f32> as tensor<f32>
  %f1 = graph.Constant dense<1.0> : tensor<f32> as tensor<f32>
  %step = graph.Constant dense<0.3> : tensor<f32> as tensor<f32>
  %shape = graph.Shape(%ids) : (!bs) -> tensor<2xi64>
  %seq = graph.Gather(%shape, %1) : (tensor<2xi64>, tensor<i64>) -> tensor<i64>
  // CHECK: graph.Range{{.*}} -> tensor<?xi64, #graph.enc<shape = ()[s0, s1] -> (s1)>>
  %a = graph.Range(%0, %seq, %1) : (tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<f32>
  // CHECK: graph.Range{{.*}} -> tensor<4xi64>
  %b = graph.Range(%7, %0, %back) : (tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<f32>
  // CHECK: graph.Range{{.*}} -> tensor<0xi64>
  %c = graph.Range(%0, %7, %back) : (tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<f32>
  // CHECK: graph.Range{{.*}} -> tensor<4xf32>
  %d = graph.Range(%f0, %f1, %step) : (tensor<f32>, tensor<f32>, tensor<f32>) -> tensor<f32>
  // CHECK: graph.ConstantOfShape{{.*}} -> tensor<?x?xi1, #graph.enc<shape = ()[s0, s1] -> (s0, s1)>>
  %e = graph.ConstantOfShape(%shape) {value = dense<true> : tensor<1xi1>} : (tensor<2xi64>) -> tensor<f32>
  return
}

// CHECK-LABEL: @resized
func.func @resized(%x: tensor<1x3x10x20xf32>, %y: tensor<1x3x?x?xf32, #graph.enc<shape = ()[s0, s1] -> (1, 3, s0, s1)>>) {
  %none = graph.None
  %scales = graph.Constant dense<[1.0, 1.0, 2.0, 0.7]> : tensor<4xf32> as tensor<4xf32>
  %halves = graph.Constant dense<[2.0, 0.5]> : tensor<2xf32> as tensor<2xf32>
  %sizes = graph.Constant dense<[7, 8]> : tensor<2xi64> as tensor<2xi64>
  // CHECK: graph.Resize{{.*}} -> tensor<1x3x20x14xf32>
  %0 = graph.Resize(%x, %none, %scales, %none) : (tensor<1x3x10x20xf32>, none, tensor<4xf32>, none) -> tensor<f32>
  // CHECK: graph.Resize{{.*}} -> tensor<1x3x7x8xf32>
  %1 = graph.Resize(%x, %none, %none, %sizes) {axes = array<i64: 2, 3>} : (tensor<1x3x10x20xf32>, none, none, tensor<2xi64>) -> tensor<f32>
  // CHECK: graph.Resize{{.*}} -> tensor<1x3x4x8xf32>
  %2 = graph.Resize(%x, %none, %none, %sizes) {axes = array<i64: 2, 3>, keep_aspect_ratio_policy = "not_larger"} : (tensor<1x3x10x20xf32>, none, none, tensor<2xi64>) -> tensor<f32>
  // CHECK: graph.Resize{{.*}} -> tensor<1x3x7x14xf32>
  %3 = graph.Resize(%x, %none, %none, %sizes) {axes = array<i64: 2, 3>, keep_aspect_ratio_policy = "not_smaller"} : (tensor<1x3x10x20xf32>, none, none, tensor<2xi64>) -> tensor<f32>
  // CHECK: graph.Resize{{.*}} -> tensor<1x3x?x?xf32, #graph.enc<shape = ()[s0, s1] -> (1, 3, s0 * 2, s1 floordiv 2)>>
  %4 = graph.Resize(%y, %none, %halves, %none) {axes = array<i64: 2, 3>} : (tensor<1x3x?x?xf32, #graph.enc<shape = ()[s0, s1] -> (1, 3, s0, s1)>>, none, tensor<2xf32>, none) -> tensor<f32>
  return
}
