func.func @main(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %a = graph.Gelu(%x) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %b = graph.Softmax(%a) {axis = -1 : i64} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return %b : tensor<4x8xf32>
}
