// Shape functions of elementwise ops, static and symbolic; result types in the input are stand-ins that the pass replaces.
// RUN: fathom-opt %s --mlir-very-unsafe-disable-verifier-on-parsing --infer-shapes | FileCheck %s

!b = tensor<?xf32, #graph.enc<shape = ()[s0] -> (s0)>>
!b1 = tensor<?x1xf32, #graph.enc<shape = ()[s0] -> (s0, 1)>>
!bs = tensor<?x?xf32, #graph.enc<shape = ()[s0, s1] -> (s0, s1)>>

// CHECK-LABEL: @static
func.func @static(%x: tensor<2x1x4xf32>, %y: tensor<3x1xf32>, %s: tensor<f32>, %i: tensor<3x4xi1>, %e: tensor<0x4xf32>, %one: tensor<1x4xf32>) {
  // CHECK: graph.Add{{.*}} -> tensor<2x3x4xf32>
  %0 = graph.Add(%x, %y) : (tensor<2x1x4xf32>, tensor<3x1xf32>) -> tensor<f32>
  // CHECK: graph.Less{{.*}} -> tensor<2x1x4xi1>
  %1 = graph.Less(%x, %s) : (tensor<2x1x4xf32>, tensor<f32>) -> tensor<f32>
  // CHECK: graph.Where{{.*}} -> tensor<2x3x4xf32>
  %2 = graph.Where(%i, %x, %y) : (tensor<3x4xi1>, tensor<2x1x4xf32>, tensor<3x1xf32>) -> tensor<f32>
  // Nothing is broadcast to something: the empty tensor stays empty.
  // CHECK: graph.Mul{{.*}} -> tensor<0x4xf32>
  %3 = graph.Mul(%e, %one) : (tensor<0x4xf32>, tensor<1x4xf32>) -> tensor<f32>
  // CHECK: graph.Cast{{.*}} -> tensor<2x1x4xui16>
  %4 = graph.Cast(%x) {to = ui16} : (tensor<2x1x4xf32>) -> tensor<f32>
  // CHECK: graph.Pow{{.*}} -> tensor<2x1x4xf32>
  %5 = graph.Pow(%x, %s) : (tensor<2x1x4xf32>, tensor<f32>) -> tensor<f32>
  return
}

// CHECK-LABEL: @symbolic
func.func @symbolic(%x: !bs, %y: !b1, %f: tensor<8xf32>) {
  // CHECK: graph.Add{{.*}} -> tensor<?x?xf32, #graph.enc<shape = ()[s0, s1] -> (s0, s1)>>
  %0 = graph.Add(%x, %y) : (!bs, !b1) -> tensor<f32>
  // A constant size other than 1 decides what the symbolic one must be.
  // CHECK: graph.Sub{{.*}} -> tensor<?x8xf32, #graph.enc<shape = ()[s0] -> (s0, 8)>>
  %1 = graph.Sub(%x, %f) : (!bs, tensor<8xf32>) -> tensor<f32>
  // CHECK: graph.Greater{{.*}} -> tensor<?x?xi1, #graph.enc<shape = ()[s0, s1] -> (s0, s1)>>
  %2 = graph.Greater(%y, %x) : (!b1, !bs) -> tensor<f32>
  return
}

// CHECK-LABEL: @layout
func.func @layout(%x: tensor<2x3xf32, #graph.enc<order = [1, 0]>>, %y: tensor<3x2xf32>) {
  // An inferred type has no layout of its own; one that is there stays as long as the sizes do.
  // CHECK: graph.Relu{{.*}} -> tensor<2x3xf32>{{$}}
  %0 = graph.Relu(%x) : (tensor<2x3xf32, #graph.enc<order = [1, 0]>>) -> tensor<f32>
  // CHECK: graph.Relu{{.*}} -> tensor<2x3xf32, #graph.enc<order = [1, 0]>>{{$}}
  %1 = graph.Relu(%x) : (tensor<2x3xf32, #graph.enc<order = [1, 0]>>) -> tensor<2x3xf32, #graph.enc<order = [1, 0]>>
  // CHECK: graph.Relu{{.*}} -> tensor<3x2xf32>{{$}}
  %2 = graph.Relu(%y) : (tensor<3x2xf32>) -> tensor<2x3xf32, #graph.enc<order = [1, 0]>>
  return
}

// CHECK-LABEL: @bitcast
func.func @bitcast(%x: tensor<2x3xf32>, %y: tensor<4xf8E4M3FN>) {
  // CHECK: graph.BitCast{{.*}} -> tensor<2x3xui32>{{$}}
  %0 = graph.BitCast(%x) {to = ui32} : (tensor<2x3xf32>) -> tensor<f32>
  // What is smaller than a byte has one of its own.
  // CHECK: graph.BitCast{{.*}} -> tensor<4xui8>{{$}}
  %1 = graph.BitCast(%y) {to = ui8} : (tensor<4xf8E4M3FN>) -> tensor<f32>
  // CHECK: graph.BitCast{{.*}} -> tensor<4xi4>{{$}}
  %2 = graph.BitCast(%y) {to = i4} : (tensor<4xf8E4M3FN>) -> tensor<f32>
  return
}
