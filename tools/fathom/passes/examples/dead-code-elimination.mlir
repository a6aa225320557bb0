func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {
  %a = graph.Exp(%x) : (tensor<3xf32>) -> tensor<3xf32>
  %b = graph.Abs(%a) : (tensor<3xf32>) -> tensor<3xf32>
  %c = graph.Relu(%x) : (tensor<3xf32>) -> tensor<3xf32>
  return %c : tensor<3xf32>
}
