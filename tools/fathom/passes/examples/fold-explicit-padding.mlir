func.func @main(%x: tensor<1x3x5x5xf32>, %w: tensor<4x3x3x3xf32>) -> tensor<1x4x5x5xf32> {
  %n = graph.None
  %p = graph.Constant dense<[0, 0, 1, 1, 0, 0, 1, 1]> : tensor<8xi64> as tensor<8xi64>
  %0 = graph.Pad(%x, %p, %n, %n) : (tensor<1x3x5x5xf32>, tensor<8xi64>, none, none) -> tensor<1x3x7x7xf32>
  %1 = graph.Conv(%0, %w, %n) : (tensor<1x3x7x7xf32>, tensor<4x3x3x3xf32>, none) -> tensor<1x4x5x5xf32>
  return %1 : tensor<1x4x5x5xf32>
}
