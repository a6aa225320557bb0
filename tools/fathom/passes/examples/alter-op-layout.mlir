// first: decompose-quantized, simplify-inference, canonicalize-ops, name-ops
func.func @main(%x: tensor<1x64x112x112xf32> {graph.name = "x"}) -> (tensor<1x64x112x112xf32> {graph.name = "y"}) {
  %n = graph.None
  %w = graph.Constant dense<2.0> : tensor<64x64x3x3xf32> as tensor<64x64x3x3xf32>
  %c = graph.Conv(%x, %w, %n) {graph.name = "c", pads = array<i64: 1, 1, 1, 1>} : (tensor<1x64x112x112xf32>, tensor<64x64x3x3xf32>, none) -> tensor<1x64x112x112xf32>
  %r = graph.Relu(%c) {graph.name = "y"} : (tensor<1x64x112x112xf32>) -> tensor<1x64x112x112xf32>
  return %r : tensor<1x64x112x112xf32>
}
