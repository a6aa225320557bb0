// RUN: fathom-opt --first-order-gradient --dead-code-elimination --split-input-file %s | FileCheck %s
// example behind simplify-inference, canonicalize-ops

// A product, its slope by the result of the function, and the result's number as the adjoint of each element. Of the
// weights nothing is asked, and nothing is computed.
// CHECK-LABEL: func @main
// CHECK-SAME: -> (tensor<f32> {graph.name = "loss"}, tensor<3x5xf32> {graph.name = "x.gradient"})
// CHECK: %[[T:.*]] = graph.Tanh
// CHECK: %[[LOSS:.*]] = graph.ReduceSum
// CHECK: %[[ONE:.*]] = graph.Expand
// CHECK: graph.Mul(%[[T]], %[[T]])
// CHECK: %[[ADJOINT:.*]] = graph.Mul(%[[ONE]], %{{.*}})
// CHECK: %[[W:.*]] = graph.Transpose(%arg1)
// CHECK-NEXT: %[[G:.*]] = graph.MatMul(%[[ADJOINT]], %[[W]])
// CHECK-NEXT: return %[[LOSS]], %[[G]]
module attributes {graph.wrt = ["x"]} {
  func.func @main(%x: tensor<3x5xf32> {graph.name = "x"}, %w: tensor<5x2xf32> {graph.name = "w"}) -> (tensor<f32> {graph.name = "loss"}) {
    %0 = graph.MatMul(%x, %w) {graph.name = "p"} : (tensor<3x5xf32>, tensor<5x2xf32>) -> tensor<3x2xf32>
    %1 = graph.Tanh(%0) {graph.name = "t"} : (tensor<3x2xf32>) -> tensor<3x2xf32>
    %n = graph.None
    %2 = graph.ReduceSum(%1, %n) {graph.name = "loss", keepdims = 0 : i64} : (tensor<3x2xf32>, none) -> tensor<f32>
    return %2 : tensor<f32>
  }
}

// -----

// What was broadcast is summed: the bias over the rows of a batch of any size, in one product where it is a factor.
// CHECK-LABEL: func @main
// CHECK: %[[AXES:.*]] = graph.Constant dense<0> : tensor<1xi64>
// CHECK: %[[BIAS:.*]] = graph.ReduceSum(%{{.*}}, %[[AXES]]) {{{.*}}keepdims = 0 : i64{{.*}}} : {{.*}} -> tensor<2xf32>
// CHECK: return %{{.*}}, %[[BIAS]]
module attributes {graph.wrt = ["b"], graph.symbols = [{max = 9 : i64, min = 1 : i64, name = "n"}]} {
  func.func @main(%x: tensor<?x2xf32, #graph.enc<shape = ()[s0] -> (s0, 2)>> {graph.name = "x"}, %b: tensor<2xf32> {graph.name = "b"}) -> (tensor<f32> {graph.name = "loss"}) {
    %0 = graph.Add(%x, %b) {graph.name = "s"} : (tensor<?x2xf32, #graph.enc<shape = ()[s0] -> (s0, 2)>>, tensor<2xf32>) -> tensor<?x2xf32, #graph.enc<shape = ()[s0] -> (s0, 2)>>
    %1 = graph.Exp(%0) {graph.name = "e"} : (tensor<?x2xf32, #graph.enc<shape = ()[s0] -> (s0, 2)>>) -> tensor<?x2xf32, #graph.enc<shape = ()[s0] -> (s0, 2)>>
    %n = graph.None
    %2 = graph.ReduceSum(%1, %n) {graph.name = "loss", keepdims = 0 : i64} : (tensor<?x2xf32, #graph.enc<shape = ()[s0] -> (s0, 2)>>, none) -> tensor<f32>
    return %2 : tensor<f32>
  }
}

// -----

// Every row of a batch is multiplied by the same matrix: its gradient is one product over all of them.
// CHECK-LABEL: func @main
// CHECK-DAG: %[[X:.*]] = graph.Reshape(%arg0, {{.*}}) {{.*}} -> tensor<6x5xf32>
// CHECK-DAG: %[[A:.*]] = graph.Reshape(%{{.*}}, {{.*}}) {{.*}} -> tensor<6x7xf32>
// CHECK: %[[T:.*]] = graph.Transpose(%[[X]])
// CHECK: graph.MatMul(%[[T]], %[[A]]) {{.*}} -> tensor<5x7xf32>
// CHECK-NOT: ReduceSum
module attributes {graph.wrt = ["w"]} {
  func.func @main(%x: tensor<2x3x5xf32> {graph.name = "x"}, %w: tensor<5x7xf32> {graph.name = "w"}) -> (tensor<f32> {graph.name = "loss"}) {
    %0 = graph.MatMul(%x, %w) {graph.name = "p"} : (tensor<2x3x5xf32>, tensor<5x7xf32>) -> tensor<2x3x7xf32>
    %n = graph.None
    %1 = graph.ReduceSumSquare(%0, %n) {graph.name = "loss", keepdims = 0 : i64} : (tensor<2x3x7xf32>, none) -> tensor<f32>
    return %1 : tensor<f32>
  }
}

// -----

// Nothing is asked for.
// CHECK-LABEL: func @main
// CHECK-SAME: -> tensor<f32>
// CHECK-NEXT: graph.Exp
// CHECK-NEXT: return
module {
  func.func @main(%x: tensor<f32> {graph.name = "x"}) -> tensor<f32> {
    %0 = graph.Exp(%x) {graph.name = "loss"} : (tensor<f32>) -> tensor<f32>
    return %0 : tensor<f32>
  }
}
