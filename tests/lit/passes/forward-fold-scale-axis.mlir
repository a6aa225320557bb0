// RUN: fathom-opt --forward-fold-scale-axis --split-input-file %s | FileCheck %s

// CHECK-LABEL: func @scale_and_shift
// CHECK-DAG: %[[W:.*]] = graph.Mul({{.*}}) {{.*}} -> tensor<4x3x1x1xf32>
// CHECK: %[[C:.*]] = graph.Conv(%arg0, %[[W]],
// CHECK-NEXT: return %[[C]]
func.func @scale_and_shift(%x: tensor<1x3x5x5xf32>) -> tensor<1x4x5x5xf32> {
  %n = graph.None
  %w = graph.Constant dense<2.0> : tensor<4x3x1x1xf32> as tensor<4x3x1x1xf32>
  %s = graph.Constant dense<3.0> : tensor<4x1x1xf32> as tensor<4x1x1xf32>
  %c = graph.Conv(%x, %w, %n) : (tensor<1x3x5x5xf32>, tensor<4x3x1x1xf32>, none) -> tensor<1x4x5x5xf32>
  %m = graph.Mul(%c, %s) : (tensor<1x4x5x5xf32>, tensor<4x1x1xf32>) -> tensor<1x4x5x5xf32>
  %a = graph.Add(%m, %s) : (tensor<1x4x5x5xf32>, tensor<4x1x1xf32>) -> tensor<1x4x5x5xf32>
  return %a : tensor<1x4x5x5xf32>
}

// -----

// A factor for each column is not one for each channel.
// CHECK-LABEL: func @not_per_channel
// CHECK: graph.Conv
// CHECK: graph.Mul
func.func @not_per_channel(%x: tensor<1x3x5x5xf32>) -> tensor<1x4x5x5xf32> {
  %n = graph.None
  %w = graph.Constant dense<2.0> : tensor<4x3x1x1xf32> as tensor<4x3x1x1xf32>
  %s = graph.Constant dense<3.0> : tensor<5xf32> as tensor<5xf32>
  %c = graph.Conv(%x, %w, %n) : (tensor<1x3x5x5xf32>, tensor<4x3x1x1xf32>, none) -> tensor<1x4x5x5xf32>
  %m = graph.Mul(%c, %s) : (tensor<1x4x5x5xf32>, tensor<5xf32>) -> tensor<1x4x5x5xf32>
  return %m : tensor<1x4x5x5xf32>
}
