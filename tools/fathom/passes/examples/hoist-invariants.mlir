func.func @main(%m: tensor<i64>, %x: tensor<2x3xf32>, %w: tensor<3x3xf32>) -> tensor<2x3xf32> {
  %none = graph.None
  %0 = graph.Loop(%m, %none, %x) as [[]] [[]] : (tensor<i64>, none, tensor<2x3xf32>) -> tensor<2x3xf32> {
  ^bb0(%i: tensor<i64>, %go: tensor<i1>, %s: tensor<2x3xf32>):
    %q = graph.Mul(%w, %w) : (tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3x3xf32>
    %p = graph.MatMul(%s, %q) : (tensor<2x3xf32>, tensor<3x3xf32>) -> tensor<2x3xf32>
    graph.Yield(%go, %p : tensor<i1>, tensor<2x3xf32>)
  }
  return %0 : tensor<2x3xf32>
}
