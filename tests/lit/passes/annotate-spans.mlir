// RUN: fathom-opt --annotate-spans --mlir-print-debuginfo --mlir-print-local-scope %s | FileCheck %s
// RUN: fathom-opt --annotate-spans --annotate-spans --mlir-print-debuginfo --mlir-print-local-scope %s | FileCheck %s
// example with places

// Lines are those of the text before; the node stays first, and a second annotation takes the first one's place.
// CHECK: graph.Exp(%arg0) : {{.*}} loc(fused<"graph">["node", "graph":3:{{[0-9]+}}])
// CHECK: graph.Abs(%0) : {{.*}} loc(fused<"graph">["other", "graph":4:{{[0-9]+}}])
func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {
  %a = graph.Exp(%x) : (tensor<3xf32>) -> tensor<3xf32> loc("node")
  %b = graph.Abs(%a) : (tensor<3xf32>) -> tensor<3xf32> loc("other")
  return %b : tensor<3xf32>
}
