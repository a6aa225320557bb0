// Every op that a back end has no kernels for is named: here one that the algorithms of a CPU leave.
// RUN: fathom-opt --alter-op-layout --target=neoverse-v1 --conv-algorithm=winograd4 %s | not fathom-opt --emit-loops --target=opencl - 2>&1 | FileCheck %s
// RUN: fathom-opt --alter-op-layout --target=opencl --conv-algorithm=winograd4 %s | FileCheck --check-prefix=OWN %s

// CHECK: error: [F3001] WinogradConv: the back end 'opencl' has no kernels for WinogradConv
// OWN-NOT: graph.WinogradConv
// OWN: graph.Conv(
func.func @main(%x: tensor<1x8x9x9xf32>) -> tensor<1x8x9x9xf32> {
  %n = graph.None
  %w = graph.Constant dense<0.5> : tensor<8x8x3x3xf32> as tensor<8x8x3x3xf32>
  %y = graph.Conv(%x, %w, %n) {graph.name = "y", pads = array<i64: 1, 1, 1, 1>} : (tensor<1x8x9x9xf32>, tensor<8x8x3x3xf32>, none) -> tensor<1x8x9x9xf32>
  return %y : tensor<1x8x9x9xf32>
}
