// RUN: fathom-opt --first-order-gradient --dead-code-elimination --split-input-file %s | FileCheck %s

// Each branch has the gradients of all that is used in any; what it computes on the way is computed again.
// CHECK-LABEL: func @main
// CHECK: graph.If(%arg1)
// CHECK: %[[G:.*]] = graph.If(%arg1) {{.*}} -> tensor<3xf32> {
// CHECK-NEXT: %[[C:.*]] = graph.Cos(%arg0)
// CHECK-NEXT: %[[T:.*]] = graph.Mul(%{{.*}}, %[[C]])
// CHECK-NEXT: graph.Yield(%[[T]]
// CHECK-NEXT: } else {
// CHECK: %[[E:.*]] = graph.Exp(%arg0)
// CHECK: %[[S:.*]] = graph.Mul(%{{.*}}, %[[E]])
// CHECK: graph.Yield(%[[S]]
// CHECK: return %{{.*}}, %[[G]]
module attributes {graph.wrt = ["x"]} {
  func.func @main(%x: tensor<3xf32> {graph.name = "x"}, %k: tensor<i1> {graph.name = "k"}) -> (tensor<f32> {graph.name = "loss"}) {
    %n = graph.None
    %0 = graph.If(%k) as[[]] {graph.name = "if"} : (tensor<i1>) -> tensor<3xf32> {
      %2 = graph.Sin(%x) {graph.name = "s"} : (tensor<3xf32>) -> tensor<3xf32>
      graph.Yield(%2 : tensor<3xf32>)
    } else {
      %2 = graph.Exp(%x) {graph.name = "e"} : (tensor<3xf32>) -> tensor<3xf32>
      graph.Yield(%2 : tensor<3xf32>)
    }
    %1 = graph.ReduceSum(%0, %n) {graph.name = "loss", keepdims = 0 : i64} : (tensor<3xf32>, none) -> tensor<f32>
    return %1 : tensor<f32>
  }
}

// -----

// The loop keeps what it carries; the one backwards reads that from the end, carries the adjoint, and sums that of the
// factor.
// CHECK-LABEL: func @main
// CHECK: %[[L:.*]]:2 = graph.Loop({{.*}} -> (tensor<3xf32>, tensor<4x3xf32>)
// CHECK: graph.Yield(%{{.*}}, %{{.*}}, %[[CARRIED:.*]] : tensor<i1>, tensor<3xf32>, tensor<3xf32>)
// CHECK: %[[B:.*]]:2 = graph.Loop({{.*}} -> (tensor<3xf32>, tensor<3xf32>)
// CHECK: ^bb0(%[[I:.*]]: tensor<i64>, %{{.*}}: tensor<i1>, %[[A:.*]]: tensor<3xf32>, %[[SUM:.*]]: tensor<3xf32>):
// CHECK: %[[LAST:.*]] = graph.Sub(%{{.*}}, %[[I]])
// CHECK: %[[STATE:.*]] = graph.Gather(%[[L]]#1, %[[LAST]])
// CHECK: %[[NEXT:.*]] = graph.Mul(%[[A]], %arg1)
// CHECK: %[[PART:.*]] = graph.Mul(%[[A]], %[[STATE]])
// CHECK: %[[MORE:.*]] = graph.Add(%[[SUM]], %[[PART]])
// CHECK: graph.Yield(%{{.*}}, %[[NEXT]], %[[MORE]]
// CHECK: return %{{.*}}, %[[B]]#0, %[[B]]#1
module attributes {graph.wrt = ["x", "w"]} {
  func.func @main(%x: tensor<3xf32> {graph.name = "x"}, %w: tensor<3xf32> {graph.name = "w"}) -> (tensor<f32> {graph.name = "loss"}) {
    %n = graph.None
    %t = graph.Constant dense<4> : tensor<i64> as tensor<i64>
    %0 = graph.Loop(%t, %n, %x) as[[]] [[]] {graph.name = "loop"} : (tensor<i64>, none, tensor<3xf32>) -> tensor<3xf32> {
    ^bb0(%i: tensor<i64>, %go: tensor<i1>, %a: tensor<3xf32>):
      %2 = graph.Mul(%a, %w) {graph.name = "m"} : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
      graph.Yield(%go, %2 : tensor<i1>, tensor<3xf32>)
    }
    %1 = graph.ReduceSum(%0, %n) {graph.name = "loss", keepdims = 0 : i64} : (tensor<3xf32>, none) -> tensor<f32>
    return %1 : tensor<f32>
  }
}
