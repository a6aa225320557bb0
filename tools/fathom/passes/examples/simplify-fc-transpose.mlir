func.func @main(%x: tensor<3x4xf32>) -> tensor<3x5xf32> {
  %n = graph.None
  %w = graph.Constant dense<2.0> : tensor<5x4xf32> as tensor<5x4xf32>
  %0 = graph.Gemm(%x, %w, %n) {transB = 1 : i64} : (tensor<3x4xf32>, tensor<5x4xf32>, none) -> tensor<3x5xf32>
  return %0 : tensor<3x5xf32>
}
