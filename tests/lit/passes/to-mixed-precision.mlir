// RUN: fathom-opt --to-mixed-precision --split-input-file %s | FileCheck %s
// RUN: fathom-opt "--to-mixed-precision=type=bf16" --split-input-file %s | FileCheck %s --check-prefix=BF16
// example

// Products are of halves, what follows is where it can be, and between them nothing is widened; a softmax never is, and
// neither inputs nor results of the model change.
// CHECK-LABEL: func @main(%arg0: tensor<3x4xf32>) -> tensor<3x4xf32>
// CHECK-DAG: %[[X:.*]] = graph.Cast(%arg0) {to = f16}
// CHECK-DAG: %[[W:.*]] = graph.Cast(%{{.*}}) {to = f16} : (tensor<4x5xf32>) -> tensor<4x5xf16>
// CHECK: %[[P:.*]] = graph.MatMul(%[[X]], %[[W]]) : {{.*}} -> tensor<3x5xf16>
// CHECK-NEXT: %[[B:.*]] = graph.Cast(%{{.*}}) {to = f16} : (tensor<5xf32>) -> tensor<5xf16>
// CHECK-NEXT: %[[A:.*]] = graph.Add(%[[P]], %[[B]]) : {{.*}} -> tensor<3x5xf16>
// CHECK-NEXT: %[[R:.*]] = graph.Relu(%[[A]]) : {{.*}} -> tensor<3x5xf16>
// CHECK-NEXT: %[[V:.*]] = graph.Cast(%{{.*}}) {to = f16} : (tensor<5x4xf32>) -> tensor<5x4xf16>
// CHECK-NEXT: %[[Q:.*]] = graph.MatMul(%[[R]], %[[V]]) : {{.*}} -> tensor<3x4xf16>
// CHECK-NEXT: %[[WIDE:.*]] = graph.Cast(%[[Q]]) {to = f32} : (tensor<3x4xf16>) -> tensor<3x4xf32>
// CHECK-NEXT: graph.Softmax(%[[WIDE]]) : (tensor<3x4xf32>) -> tensor<3x4xf32>
// BF16-LABEL: func @main
// BF16: graph.MatMul({{.*}} -> tensor<3x5xbf16>
func.func @main(%x: tensor<3x4xf32>) -> tensor<3x4xf32> {
  %w = graph.Constant dense<2.0> : tensor<4x5xf32> as tensor<4x5xf32>
  %b = graph.Constant dense<3.0> : tensor<5xf32> as tensor<5xf32>
  %v = graph.Constant dense<4.0> : tensor<5x4xf32> as tensor<5x4xf32>
  %0 = graph.MatMul(%x, %w) : (tensor<3x4xf32>, tensor<4x5xf32>) -> tensor<3x5xf32>
  %1 = graph.Add(%0, %b) : (tensor<3x5xf32>, tensor<5xf32>) -> tensor<3x5xf32>
  %2 = graph.Relu(%1) : (tensor<3x5xf32>) -> tensor<3x5xf32>
  %3 = graph.MatMul(%2, %v) : (tensor<3x5xf32>, tensor<5x4xf32>) -> tensor<3x4xf32>
  %4 = graph.Softmax(%3) : (tensor<3x4xf32>) -> tensor<3x4xf32>
  return %4 : tensor<3x4xf32>
}

// -----

// What reads something else of single precision stays, and so do numbers that halves cannot hold: a mask.
// CHECK-LABEL: func @others
// CHECK: graph.MatMul({{.*}} -> tensor<3x5xf16>
// CHECK: graph.Add(%{{.*}}, %arg2) : (tensor<3x5xf32>, tensor<3x5xf32>)
// CHECK: graph.Add({{.*}} : (tensor<3x5xf32>, tensor<5xf32>)
// CHECK: graph.MatMul({{.*}} -> tensor<3x3xf64>
// BF16-LABEL: func @others
// BF16: graph.Add({{.*}} : (tensor<3x5xbf16>, tensor<5xbf16>)
func.func @others(%x: tensor<3x4xf32>, %w: tensor<4x5xf32>, %y: tensor<3x5xf32>, %d: tensor<3x3xf64>) -> (tensor<3x5xf32>, tensor<3x5xf32>, tensor<3x3xf64>) {
  %mask = graph.Constant dense<-3.0e38> : tensor<5xf32> as tensor<5xf32>
  %0 = graph.MatMul(%x, %w) : (tensor<3x4xf32>, tensor<4x5xf32>) -> tensor<3x5xf32>
  %1 = graph.Add(%0, %y) : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
  %2 = graph.Add(%0, %mask) : (tensor<3x5xf32>, tensor<5xf32>) -> tensor<3x5xf32>
  %3 = graph.MatMul(%d, %d) : (tensor<3x3xf64>, tensor<3x3xf64>) -> tensor<3x3xf64>
  return %1, %2, %3 : tensor<3x5xf32>, tensor<3x5xf32>, tensor<3x3xf64>
}

// -----

// Without products nothing changes.
// CHECK-LABEL: func @no_products
// CHECK-NOT: f16
func.func @no_products(%x: tensor<3xf32>) -> tensor<3xf32> {
  %0 = graph.Relu(%x) : (tensor<3xf32>) -> tensor<3xf32>
  return %0 : tensor<3xf32>
}
