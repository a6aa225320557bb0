// RUN: fathom-opt --lift-weights --split-input-file %s | FileCheck %s

// All weights on the way to the loss become inputs; what decides about whole numbers, and numbers that no weight holds,
// stay. The cross-entropy makes an input of the labels.
// CHECK: module attributes {graph.wrt = ["w"]}
// CHECK-LABEL: func @main(
// CHECK-SAME: %arg0: tensor<4x2xf32> {graph.name = "x"}, %[[LABELS:.*]]: tensor<4xi64> {graph.name = "labels"}, %[[W:.*]]: tensor<2x3xf32> {graph.name = "w"}) -> (tensor<f32> {graph.name = "loss"})
// CHECK: graph.Constant dense<2.000000e+00> : tensor<3xf32>
// CHECK: graph.MatMul(%arg0, %[[W]])
// CHECK: graph.Equal
// CHECK: graph.LogSoftmax
// CHECK: %[[LOSS:.*]] = graph.Div
// CHECK-NEXT: return %[[LOSS]] : tensor<f32>
module attributes {graph.loss = "cross-entropy:y:labels"} {
  func.func @main(%x: tensor<4x2xf32> {graph.name = "x"}) -> (tensor<4x3xf32> {graph.name = "y"}, tensor<4x3xi64> {graph.name = "other"}) {
    %w = graph.Constant dense<1.0> : tensor<2x3xf32> {graph.name = "w"} as tensor<2x3xf32> loc("w")
    %v = graph.Constant dense<3.0> : tensor<3xf32> {graph.name = "v"} as tensor<3xf32> loc("v")
    %c = graph.Constant dense<2.0> : tensor<3xf32> {graph.name = "two"} as tensor<3xf32> loc("node")
    %0 = graph.MatMul(%x, %w) {graph.name = "p"} : (tensor<4x2xf32>, tensor<2x3xf32>) -> tensor<4x3xf32>
    %1 = graph.Mul(%0, %c) {graph.name = "y"} : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
    %2 = graph.Add(%1, %v) {graph.name = "s"} : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
    %3 = graph.Cast(%2) {graph.name = "other", to = i64} : (tensor<4x3xf32>) -> tensor<4x3xi64>
    return %1, %3 : tensor<4x3xf32>, tensor<4x3xi64>
  }
}

// -----

// What is named is taken, an input too.
// CHECK: module attributes {graph.wrt = ["x", "v"]}
// CHECK-LABEL: func @main(
// CHECK-SAME: %arg0: tensor<3xf32> {graph.name = "x"}, %arg1: tensor<3xf32> {graph.name = "v"})
// CHECK-SAME: -> (tensor<f32> {graph.name = "loss"})
module attributes {graph.loss = "mean:y", graph.wrt = ["x", "v"]} {
  func.func @main(%x: tensor<3xf32> {graph.name = "x"}) -> (tensor<3xf32> {graph.name = "y"}) {
    %v = graph.Constant dense<3.0> : tensor<3xf32> {graph.name = "v"} as tensor<3xf32> loc("v")
    %0 = graph.Mul(%x, %v) {graph.name = "y"} : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
    return %0 : tensor<3xf32>
  }
}

// -----

// With an optimizer, the running statistics of a normalisation that trains are carried.
// CHECK-LABEL: func @main(
// CHECK-SAME: %[[MEAN:[a-z0-9]*]]: tensor<3xf32> {graph.name = "mean"}, %[[VAR:[a-z0-9]*]]: tensor<3xf32> {graph.name = "var"}, %[[SCALE:[a-z0-9]*]]: tensor<3xf32> {graph.name = "scale"})
// CHECK: %[[NORMAL:.*]]:3 = graph.BatchNormalization(%arg0, %[[SCALE]], %{{.*}}, %[[MEAN]], %[[VAR]])
// CHECK: return %{{.*}}, %[[NORMAL]]#1, %[[NORMAL]]#2
module attributes {graph.loss = "sum:y", graph.wrt = ["scale"], graph.train = "sgd:lr=1"} {
  func.func @main(%x: tensor<4x3xf32> {graph.name = "x"}) -> (tensor<4x3xf32> {graph.name = "y"}) {
    %s = graph.Constant dense<1.0> : tensor<3xf32> {graph.name = "scale"} as tensor<3xf32> loc("scale")
    %b = graph.Constant dense<2.0> : tensor<3xf32> {graph.name = "bias"} as tensor<3xf32> loc("bias")
    %m = graph.Constant dense<3.0> : tensor<3xf32> {graph.name = "mean"} as tensor<3xf32> loc("mean")
    %v = graph.Constant dense<4.0> : tensor<3xf32> {graph.name = "var"} as tensor<3xf32> loc("var")
    %0:3 = graph.BatchNormalization(%x, %s, %b, %m, %v) {graph.name = "y", training_mode = 1 : i64} : (tensor<4x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<4x3xf32>, tensor<3xf32>, tensor<3xf32>)
    return %0#0 : tensor<4x3xf32>
  }
}
