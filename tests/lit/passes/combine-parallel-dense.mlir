// RUN: fathom-opt --combine-parallel-dense --split-input-file %s | FileCheck %s
// example

// Products of one input with weights, and the biases behind them. A bias that another reads moves nowhere later.
// CHECK-LABEL: func @projections
// CHECK-DAG: %[[W:.*]] = graph.Concat({{.*}}) {axis = 1 : i64} : (tensor<3x2xf32>, tensor<3x4xf32>) -> tensor<3x6xf32>
// CHECK: %[[P:.*]] = graph.MatMul(%arg0, %[[W]]) {{.*}} -> tensor<5x6xf32>
// CHECK: %[[B:.*]] = graph.Concat({{.*}}) {axis = 0 : i64} : (tensor<2xf32>, tensor<4xf32>) -> tensor<6xf32>
// CHECK: %[[A:.*]] = graph.Add(%[[P]], %[[B]])
// CHECK: graph.Slice(%[[A]], {{.*}} -> tensor<5x2xf32>
// CHECK: graph.Slice(%[[A]], {{.*}} -> tensor<5x4xf32>
// CHECK-NOT: graph.MatMul
func.func @projections(%x: tensor<5x3xf32>) -> (tensor<5x2xf32>, tensor<5x4xf32>) {
  %v = graph.Constant dense<2.0> : tensor<3x2xf32> as tensor<3x2xf32>
  %w = graph.Constant dense<3.0> : tensor<3x4xf32> as tensor<3x4xf32>
  %a = graph.Constant dense<[1.0, 2.0]> : tensor<2xf32> as tensor<2xf32>
  %b = graph.Constant dense<4.0> : tensor<4xf32> as tensor<4xf32>
  %p = graph.MatMul(%x, %v) : (tensor<5x3xf32>, tensor<3x2xf32>) -> tensor<5x2xf32>
  %q = graph.MatMul(%x, %w) : (tensor<5x3xf32>, tensor<3x4xf32>) -> tensor<5x4xf32>
  %r = graph.Add(%p, %a) : (tensor<5x2xf32>, tensor<2xf32>) -> tensor<5x2xf32>
  %s = graph.Add(%q, %b) : (tensor<5x4xf32>, tensor<4xf32>) -> tensor<5x4xf32>
  return %r, %s : tensor<5x2xf32>, tensor<5x4xf32>
}

// -----

// A factor that all have is one; what only one of them has stays behind its part.
// CHECK-LABEL: func @one_factor
// CHECK: graph.MatMul
// CHECK: %[[M:.*]] = graph.Mul(
// CHECK: %[[P:.*]] = graph.Slice(%[[M]],
// CHECK: graph.Relu(%[[P]])
// CHECK-NOT: graph.Mul
func.func @one_factor(%x: tensor<5x3xf32>) -> (tensor<5x2xf32>, tensor<5x4xf32>) {
  %v = graph.Constant dense<2.0> : tensor<3x2xf32> as tensor<3x2xf32>
  %w = graph.Constant dense<3.0> : tensor<3x4xf32> as tensor<3x4xf32>
  %f = graph.Constant dense<0.5> : tensor<f32> as tensor<f32>
  %p = graph.MatMul(%x, %v) : (tensor<5x3xf32>, tensor<3x2xf32>) -> tensor<5x2xf32>
  %q = graph.MatMul(%x, %w) : (tensor<5x3xf32>, tensor<3x4xf32>) -> tensor<5x4xf32>
  %r = graph.Mul(%p, %f) : (tensor<5x2xf32>, tensor<f32>) -> tensor<5x2xf32>
  %s = graph.Mul(%q, %f) : (tensor<5x4xf32>, tensor<f32>) -> tensor<5x4xf32>
  %t = graph.Relu(%r) : (tensor<5x2xf32>) -> tensor<5x2xf32>
  return %t, %s : tensor<5x2xf32>, tensor<5x4xf32>
}

// -----

// Of other inputs, and with what the run makes.
// CHECK-LABEL: func @others
// CHECK-COUNT-3: graph.MatMul
// CHECK-NOT: graph.Slice
func.func @others(%x: tensor<5x3xf32>, %y: tensor<5x3xf32>, %z: tensor<3x4xf32>) -> (tensor<5x4xf32>, tensor<5x4xf32>, tensor<5x4xf32>) {
  %w = graph.Constant dense<3.0> : tensor<3x4xf32> as tensor<3x4xf32>
  %p = graph.MatMul(%x, %w) : (tensor<5x3xf32>, tensor<3x4xf32>) -> tensor<5x4xf32>
  %q = graph.MatMul(%x, %z) : (tensor<5x3xf32>, tensor<3x4xf32>) -> tensor<5x4xf32>
  %r = graph.MatMul(%y, %w) : (tensor<5x3xf32>, tensor<3x4xf32>) -> tensor<5x4xf32>
  return %p, %q, %r : tensor<5x4xf32>, tensor<5x4xf32>, tensor<5x4xf32>
}
