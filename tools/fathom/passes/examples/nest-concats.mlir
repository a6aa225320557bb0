func.func @main(%a: tensor<1x2xf32>, %b: tensor<1x3xf32>, %c: tensor<1x4xf32>) -> (tensor<1x5xf32>, tensor<1x9xf32>) {
  %0 = graph.Concat(%a, %b) {axis = 1 : i64} : (tensor<1x2xf32>, tensor<1x3xf32>) -> tensor<1x5xf32>
  %1 = graph.Concat(%a, %b, %c) {axis = 1 : i64} : (tensor<1x2xf32>, tensor<1x3xf32>, tensor<1x4xf32>) -> tensor<1x9xf32>
  return %0, %1 : tensor<1x5xf32>, tensor<1x9xf32>
}
