// RUN: fathom-opt --dead-code-elimination %s | FileCheck %s
// example

// What nobody reads goes, and with it what only that read.
// CHECK-LABEL: func @main
// CHECK-NEXT: graph.Relu(%arg0)
// CHECK-NEXT: return
func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {
  %a = graph.Exp(%x) : (tensor<3xf32>) -> tensor<3xf32>
  %b = graph.Abs(%a) : (tensor<3xf32>) -> tensor<3xf32>
  %c = graph.Relu(%x) : (tensor<3xf32>) -> tensor<3xf32>
  return %c : tensor<3xf32>
}
