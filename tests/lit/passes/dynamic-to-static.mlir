// RUN: fathom-opt --dynamic-to-static %s | FileCheck %s
// example

// A size that a constant decides is known.
// CHECK-LABEL: func @main(%arg0: tensor<1xf32>) -> tensor<7xf32>
// CHECK-NOT: graph.Pin
// CHECK: graph.Expand(%arg0, {{.*}}) {{.*}}-> tensor<7xf32>
module attributes {graph.symbols = [{name = "n", min = 1 : i64, max = 100 : i64, computed}]} {
  func.func @main(%x: tensor<1xf32>) -> tensor<?xf32, #graph.enc<shape = ()[s0] -> (s0)>> {
    %n = graph.Constant dense<7> : tensor<1xi64> as tensor<1xi64>
    graph.Pin(%n)[[0]] as [[0]] : tensor<1xi64>
    %s = graph.Sizes affine_map<()[s0] -> (s0)> as tensor<1xi64>
    %y = graph.Expand(%x, %s) : (tensor<1xf32>, tensor<1xi64>) -> tensor<?xf32, #graph.enc<shape = ()[s0] -> (s0)>>
    return %y : tensor<?xf32, #graph.enc<shape = ()[s0] -> (s0)>>
  }
}
