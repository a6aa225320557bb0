// Branches, loops and ops whose sizes data decides, in their text form: read, printed and read again.
// RUN: fathom-opt %s -split-input-file | fathom-opt -split-input-file | FileCheck %s
// RUN: fathom-opt %s -split-input-file -mlir-print-op-generic | fathom-opt -split-input-file | FileCheck %s

#row = #graph.enc<shape = ()[s0, s1] -> (s1, 3)>
#count = #graph.enc<shape = ()[s0, s1] -> (2, s1)>
// CHECK: graph.symbols = [{{.*}}name = "n"}, {computed, {{.*}}name = "count"}]
module attributes {graph.symbols = [{max = 64 : i64, min = 1 : i64, name = "n"}, {computed, max = 2147483647 : i64, min = 0 : i64, name = "count"}]} {
  // CHECK-LABEL: @pin
  func.func @pin(%x: tensor<4x3xf32>, %n: tensor<2xi64>, %from: tensor<1xi64>) -> tensor<?x3xf32, #row> {
    // CHECK: graph.Pin(%{{.*}}) {{\[\[}}1]] as{{\[\[}}1]] : tensor<2xi64>
    graph.Pin(%n)[[1]] as [[1]] : tensor<2xi64>
    // CHECK: graph.Assert #
    graph.Assert affine_map<()[s0, s1] -> (s0 - s1, -s1 + 4)>
    %sizes = graph.Sizes affine_map<()[s0, s1] -> (s1)> as tensor<1xi64>
    // CHECK: graph.DynamicSlice(%{{.*}}, %{{.*}}, %{{.*}}) {axes = array<i64: 0>, steps = array<i64: 1>}
    %0 = graph.DynamicSlice(%x, %from, %sizes) {axes = array<i64: 0>, steps = array<i64: 1>} : (tensor<4x3xf32>, tensor<1xi64>, tensor<1xi64>) -> tensor<?x3xf32, #row>
    return %0 : tensor<?x3xf32, #row>
  }

  // CHECK-LABEL: @nonzero
  func.func @nonzero(%x: tensor<5x7xf32>, %n: tensor<i64>) -> tensor<2x?xi64, #count> {
    graph.Pin(%n)[[0]] as [[1]] : tensor<i64>
    %sizes = graph.Sizes affine_map<()[s0, s1] -> (s1)> as tensor<i64>
    // CHECK: graph.NonZero(
    %0 = graph.NonZero(%x, %sizes) : (tensor<5x7xf32>, tensor<i64>) -> tensor<2x?xi64, #count>
    return %0 : tensor<2x?xi64, #count>
  }

  // CHECK-LABEL: @branch
  func.func @branch(%c: tensor<i1>, %x: tensor<2x3xf32>, %y: tensor<5x3xf32>) -> tensor<?x3xf32, #row> {
    // CHECK: graph.If(%{{.*}}) as{{\[\[}}1]] : (tensor<i1>) -> tensor<?x3xf32
    %0 = graph.If(%c) as [[1]] : (tensor<i1>) -> tensor<?x3xf32, #row> {
      // CHECK: graph.Yield(%{{.*}} : tensor<2x3xf32>)
      graph.Yield(%x : tensor<2x3xf32>)
    // CHECK: else
    } else {
      graph.Yield(%y : tensor<5x3xf32>)
    }
    return %0 : tensor<?x3xf32, #row>
  }

  // CHECK-LABEL: @loop
  func.func @loop(%m: tensor<i64>, %x: tensor<3xf32>) -> (tensor<3xf32>, tensor<?x3xf32, #row>) {
    %none = graph.None
    // CHECK: graph.Loop(%{{.*}}, %{{.*}}, %{{.*}}) as{{\[\[}}]] {{\[\[}}1]] : (tensor<i64>, none, tensor<3xf32>) -> (tensor<3xf32>, tensor<?x3xf32
    %0:2 = graph.Loop(%m, %none, %x) as [[]] [[1]] : (tensor<i64>, none, tensor<3xf32>) -> (tensor<3xf32>, tensor<?x3xf32, #row>) {
    ^bb0(%i: tensor<i64>, %go: tensor<i1>, %s: tensor<3xf32>):
      %next = graph.Relu(%s) : (tensor<3xf32>) -> tensor<3xf32>
      graph.Yield(%go, %next, %s : tensor<i1>, tensor<3xf32>, tensor<3xf32>)
    }
    return %0#0, %0#1 : tensor<3xf32>, tensor<?x3xf32, #row>
  }

  // CHECK-LABEL: @select
  func.func @select(%boxes: tensor<1x9x4xf32>, %scores: tensor<1x2x9xf32>, %order: tensor<1x2x9xi64>, %most: tensor<i64>, %cache: tensor<2x8x3xf32>, %new: tensor<2x1x3xf32>, %at: tensor<2xi64>) {
    %none = graph.None
    // CHECK: graph.NonMaxSuppression(
    %0:2 = graph.NonMaxSuppression(%boxes, %scores, %order, %most, %none, %none) : (tensor<1x9x4xf32>, tensor<1x2x9xf32>, tensor<1x2x9xi64>, tensor<i64>, none, none) -> (tensor<1x2x9x3xi64>, tensor<1x2xi64>)
    // CHECK: graph.Unique(
    %1:4 = graph.Unique(%at) : (tensor<2xi64>) -> (tensor<2xi64>, tensor<2xi64>, tensor<2xi64>, tensor<1xi64>)
    // CHECK: graph.TensorScatter(
    %2 = graph.TensorScatter(%cache, %new, %at) : (tensor<2x8x3xf32>, tensor<2x1x3xf32>, tensor<2xi64>) -> tensor<2x8x3xf32>
    return
  }
}
