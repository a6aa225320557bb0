func.func @main(%x: tensor<5x3xf32>) -> (tensor<5x2xf32>, tensor<5x4xf32>) {
  %v = graph.Constant dense<2.0> : tensor<3x2xf32> as tensor<3x2xf32>
  %w = graph.Constant dense<3.0> : tensor<3x4xf32> as tensor<3x4xf32>
  %p = graph.MatMul(%x, %v) : (tensor<5x3xf32>, tensor<3x2xf32>) -> tensor<5x2xf32>
  %q = graph.MatMul(%x, %w) : (tensor<5x3xf32>, tensor<3x4xf32>) -> tensor<5x4xf32>
  return %p, %q : tensor<5x2xf32>, tensor<5x4xf32>
}
