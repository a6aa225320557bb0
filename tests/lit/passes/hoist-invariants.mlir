// RUN: fathom-opt --hoist-invariants --split-input-file %s | FileCheck %s
// example

// What every iteration hands on as it is, is not carried; what depends on nothing else leaves the loop.
// CHECK-LABEL: func @carried
// CHECK-SAME: (%[[M:.*]]: tensor<i64>, %[[X:.*]]: tensor<2x3xf32>, %[[W:.*]]: tensor<3x3xf32>)
// CHECK: %[[S:.*]] = graph.Mul(%[[W]], %[[W]])
// CHECK: %[[R:.*]] = graph.Loop(%[[M]], %{{.*}}, %[[X]]) as
// CHECK: ^bb0(%{{.*}}: tensor<i64>, %[[GO:.*]]: tensor<i1>, %[[S0:.*]]: tensor<2x3xf32>):
// CHECK-NEXT: %[[P:.*]] = graph.MatMul(%[[S0]], %[[S]])
// CHECK-NEXT: graph.Yield(%[[GO]], %[[P]] : tensor<i1>, tensor<2x3xf32>)
// CHECK: return %[[R]], %[[W]]
func.func @carried(%m: tensor<i64>, %x: tensor<2x3xf32>, %w: tensor<3x3xf32>) -> (tensor<2x3xf32>, tensor<3x3xf32>) {
  %none = graph.None
  %0:2 = graph.Loop(%m, %none, %x, %w) as [[]] [[]] : (tensor<i64>, none, tensor<2x3xf32>, tensor<3x3xf32>) -> (tensor<2x3xf32>, tensor<3x3xf32>) {
  ^bb0(%i: tensor<i64>, %go: tensor<i1>, %s: tensor<2x3xf32>, %v: tensor<3x3xf32>):
    %q = graph.Mul(%v, %v) : (tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3x3xf32>
    %p = graph.MatMul(%s, %q) : (tensor<2x3xf32>, tensor<3x3xf32>) -> tensor<2x3xf32>
    graph.Yield(%go, %p, %v : tensor<i1>, tensor<2x3xf32>, tensor<3x3xf32>)
  }
  return %0#0, %0#1 : tensor<2x3xf32>, tensor<3x3xf32>
}

// -----

// A fault must not happen where there is no iteration, ...
// CHECK-LABEL: func @fault
// CHECK: graph.Loop
// CHECK: graph.Gather
func.func @fault(%m: tensor<i64>, %x: tensor<3xf32>, %w: tensor<5x3xf32>, %at: tensor<i64>) -> tensor<3xf32> {
  %none = graph.None
  %0 = graph.Loop(%m, %none, %x) as [[]] [[]] : (tensor<i64>, none, tensor<3xf32>) -> tensor<3xf32> {
  ^bb0(%i: tensor<i64>, %go: tensor<i1>, %s: tensor<3xf32>):
    %g = graph.Gather(%w, %at) : (tensor<5x3xf32>, tensor<i64>) -> tensor<3xf32>
    %p = graph.Add(%s, %g) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
    graph.Yield(%go, %p : tensor<i1>, tensor<3xf32>)
  }
  return %0 : tensor<3xf32>
}

// -----

// ... and may where there is one for sure.
// CHECK-LABEL: func @fault_at_once
// CHECK: graph.Gather
// CHECK: graph.Loop
func.func @fault_at_once(%x: tensor<3xf32>, %w: tensor<5x3xf32>, %at: tensor<i64>) -> tensor<3xf32> {
  %none = graph.None
  %m = graph.Constant dense<4> : tensor<i64> as tensor<i64>
  %0 = graph.Loop(%m, %none, %x) as [[]] [[]] : (tensor<i64>, none, tensor<3xf32>) -> tensor<3xf32> {
  ^bb0(%i: tensor<i64>, %go: tensor<i1>, %s: tensor<3xf32>):
    %g = graph.Gather(%w, %at) : (tensor<5x3xf32>, tensor<i64>) -> tensor<3xf32>
    %p = graph.Add(%s, %g) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
    graph.Yield(%go, %p : tensor<i1>, tensor<3xf32>)
  }
  return %0 : tensor<3xf32>
}

// -----

// What grows and is read by elementwise ops alone would be stored for nothing; a product reads it from memory anyway.
// CHECK-LABEL: func @growing
// CHECK: %[[T:.*]] = graph.Sub(%{{.*}}, %{{.*}}) {{.*}}-> tensor<3x3xf32>
// CHECK: graph.Loop
// CHECK: %[[E:.*]] = graph.Add(%{{.*}}, %{{.*}}) {{.*}}-> tensor<2x3xf32>
// CHECK: graph.MatMul(%{{.*}}, %[[T]])
func.func @growing(%m: tensor<i64>, %x: tensor<2x3xf32>, %row: tensor<1x3xf32>, %column: tensor<2x1xf32>, %other: tensor<3x1xf32>) -> tensor<2x3xf32> {
  %none = graph.None
  %0 = graph.Loop(%m, %none, %x) as [[]] [[]] : (tensor<i64>, none, tensor<2x3xf32>) -> tensor<2x3xf32> {
  ^bb0(%i: tensor<i64>, %go: tensor<i1>, %s: tensor<2x3xf32>):
    %e = graph.Add(%row, %column) : (tensor<1x3xf32>, tensor<2x1xf32>) -> tensor<2x3xf32>
    %t = graph.Sub(%row, %other) : (tensor<1x3xf32>, tensor<3x1xf32>) -> tensor<3x3xf32>
    %a = graph.Mul(%s, %e) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
    %p = graph.MatMul(%a, %t) : (tensor<2x3xf32>, tensor<3x3xf32>) -> tensor<2x3xf32>
    graph.Yield(%go, %p : tensor<i1>, tensor<2x3xf32>)
  }
  return %0 : tensor<2x3xf32>
}

// -----

// What the outer of two loops does not change leaves both; a size that it changes, only the inner one.
#row = #graph.enc<shape = ()[s0, s1] -> (s0, 3)>
#after = #graph.enc<shape = ()[s0, s1] -> (s1, 3)>
#next = #graph.enc<shape = ()[s0, s1] -> (s0 + 2, 3)>
module attributes {graph.symbols = [{computed, max = 2147483647 : i64, min = 0 : i64, name = "now"}, {computed, max = 2147483647 : i64, min = 0 : i64, name = "last"}]} {
  // CHECK-LABEL: func @sizes
  // CHECK: graph.Exp
  // CHECK: graph.Loop
  // CHECK: graph.Sizes
  // CHECK: graph.Loop
  func.func @sizes(%m: tensor<i64>, %x: tensor<2x3xf32>) -> tensor<?x3xf32, #after> {
    %none = graph.None
    %0 = graph.Loop(%m, %none, %x) as [[0]] [[1]] : (tensor<i64>, none, tensor<2x3xf32>) -> tensor<?x3xf32, #after> {
    ^bb0(%i: tensor<i64>, %go: tensor<i1>, %s: tensor<?x3xf32, #row>):
      %1 = graph.Loop(%m, %none, %s) as [[]] [[]] : (tensor<i64>, none, tensor<?x3xf32, #row>) -> tensor<?x3xf32, #row> {
      ^bb1(%j: tensor<i64>, %on: tensor<i1>, %t: tensor<?x3xf32, #row>):
        %e = graph.Exp(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
        %r = graph.ReduceSum(%e, %none) {keepdims = 0 : i64} : (tensor<2x3xf32>, none) -> tensor<f32>
        %n = graph.Sizes affine_map<()[s0, s1] -> (s0)> as tensor<i64>
        %f = graph.Cast(%n) {to = f32} : (tensor<i64>) -> tensor<f32>
        %u = graph.Add(%t, %r) : (tensor<?x3xf32, #row>, tensor<f32>) -> tensor<?x3xf32, #row>
        %v = graph.Add(%u, %f) : (tensor<?x3xf32, #row>, tensor<f32>) -> tensor<?x3xf32, #row>
        graph.Yield(%on, %v : tensor<i1>, tensor<?x3xf32, #row>)
      }
      %2 = graph.Concat(%1, %x) {axis = 0 : i64} : (tensor<?x3xf32, #row>, tensor<2x3xf32>) -> tensor<?x3xf32, #next>
      graph.Yield(%go, %2 : tensor<i1>, tensor<?x3xf32, #next>)
    }
    return %0 : tensor<?x3xf32, #after>
  }
}
