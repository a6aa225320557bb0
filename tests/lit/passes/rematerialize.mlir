// RUN: fathom-opt --rematerialize --split-input-file %s | FileCheck %s

// What costs little is computed once more behind the loss, with what is only needed for it; products are kept.
// CHECK-LABEL: func @main
// CHECK: %[[P:.*]] = graph.MatMul(%arg0, %arg1)
// CHECK: %[[S:.*]] = graph.Softplus(%[[P]])
// CHECK: %[[Q:.*]] = graph.Sin(%[[S]])
// CHECK: %[[LOSS:.*]] = graph.ReduceSum(%[[Q]]
// CHECK: %[[AGAIN:.*]] = graph.Softplus(%[[P]]) {graph.name = "s.again", graph.recomputed}
// CHECK-NEXT: %[[COS:.*]] = graph.Cos(%[[AGAIN]])
// CHECK-NEXT: return %[[LOSS]], %[[COS]]
module attributes {graph.memory_budget = 1 : i64} {
  func.func @main(%x: tensor<64x32xf32> {graph.name = "x"}, %w: tensor<32x64xf32> {graph.name = "w"}) -> (tensor<f32> {graph.name = "loss"}, tensor<64x64xf32> {graph.name = "x.gradient"}) {
    %n = graph.None
    %0 = graph.MatMul(%x, %w) {graph.name = "p"} : (tensor<64x32xf32>, tensor<32x64xf32>) -> tensor<64x64xf32>
    %1 = graph.Softplus(%0) {graph.name = "s"} : (tensor<64x64xf32>) -> tensor<64x64xf32>
    %2 = graph.Sin(%1) {graph.name = "q"} : (tensor<64x64xf32>) -> tensor<64x64xf32>
    %3 = graph.ReduceSum(%2, %n) {graph.name = "loss", keepdims = 0 : i64} : (tensor<64x64xf32>, none) -> tensor<f32>
    %4 = graph.Cos(%1) {graph.name = "c"} : (tensor<64x64xf32>) -> tensor<64x64xf32>
    return %3, %4 : tensor<f32>, tensor<64x64xf32>
  }
}

// -----

// There is room for all of it.
// CHECK-LABEL: func @main
// CHECK-NOT: recomputed
module attributes {graph.memory_budget = 1000000 : i64} {
  func.func @main(%x: tensor<64x64xf32> {graph.name = "x"}) -> (tensor<f32> {graph.name = "loss"}, tensor<64x64xf32> {graph.name = "x.gradient"}) {
    %n = graph.None
    %1 = graph.Softplus(%x) {graph.name = "s"} : (tensor<64x64xf32>) -> tensor<64x64xf32>
    %2 = graph.Sin(%1) {graph.name = "q"} : (tensor<64x64xf32>) -> tensor<64x64xf32>
    %3 = graph.ReduceSum(%2, %n) {graph.name = "loss", keepdims = 0 : i64} : (tensor<64x64xf32>, none) -> tensor<f32>
    %4 = graph.Cos(%1) {graph.name = "c"} : (tensor<64x64xf32>) -> tensor<64x64xf32>
    return %3, %4 : tensor<f32>, tensor<64x64xf32>
  }
}
