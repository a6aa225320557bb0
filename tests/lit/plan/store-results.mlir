// RUN: fathom-opt --store-results %s | FileCheck %s

// An argument leaves the graph as a copy, and so does what leaves twice; a kernel's result leaves as it is.
// CHECK-LABEL: func @main
// CHECK: %[[E:.*]] = graph.Exp(%arg0)
// CHECK: %[[X:.*]] = graph.Relayout(%arg0) {graph.name = "output0.copy", graph.output}
// CHECK: %[[T:.*]] = graph.Relayout(%[[E]]) {graph.name = "output2.copy", graph.output}
// CHECK: return %[[X]], %[[E]], %[[T]]
func.func @main(%x: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) {
  %e = graph.Exp(%x) {graph.name = "e"} : (tensor<3xf32>) -> tensor<3xf32>
  return %x, %e, %e : tensor<3xf32>, tensor<3xf32>, tensor<3xf32>
}
