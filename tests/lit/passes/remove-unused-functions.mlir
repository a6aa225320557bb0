// RUN: fathom-opt --remove-unused-functions %s | FileCheck %s
// example

// What main calls, itself or through others, stays.
// CHECK: func private @used
// CHECK: func private @through
// CHECK-NOT: @unused
// CHECK-NOT: @recursive
// CHECK: func @main
func.func private @used(%x: tensor<3xf32>) -> tensor<3xf32> {
  %y = func.call @through(%x) : (tensor<3xf32>) -> tensor<3xf32>
  return %y : tensor<3xf32>
}
func.func private @through(%x: tensor<3xf32>) -> tensor<3xf32> {
  return %x : tensor<3xf32>
}
func.func private @unused(%x: tensor<3xf32>) -> tensor<3xf32> {
  %y = func.call @used(%x) : (tensor<3xf32>) -> tensor<3xf32>
  return %y : tensor<3xf32>
}
func.func private @recursive(%x: tensor<3xf32>) -> tensor<3xf32> {
  %y = func.call @recursive(%x) : (tensor<3xf32>) -> tensor<3xf32>
  return %y : tensor<3xf32>
}
func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {
  %y = func.call @used(%x) : (tensor<3xf32>) -> tensor<3xf32>
  return %y : tensor<3xf32>
}
