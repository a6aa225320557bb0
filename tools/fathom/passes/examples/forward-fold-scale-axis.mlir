func.func @main(%x: tensor<1x3x5x5xf32>) -> tensor<1x4x5x5xf32> {
  %n = graph.None
  %w = graph.Constant dense<2.0> : tensor<4x3x1x1xf32> as tensor<4x3x1x1xf32>
  %s = graph.Constant dense<3.0> : tensor<4x1x1xf32> as tensor<4x1x1xf32>
  %c = graph.Conv(%x, %w, %n) : (tensor<1x3x5x5xf32>, tensor<4x3x1x1xf32>, none) -> tensor<1x4x5x5xf32>
  %m = graph.Mul(%c, %s) : (tensor<1x4x5x5xf32>, tensor<4x1x1xf32>) -> tensor<1x4x5x5xf32>
  return %m : tensor<1x4x5x5xf32>
}
