// first: simplify-inference, canonicalize-ops
module attributes {graph.wrt = ["x"]} {
  func.func @main(%x: tensor<3x5xf32> {graph.name = "x"}, %w: tensor<5x2xf32> {graph.name = "w"}) -> (tensor<f32> {graph.name = "loss"}) {
    %0 = graph.MatMul(%x, %w) {graph.name = "p"} : (tensor<3x5xf32>, tensor<5x2xf32>) -> tensor<3x2xf32>
    %n = graph.None
    %1 = graph.ReduceSumSquare(%0, %n) {graph.name = "loss", keepdims = 0 : i64} : (tensor<3x2xf32>, none) -> tensor<f32>
    return %1 : tensor<f32>
  }
}
