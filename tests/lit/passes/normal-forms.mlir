// RUN: fathom-opt --to-a-normal-form --split-input-file %s | FileCheck %s
// RUN: fathom-opt --to-a-normal-form --to-graph-normal-form --split-input-file %s | FileCheck %s --check-prefix=AGAIN

// Every op has a name by a let; small constants are written out, others are weights.
// CHECK: graph.program = "fn main(x: Tensor[(3, 4), float32], weights: (Tensor[(8, 5), float32])) {\0A
// CHECK-SAME: let c = Concat(x, x, axis=-1);\0A
// CHECK-SAME: let layer_1_product = MatMul(c, weights.0, graph_name=\22layer.1/product\22);\0A
// CHECK-SAME: let s = layer_1_product + 1.5;\0A
// CHECK-SAME: (s,)
// CHECK-SAME: graph.weights = [{graph.name = "w", value = dense<2.000000e+00> : tensor<8x5xf32>}]
// CHECK: func.func private @main(tensor<3x4xf32> {graph.name = "x"}) -> (tensor<3x5xf32> {graph.name = "y"})
// AGAIN-NOT: graph.program
// AGAIN: func.func @main(%arg0: tensor<3x4xf32> {graph.name = "x"}) -> (tensor<3x5xf32> {graph.name = "y"})
// AGAIN: %[[W:.*]] = graph.Constant dense<2.000000e+00> : tensor<8x5xf32> {graph.name = "w"}
// AGAIN: %[[C:.*]] = graph.Concat(%arg0, %arg0) {axis = -1 : i64, graph.name = "c"}
// AGAIN: %[[P:.*]] = graph.MatMul(%[[C]], %[[W]]) {graph.name = "layer.1/product"}
// AGAIN: graph.Add(%[[P]], %{{.*}}) {graph.name = "s"}
func.func @main(%x: tensor<3x4xf32> {graph.name = "x"}) -> (tensor<3x5xf32> {graph.name = "y"}) {
  %w = graph.Constant dense<2.0> : tensor<8x5xf32> {graph.name = "w"} as tensor<8x5xf32>
  %k = graph.Constant dense<1.5> : tensor<f32> as tensor<f32>
  %c = graph.Concat(%x, %x) {axis = -1 : i64, graph.name = "c"} : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x8xf32>
  %p = graph.MatMul(%c, %w) {graph.name = "layer.1/product"} : (tensor<3x8xf32>, tensor<8x5xf32>) -> tensor<3x5xf32>
  %s = graph.Add(%p, %k) {graph.name = "s"} : (tensor<3x5xf32>, tensor<f32>) -> tensor<3x5xf32>
  return %s : tensor<3x5xf32>
}

// -----

// The body of a loop is a function, an operand that is absent is left out, and sizes are named.
// CHECK: fn main(m: Tensor[(), int64], x: Tensor[(n, 3), float32]) {\0A
// CHECK-SAME: let loop: Tensor[(n, 3), float32] = Loop(m, _, x, fn(x_1: Tensor[(), int64], x_2: Tensor[(), bool], x_3: Tensor[(n, 3), float32]) {\0A
// CHECK-SAME: let exp = Exp(x_3);\0A
// CHECK-SAME: (x_2, exp)
// CHECK-SAME: }, body_symbols=[], symbols=[]);\0A
// AGAIN: graph.Loop(%arg0, %{{.*}}, %arg1) as
// AGAIN: ^bb0(%{{.*}}: tensor<i64>, %[[GO:.*]]: tensor<i1>, %[[S:.*]]: tensor<?x3xf32
// AGAIN: %[[E:.*]] = graph.Exp(%[[S]])
// AGAIN: graph.Yield(%[[GO]], %[[E]]
module attributes {graph.symbols = [{name = "n", min = 1 : i64, max = 100 : i64}]} {
func.func @main(%m: tensor<i64> {graph.name = "m"}, %x: tensor<?x3xf32, #graph.enc<shape = ()[s0] -> (s0, 3)>> {graph.name = "x"}) -> tensor<?x3xf32, #graph.enc<shape = ()[s0] -> (s0, 3)>> {
  %none = graph.None
  %0 = graph.Loop(%m, %none, %x) as [[]] [[]] : (tensor<i64>, none, tensor<?x3xf32, #graph.enc<shape = ()[s0] -> (s0, 3)>>) -> tensor<?x3xf32, #graph.enc<shape = ()[s0] -> (s0, 3)>> {
  ^bb0(%i: tensor<i64>, %go: tensor<i1>, %s: tensor<?x3xf32, #graph.enc<shape = ()[s0] -> (s0, 3)>>):
    %e = graph.Exp(%s) : (tensor<?x3xf32, #graph.enc<shape = ()[s0] -> (s0, 3)>>) -> tensor<?x3xf32, #graph.enc<shape = ()[s0] -> (s0, 3)>>
    graph.Yield(%go, %e : tensor<i1>, tensor<?x3xf32, #graph.enc<shape = ()[s0] -> (s0, 3)>>)
  }
  return %0 : tensor<?x3xf32, #graph.enc<shape = ()[s0] -> (s0, 3)>>
}
}
