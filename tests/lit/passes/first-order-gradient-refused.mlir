// RUN: fathom-opt --first-order-gradient --split-input-file --verify-diagnostics %s

module attributes {graph.wrt = ["x"]} {
  // expected-error @+2 {{[F1008] the loss 'y' is not one number}}
  // expected-note @+1 {{hint: sum:y and mean:y make one of it}}
  func.func @main(%x: tensor<3xf32> {graph.name = "x"}) -> (tensor<3xf32> {graph.name = "y"}) {
    %0 = graph.Exp(%x) {graph.name = "y"} : (tensor<3xf32>) -> tensor<3xf32>
    return %0 : tensor<3xf32>
  }
}

// -----

module attributes {graph.wrt = ["z"]} {
  // expected-error @+1 {{[F1012] there is no input 'z'}}
  func.func @main(%x: tensor<f32> {graph.name = "x"}) -> (tensor<f32> {graph.name = "y"}) {
    return %x : tensor<f32>
  }
}

// -----

module attributes {graph.wrt = ["x"]} {
  func.func @main(%x: tensor<3xi32> {graph.name = "i"}, %y: tensor<f32> {graph.name = "x"}) -> (tensor<f32> {graph.name = "y"}) {
    // expected-error @+2 {{[F3001] BitCast: there is no gradient of this operator yet}}
    // expected-note @+1 {{hint: name what gradients are to be taken of with --wrt}}
    %0 = graph.BitCast(%y) {graph.name = "b", to = f32} : (tensor<f32>) -> tensor<f32>
    return %0 : tensor<f32>
  }
}

// -----

module attributes {graph.wrt = ["x"]} {
  // expected-warning @+2 {{the loss does not change with 'x': its gradient is zero}}
  // expected-note @+1 {{hint: it is not used, or only where no small change matters}}
  func.func @main(%x: tensor<f32> {graph.name = "x"}) -> (tensor<f32> {graph.name = "y"}) {
    %0 = graph.Floor(%x) {graph.name = "y"} : (tensor<f32>) -> tensor<f32>
    return %0 : tensor<f32>
  }
}
