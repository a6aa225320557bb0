// RUN: fathom-opt --combine-parallel-conv2d --split-input-file %s | FileCheck %s
// example

// Equal windows over one input: one convolution and one ReLU, of which each takes its channels. Biases that are absent
// are zeros.
// CHECK-LABEL: func @branches
// CHECK-DAG: %[[W:.*]] = graph.Concat({{.*}}) {axis = 0 : i64} : (tensor<2x3x1x1xf32>, tensor<5x3x1x1xf32>) -> tensor<7x3x1x1xf32>
// CHECK-DAG: %[[B:.*]] = graph.Concat({{.*}}) {axis = 0 : i64} : (tensor<2xf32>, tensor<5xf32>) -> tensor<7xf32>
// CHECK: %[[C:.*]] = graph.Conv(%arg0, %[[W]], %[[B]])
// CHECK-NEXT: %[[R:.*]] = graph.Relu(%[[C]])
// CHECK-NOT: graph.Conv
// CHECK-NOT: graph.Relu
// CHECK: graph.Slice(%[[R]], {{.*}} -> tensor<1x2x4x4xf32>
// CHECK: graph.Slice(%[[R]], {{.*}} -> tensor<1x5x4x4xf32>
func.func @branches(%x: tensor<1x3x4x4xf32>) -> (tensor<1x2x4x4xf32>, tensor<1x5x4x4xf32>) {
  %n = graph.None
  %v = graph.Constant dense<2.0> : tensor<2x3x1x1xf32> as tensor<2x3x1x1xf32>
  %c = graph.Conv(%x, %v, %n) : (tensor<1x3x4x4xf32>, tensor<2x3x1x1xf32>, none) -> tensor<1x2x4x4xf32>
  %r = graph.Relu(%c) : (tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
  %w = graph.Constant dense<3.0> : tensor<5x3x1x1xf32> as tensor<5x3x1x1xf32>
  %b = graph.Constant dense<4.0> : tensor<5xf32> as tensor<5xf32>
  %d = graph.Conv(%x, %w, %b) : (tensor<1x3x4x4xf32>, tensor<5x3x1x1xf32>, tensor<5xf32>) -> tensor<1x5x4x4xf32>
  %s = graph.Relu(%d) : (tensor<1x5x4x4xf32>) -> tensor<1x5x4x4xf32>
  return %r, %s : tensor<1x2x4x4xf32>, tensor<1x5x4x4xf32>
}

// -----

// What follows differs: it stays behind the parts.
// CHECK-LABEL: func @ends_differ
// CHECK: graph.Conv
// CHECK-NEXT: graph.Constant
// CHECK: %[[P:.*]] = graph.Slice
// CHECK: graph.Relu(%[[P]])
// CHECK: graph.Exp
func.func @ends_differ(%x: tensor<1x3x4x4xf32>) -> (tensor<1x2x4x4xf32>, tensor<1x2x4x4xf32>) {
  %n = graph.None
  %v = graph.Constant dense<2.0> : tensor<2x3x1x1xf32> as tensor<2x3x1x1xf32>
  %c = graph.Conv(%x, %v, %n) : (tensor<1x3x4x4xf32>, tensor<2x3x1x1xf32>, none) -> tensor<1x2x4x4xf32>
  %d = graph.Conv(%x, %v, %n) : (tensor<1x3x4x4xf32>, tensor<2x3x1x1xf32>, none) -> tensor<1x2x4x4xf32>
  %r = graph.Relu(%c) : (tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
  %s = graph.Exp(%d) : (tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
  return %r, %s : tensor<1x2x4x4xf32>, tensor<1x2x4x4xf32>
}

// -----

// Other windows, other inputs, groups and weights that only the run knows stay apart.
// CHECK-LABEL: func @others
// CHECK-NOT: graph.Concat
// CHECK-COUNT-6: graph.Conv
// CHECK-NOT: graph.Slice
func.func @others(%x: tensor<1x4x4x4xf32>, %y: tensor<1x4x4x4xf32>, %u: tensor<2x4x1x1xf32>)
    -> (tensor<1x2x4x4xf32>, tensor<1x2x2x2xf32>, tensor<1x2x2x2xf32>, tensor<1x2x4x4xf32>, tensor<1x2x4x4xf32>, tensor<1x2x4x4xf32>) {
  %n = graph.None
  %v = graph.Constant dense<2.0> : tensor<2x4x1x1xf32> as tensor<2x4x1x1xf32>
  %w = graph.Constant dense<2.0> : tensor<2x4x3x3xf32> as tensor<2x4x3x3xf32>
  %g = graph.Constant dense<2.0> : tensor<2x2x1x1xf32> as tensor<2x2x1x1xf32>
  %0 = graph.Conv(%x, %v, %n) : (tensor<1x4x4x4xf32>, tensor<2x4x1x1xf32>, none) -> tensor<1x2x4x4xf32>
  %1 = graph.Conv(%x, %w, %n) : (tensor<1x4x4x4xf32>, tensor<2x4x3x3xf32>, none) -> tensor<1x2x2x2xf32>
  %2 = graph.Conv(%x, %v, %n) {strides = array<i64: 2, 2>} : (tensor<1x4x4x4xf32>, tensor<2x4x1x1xf32>, none) -> tensor<1x2x2x2xf32>
  %3 = graph.Conv(%y, %v, %n) : (tensor<1x4x4x4xf32>, tensor<2x4x1x1xf32>, none) -> tensor<1x2x4x4xf32>
  %4 = graph.Conv(%x, %g, %n) {group = 2 : i64} : (tensor<1x4x4x4xf32>, tensor<2x2x1x1xf32>, none) -> tensor<1x2x4x4xf32>
  %5 = graph.Conv(%x, %u, %n) : (tensor<1x4x4x4xf32>, tensor<2x4x1x1xf32>, none) -> tensor<1x2x4x4xf32>
  return %0, %1, %2, %3, %4, %5 : tensor<1x2x4x4xf32>, tensor<1x2x2x2xf32>, tensor<1x2x2x2xf32>, tensor<1x2x4x4xf32>, tensor<1x2x4x4xf32>, tensor<1x2x4x4xf32>
}
