func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {
  %a = graph.Constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32> as tensor<3xf32>
  %b = graph.Constant dense<[4.0, 5.0, 6.0]> : tensor<3xf32> as tensor<3xf32>
  %c = graph.Add(%a, %b) {graph.name = "c"} : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  %d = graph.Add(%x, %c) {graph.name = "d"} : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  return %d : tensor<3xf32>
}
