// RUN: fathom-opt --outline-kernels --target=neoverse-v1 %s | FileCheck %s
// RUN: fathom-opt --outline-kernels --target=x86-64-v3 %s | FileCheck %s

// Groups become functions, and equal ones the same function; numbers of the code are in it.
// CHECK-LABEL: func @main
// CHECK: %[[A:.*]] = call @[[F:.*]](%arg0) {graph.kernel = 0 : i64}
// CHECK: %[[B:.*]] = call @[[F]](%[[A]]) {graph.kernel = 1 : i64}
// CHECK: return %[[B]]
// CHECK: func private @[[F]](
// CHECK: graph.Constant dense<2.0
// CHECK: graph.Mul
// CHECK: graph.Exp
// CHECK-NOT: graph.kernel
func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  %two = graph.Constant dense<2.0> : tensor<f32> as tensor<f32>
  %a = graph.Mul(%x, %two) {graph.name = "a", graph.kernel = 0 : i64} : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  %b = graph.Exp(%a) {graph.name = "b", graph.kernel = 0 : i64} : (tensor<8xf32>) -> tensor<8xf32>
  %c = graph.Mul(%b, %two) {graph.name = "c", graph.kernel = 1 : i64} : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  %d = graph.Exp(%c) {graph.name = "d", graph.kernel = 1 : i64} : (tensor<8xf32>) -> tensor<8xf32>
  return %d : tensor<8xf32>
}
