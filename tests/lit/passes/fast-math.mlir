// RUN: fathom-opt --fast-math --split-input-file %s | FileCheck %s
// RUN: fathom-opt --fast-math --fp=strict --split-input-file %s | FileCheck %s --check-prefix=STRICT
// example

// Exponentials, tangents, error functions and what is made of them, also of halves.
// CHECK-LABEL: func @functions
// CHECK-COUNT-8: graph.fast
// STRICT-LABEL: func @functions
// STRICT-NOT: graph.fast
func.func @functions(%x: tensor<4x3xf32>, %h: tensor<3xf16>) -> (tensor<4x3xf32>, tensor<4x3xf32>, tensor<4x3xf32>, tensor<4x3xf32>, tensor<4x3xf32>, tensor<4x3xf32>, tensor<4x3xf32>, tensor<3xf16>) {
  %a = graph.Erf(%x) : (tensor<4x3xf32>) -> tensor<4x3xf32>
  %b = graph.Exp(%x) : (tensor<4x3xf32>) -> tensor<4x3xf32>
  %c = graph.Gelu(%x) : (tensor<4x3xf32>) -> tensor<4x3xf32>
  %d = graph.LogSoftmax(%x) : (tensor<4x3xf32>) -> tensor<4x3xf32>
  %e = graph.Sigmoid(%x) : (tensor<4x3xf32>) -> tensor<4x3xf32>
  %f = graph.Softmax(%x) : (tensor<4x3xf32>) -> tensor<4x3xf32>
  %g = graph.Swish(%x) : (tensor<4x3xf32>) -> tensor<4x3xf32>
  %t = graph.Tanh(%h) : (tensor<3xf16>) -> tensor<3xf16>
  return %a, %b, %c, %d, %e, %f, %g, %t : tensor<4x3xf32>, tensor<4x3xf32>, tensor<4x3xf32>, tensor<4x3xf32>, tensor<4x3xf32>, tensor<4x3xf32>, tensor<4x3xf32>, tensor<3xf16>
}

// -----

// Not in double precision, and not what has no cheaper form.
// CHECK-LABEL: func @others
// CHECK-NOT: graph.fast
func.func @others(%x: tensor<3xf64>, %y: tensor<3xf32>) -> (tensor<3xf64>, tensor<3xf32>, tensor<3xf32>) {
  %a = graph.Exp(%x) : (tensor<3xf64>) -> tensor<3xf64>
  %b = graph.Log(%y) : (tensor<3xf32>) -> tensor<3xf32>
  %c = graph.Sqrt(%y) : (tensor<3xf32>) -> tensor<3xf32>
  return %a, %b, %c : tensor<3xf64>, tensor<3xf32>, tensor<3xf32>
}
