// RUN: fathom-opt --name-ops %s | FileCheck %s

// Ops without a name, and those that share one.
// CHECK-LABEL: func @main
// CHECK: graph.Exp(%arg0) {graph.name = "Exp"}
// CHECK: graph.Neg({{.*}}) {graph.name = "a"}
// CHECK: graph.Relu({{.*}}) {graph.name = "a~1"}
func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {
  %a = graph.Exp(%x) : (tensor<3xf32>) -> tensor<3xf32>
  %b = graph.Neg(%a) {graph.name = "a"} : (tensor<3xf32>) -> tensor<3xf32>
  %c = graph.Relu(%b) {graph.name = "a"} : (tensor<3xf32>) -> tensor<3xf32>
  return %c : tensor<3xf32>
}
