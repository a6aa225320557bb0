// Slices: indices that count from the end, run past it, go backwards or depend on symbols.
// RUN: fathom-opt %s --mlir-very-unsafe-disable-verifier-on-parsing --infer-shapes | FileCheck %s

!s = tensor<?xf32, #graph.enc<shape = ()[s0] -> (s0)>>

// A slice that needs a symbol in a range narrows it: 512 positions serve at most 512 tokens, and without its first two and its
// last element a sequence has at least three.
// CHECK: graph.symbols = [{max = 512 : i64, min = 3 : i64, name = "seq"}]
module attributes {graph.symbols = [{name = "seq", min = 3, max = 2147483647}]} {

// CHECK-LABEL: @static
func.func @static(%x: tensor<10xf32>, %m: tensor<4x6xf32>) {
  %none = graph.None
  %0 = graph.Constant dense<0> : tensor<1xi64> as tensor<1xi64>
  %1 = graph.Constant dense<1> : tensor<1xi64> as tensor<1xi64>
  %3 = graph.Constant dense<3> : tensor<1xi64> as tensor<1xi64>
  %8 = graph.Constant dense<8> : tensor<1xi64> as tensor<1xi64>
  %last = graph.Constant dense<-1> : tensor<1xi64> as tensor<1xi64>
  %max = graph.Constant dense<9223372036854775807> : tensor<1xi64> as tensor<1xi64>
  %min = graph.Constant dense<-9223372036854775808> : tensor<1xi64> as tensor<1xi64>
  // CHECK: graph.Slice{{.*}} -> tensor<3xf32>
  %a = graph.Slice(%x, %0, %8, %none, %3) : (tensor<10xf32>, tensor<1xi64>, tensor<1xi64>, none, tensor<1xi64>) -> tensor<f32>
  // CHECK: graph.Slice{{.*}} -> tensor<9xf32>
  %b = graph.Slice(%x, %1, %max, %0, %none) : (tensor<10xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, none) -> tensor<f32>
  // CHECK: graph.Slice{{.*}} -> tensor<10xf32>
  %c = graph.Slice(%x, %last, %min, %none, %last) : (tensor<10xf32>, tensor<1xi64>, tensor<1xi64>, none, tensor<1xi64>) -> tensor<f32>
  // CHECK: graph.Slice{{.*}} -> tensor<0xf32>
  %d = graph.Slice(%x, %8, %3, %none, %none) : (tensor<10xf32>, tensor<1xi64>, tensor<1xi64>, none, none) -> tensor<f32>
  // CHECK: graph.Slice{{.*}} -> tensor<4x5xf32>
  %e = graph.Slice(%m, %0, %last, %last, %none) : (tensor<4x6xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, none) -> tensor<f32>
  return
}

// CHECK-LABEL: @symbolic
func.func @symbolic(%x: !s, %positions: tensor<512xf32>) {
  %none = graph.None
  %0 = graph.Constant dense<0> : tensor<1xi64> as tensor<1xi64>
  %1 = graph.Constant dense<1> : tensor<1xi64> as tensor<1xi64>
  %2 = graph.Constant dense<2> : tensor<1xi64> as tensor<1xi64>
  %last = graph.Constant dense<-1> : tensor<1xi64> as tensor<1xi64>
  %max = graph.Constant dense<9223372036854775807> : tensor<1xi64> as tensor<1xi64>
  %seq = graph.Shape(%x) : (!s) -> tensor<1xi64>
  // CHECK: graph.Slice{{.*}} -> tensor<1xf32>
  %a = graph.Slice(%x, %0, %1, %none, %none) : (!s, tensor<1xi64>, tensor<1xi64>, none, none) -> tensor<f32>
  // CHECK: graph.Slice{{.*}} -> tensor<?xf32, #graph.enc<shape = ()[s0] -> (s0 - 1)>>
  %b = graph.Slice(%x, %1, %max, %none, %none) : (!s, tensor<1xi64>, tensor<1xi64>, none, none) -> tensor<f32>
  // CHECK: graph.Slice{{.*}} -> tensor<?xf32, #graph.enc<shape = ()[s0] -> ((s0 + 1) floordiv 2)>>
  %c = graph.Slice(%x, %0, %max, %none, %2) : (!s, tensor<1xi64>, tensor<1xi64>, none, tensor<1xi64>) -> tensor<f32>
  // CHECK: graph.Slice{{.*}} -> tensor<?xf32, #graph.enc<shape = ()[s0] -> (s0 - 3)>>
  %d = graph.Slice(%x, %2, %last, %none, %none) : (!s, tensor<1xi64>, tensor<1xi64>, none, none) -> tensor<f32>
  // CHECK: graph.Slice{{.*}} -> tensor<?xf32, #graph.enc<shape = ()[s0] -> (s0)>>
  %e = graph.Slice(%positions, %0, %seq, %none, %none) : (tensor<512xf32>, tensor<1xi64>, tensor<1xi64>, none, none) -> tensor<f32>
  return
}
}
