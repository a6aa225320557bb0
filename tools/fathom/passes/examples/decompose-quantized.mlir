func.func @main(%a: tensor<3x4xui8>, %b: tensor<4x5xi8>, %z: tensor<3x1xui8>) -> tensor<3x5xi32> {
  %n = graph.None
  %0 = graph.MatMulInteger(%a, %b, %z, %n) {graph.name = "y"} : (tensor<3x4xui8>, tensor<4x5xi8>, tensor<3x1xui8>, none) -> tensor<3x5xi32>
  return %0 : tensor<3x5xi32>
}
