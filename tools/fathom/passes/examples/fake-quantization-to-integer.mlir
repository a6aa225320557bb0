func.func @main(%x: tensor<1x4x5x5xui8>) -> tensor<1x2x5x5xi32> {
  %n = graph.None
  %w = graph.Constant dense<1> : tensor<2x4x3x3xi8> as tensor<2x4x3x3xi8>
  %0 = graph.ConvInteger(%x, %w, %n, %n) {graph.name = "y", pads = array<i64: 1, 1, 1, 1>} : (tensor<1x4x5x5xui8>, tensor<2x4x3x3xi8>, none, none) -> tensor<1x2x5x5xi32>
  return %0 : tensor<1x2x5x5xi32>
}
