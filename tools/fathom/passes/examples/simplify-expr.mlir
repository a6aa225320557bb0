func.func @main(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %two = graph.Constant dense<2.0> : tensor<f32> as tensor<f32>
  %four = graph.Constant dense<4.0> : tensor<f32> as tensor<f32>
  %a = graph.Pow(%x, %two) : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
  %b = graph.Div(%a, %four) : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
  return %b : tensor<2x3xf32>
}
