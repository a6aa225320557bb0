// RUN: fathom-opt --name-ops --separate-ops %s | FileCheck %s
// RUN: fathom-opt --name-ops --target=neoverse-v1 --fuse-ops %s | FileCheck %s --check-prefix=FUSED
// RUN: fathom-opt --name-ops --target=neoverse-v1 --fuse-ops --defuse-ops %s | FileCheck %s --check-prefix=DEFUSED
// example behind decompose-quantized, simplify-inference, canonicalize-ops, name-ops, convert-layout, store-results

// Every op that needs a kernel has its own; a view and a constant need none.
// CHECK: graph.Constant
// CHECK-NOT: graph.kernel
// CHECK: graph.Exp{{.*}}graph.kernel = 0
// CHECK: graph.Add{{.*}}graph.kernel = 1
// CHECK: graph.Reshape
// CHECK-NOT: graph.kernel
// CHECK: graph.Abs{{.*}}graph.kernel = 2

// FUSED: graph.Exp{{.*}}graph.kernel = 0
// FUSED: graph.Add{{.*}}graph.kernel = 0

// DEFUSED-NOT: graph.kernel
// DEFUSED: graph.Abs
// DEFUSED-NOT: graph.kernel
func.func @main(%x: tensor<4xf32>) -> tensor<2x2xf32> {
  %s = graph.Constant dense<[2, 2]> : tensor<2xi64> as tensor<2xi64>
  %a = graph.Exp(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %b = graph.Add(%a, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %c = graph.Reshape(%b, %s) : (tensor<4xf32>, tensor<2xi64>) -> tensor<2x2xf32>
  %d = graph.Abs(%c) : (tensor<2x2xf32>) -> tensor<2x2xf32>
  return %d : tensor<2x2xf32>
}
