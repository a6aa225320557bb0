// RUN: fathom-opt --simplify-inference %s | FileCheck %s
// example

// A batch normalisation with given statistics is a scale and a shift along the channels.
// CHECK-LABEL: func @batch_norm
// CHECK-NOT: BatchNormalization
// CHECK: %[[M:.*]] = graph.Mul(%arg0, {{.*}}) {{.*}} (tensor<1x4x5x5xf32>, tensor<4x1x1xf32>)
// CHECK: graph.Add(%[[M]], {{.*}}) {{.*}} (tensor<1x4x5x5xf32>, tensor<4x1x1xf32>)
func.func @batch_norm(%x: tensor<1x4x5x5xf32>, %s: tensor<4xf32>, %b: tensor<4xf32>, %m: tensor<4xf32>, %v: tensor<4xf32>) -> tensor<1x4x5x5xf32> {
  %0 = graph.BatchNormalization(%x, %s, %b, %m, %v) {graph.name = "y"} : (tensor<1x4x5x5xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<1x4x5x5xf32>
  return %0 : tensor<1x4x5x5xf32>
}
