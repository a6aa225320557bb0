func.func @main(%x: tensor<1x3x4x4xf32>) -> (tensor<1x2x4x4xf32>, tensor<1x5x4x4xf32>) {
  %n = graph.None
  %v = graph.Constant dense<2.0> : tensor<2x3x1x1xf32> as tensor<2x3x1x1xf32>
  %w = graph.Constant dense<3.0> : tensor<5x3x1x1xf32> as tensor<5x3x1x1xf32>
  %c = graph.Conv(%x, %v, %n) : (tensor<1x3x4x4xf32>, tensor<2x3x1x1xf32>, none) -> tensor<1x2x4x4xf32>
  %r = graph.Relu(%c) : (tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
  %d = graph.Conv(%x, %w, %n) : (tensor<1x3x4x4xf32>, tensor<5x3x1x1xf32>, none) -> tensor<1x5x4x4xf32>
  %s = graph.Relu(%d) : (tensor<1x5x4x4xf32>) -> tensor<1x5x4x4xf32>
  return %r, %s : tensor<1x2x4x4xf32>, tensor<1x5x4x4xf32>
}
