func.func @main(%x: tensor<3xi8>) -> tensor<3xf32> {
  %a = graph.Cast(%x) {to = i32} : (tensor<3xi8>) -> tensor<3xi32>
  %b = graph.Cast(%a) {to = f32} : (tensor<3xi32>) -> tensor<3xf32>
  return %b : tensor<3xf32>
}
