// Every op that a back end has no kernels for is named.
// RUN: not fathom-opt --emit-loops --target=opencl %s 2>&1 | FileCheck %s

// CHECK: error: [F3001] MatMul: the back end 'opencl' has no kernels for MatMul
// CHECK: error: [F3001] Softmax: the back end 'opencl' has no kernels for Softmax
func.func @main(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = graph.MatMul(%x, %x) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = graph.Softmax(%0) {axis = 1 : i64} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return %1 : tensor<4x4xf32>
}
