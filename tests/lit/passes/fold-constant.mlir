// RUN: fathom-opt --fold-constant --split-input-file %s | FileCheck %s
// example

// Folded by kernels compiled for this machine.
// CHECK-LABEL: func @main
// CHECK: %[[C:.*]] = graph.Constant dense<[5.000000e+00, 7.000000e+00, 9.000000e+00]>
// CHECK: graph.Add(%arg0, %[[C]])
func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {
  %a = graph.Constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32> as tensor<3xf32>
  %b = graph.Constant dense<[4.0, 5.0, 6.0]> : tensor<3xf32> as tensor<3xf32>
  %c = graph.Add(%a, %b) {graph.name = "c"} : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  %d = graph.Add(%x, %c) {graph.name = "d"} : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  return %d : tensor<3xf32>
}

// -----

// A view of a constant may have a size that only the run knows: what reads it is not computed ahead.
// CHECK-LABEL: func @main
// CHECK: %[[VIEW:.*]] = graph.Reshape
// CHECK: graph.ReduceMax(%[[VIEW]]
module attributes {graph.symbols = [{name = "n", min = 0 : i64, max = 100 : i64}]} {
func.func @main(%x: tensor<?xf32, #graph.enc<shape = ()[s0] -> (s0)>>) -> tensor<1x1xf32> {
  %none = graph.None
  %c = graph.Constant dense<[2.0]> : tensor<1xf32> as tensor<1xf32>
  %n = graph.Sizes affine_map<()[s0] -> (s0, 1)> as tensor<2xi64>
  %v = graph.Reshape(%c, %n) {graph.name = "v"} : (tensor<1xf32>, tensor<2xi64>) -> tensor<?x1xf32, #graph.enc<shape = ()[s0] -> (s0, 1)>>
  %r = graph.ReduceMax(%v, %none) {graph.name = "r"} : (tensor<?x1xf32, #graph.enc<shape = ()[s0] -> (s0, 1)>>, none) -> tensor<1x1xf32>
  return %r : tensor<1x1xf32>
}
}
