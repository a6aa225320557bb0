// RUN: fathom-opt --name-ops --convert-layout --fuse-ops --defuse-ops --target=neoverse-v1 %s | FileCheck %s
// RUN: fathom-opt --name-ops --convert-layout --fuse-ops --target=neoverse-v1 %s | FileCheck %s --check-prefix=FUSED
// example behind decompose-quantized, simplify-inference, canonicalize-ops, name-ops, convert-layout, store-results, fuse-ops

// No op is in a group any more.
// CHECK-LABEL: func @main
// CHECK-NOT: graph.kernel
// FUSED-LABEL: func @main
// FUSED: graph.Conv({{.*}}graph.kernel = [[KERNEL:[0-9]+]] : i64
// FUSED: graph.Relu({{.*}}graph.kernel = [[KERNEL]] : i64
func.func @main(%x: tensor<1x64x56x56xf32> {graph.name = "x"}) -> (tensor<1x64x56x56xf32> {graph.name = "y"}) {
  %n = graph.None
  %w = graph.Constant dense<2.0> : tensor<64x64x3x3xf32> as tensor<64x64x3x3xf32>
  %c = graph.Conv(%x, %w, %n) {graph.name = "c", pads = array<i64: 1, 1, 1, 1>} : (tensor<1x64x56x56xf32>, tensor<64x64x3x3xf32>, none) -> tensor<1x64x56x56xf32>
  %r = graph.Relu(%c) {graph.name = "y"} : (tensor<1x64x56x56xf32>) -> tensor<1x64x56x56xf32>
  return %r : tensor<1x64x56x56xf32>
}
