func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {
  %a = graph.Exp(%x) : (tensor<3xf32>) -> tensor<3xf32>
  %b = graph.Exp(%x) : (tensor<3xf32>) -> tensor<3xf32>
  %c = graph.Mul(%a, %b) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  return %c : tensor<3xf32>
}
