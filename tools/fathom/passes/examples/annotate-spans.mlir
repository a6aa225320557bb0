// with places
func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {
  %a = graph.Exp(%x) : (tensor<3xf32>) -> tensor<3xf32> loc("node")
  return %a : tensor<3xf32> loc("return")
}
