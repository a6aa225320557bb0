// RUN: fathom-opt --simplify-expr --split-input-file %s | FileCheck %s --check-prefixes=CHECK,FAST
// RUN: fathom-opt --simplify-expr --fp=strict --split-input-file %s | FileCheck %s --check-prefixes=CHECK,STRICT
// example

// CHECK-LABEL: func @neutral
// CHECK-NEXT: return %arg0, %arg0, %arg0, %arg0
func.func @neutral(%x: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) {
  %one = graph.Constant dense<1.0> : tensor<f32> as tensor<f32>
  %zero = graph.Constant dense<0.0> : tensor<3xf32> as tensor<3xf32>
  %0 = graph.Mul(%one, %x) : (tensor<f32>, tensor<3xf32>) -> tensor<3xf32>
  %1 = graph.Div(%x, %one) : (tensor<3xf32>, tensor<f32>) -> tensor<3xf32>
  %2 = graph.Sub(%x, %zero) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  %3 = graph.Pow(%x, %one) : (tensor<3xf32>, tensor<f32>) -> tensor<3xf32>
  return %0, %1, %2, %3 : tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>
}

// -----

// -0 + 0 is 0, 1 / x is no x, 0 - x neither, and a wider result is another tensor.
// CHECK-LABEL: func @not_neutral
// CHECK: graph.Add
// CHECK: graph.Div
// CHECK: graph.Sub
// CHECK: graph.Mul
func.func @not_neutral(%x: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<2x3xf32>) {
  %one = graph.Constant dense<1.0> : tensor<f32> as tensor<f32>
  %zero = graph.Constant dense<0.0> : tensor<f32> as tensor<f32>
  %ones = graph.Constant dense<1.0> : tensor<2x3xf32> as tensor<2x3xf32>
  %0 = graph.Add(%x, %zero) : (tensor<3xf32>, tensor<f32>) -> tensor<3xf32>
  %1 = graph.Div(%one, %x) : (tensor<f32>, tensor<3xf32>) -> tensor<3xf32>
  %2 = graph.Sub(%zero, %x) : (tensor<f32>, tensor<3xf32>) -> tensor<3xf32>
  %3 = graph.Mul(%x, %ones) : (tensor<3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  return %0, %1, %2, %3 : tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<2x3xf32>
}

// -----

// A quotient by a power of two is a product, rounded alike; by another number only where that may differ.
// CHECK-LABEL: func @quotients
// CHECK: %[[E:.*]] = graph.Constant dense<1.250000e-01>
// CHECK: graph.Mul(%arg0, %[[E]])
// FAST: graph.Mul
// STRICT: graph.Div
// FAST-NOT: graph.Div
func.func @quotients(%x: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>) {
  %eight = graph.Constant dense<8.0> : tensor<f32> as tensor<f32>
  %three = graph.Constant dense<3.0> : tensor<f32> as tensor<f32>
  %0 = graph.Div(%x, %eight) : (tensor<3xf32>, tensor<f32>) -> tensor<3xf32>
  %1 = graph.Div(%x, %three) : (tensor<3xf32>, tensor<f32>) -> tensor<3xf32>
  return %0, %1 : tensor<3xf32>, tensor<3xf32>
}

// -----

// CHECK-LABEL: func @powers
// CHECK: graph.Mul(%arg0, %arg0)
// FAST: graph.Mul
// FAST: graph.Mul
// FAST-NOT: graph.Pow
// STRICT: graph.Pow
func.func @powers(%x: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>) {
  %two = graph.Constant dense<2.0> : tensor<f32> as tensor<f32>
  %three = graph.Constant dense<3.0> : tensor<f32> as tensor<f32>
  %0 = graph.Pow(%x, %two) : (tensor<3xf32>, tensor<f32>) -> tensor<3xf32>
  %1 = graph.Pow(%x, %three) : (tensor<3xf32>, tensor<f32>) -> tensor<3xf32>
  return %0, %1 : tensor<3xf32>, tensor<3xf32>
}

// -----

// The scale of scores goes into weights and bias of the queries, through views.
// CHECK-LABEL: func @scores
// FAST: graph.Mul({{.*}}) {{.*}} -> tensor<4x8xf32>
// FAST: graph.Mul({{.*}}) {{.*}} -> tensor<8xf32>
// FAST: %[[S:.*]] = graph.MatMul({{.*}}) {{.*}} -> tensor<2x3x3xf32>
// FAST-NEXT: return %[[S]]
// STRICT: graph.MatMul
// STRICT: graph.MatMul
// STRICT: graph.Div
func.func @scores(%x: tensor<3x4xf32>, %k: tensor<2x4x3xf32>) -> tensor<2x3x3xf32> {
  %w = graph.Constant dense<2.0> : tensor<4x8xf32> as tensor<4x8xf32>
  %b = graph.Constant dense<2.0> : tensor<8xf32> as tensor<8xf32>
  %d = graph.Constant dense<3.0> : tensor<f32> as tensor<f32>
  %s = graph.Constant dense<[3, 2, 4]> : tensor<3xi64> as tensor<3xi64>
  %0 = graph.MatMul(%x, %w) : (tensor<3x4xf32>, tensor<4x8xf32>) -> tensor<3x8xf32>
  %1 = graph.Add(%b, %0) : (tensor<8xf32>, tensor<3x8xf32>) -> tensor<3x8xf32>
  %2 = graph.Reshape(%1, %s) : (tensor<3x8xf32>, tensor<3xi64>) -> tensor<3x2x4xf32>
  %3 = graph.Transpose(%2) {perm = array<i64: 1, 0, 2>} : (tensor<3x2x4xf32>) -> tensor<2x3x4xf32>
  %4 = graph.MatMul(%3, %k) : (tensor<2x3x4xf32>, tensor<2x4x3xf32>) -> tensor<2x3x3xf32>
  %5 = graph.Div(%4, %d) : (tensor<2x3x3xf32>, tensor<f32>) -> tensor<2x3x3xf32>
  return %5 : tensor<2x3x3xf32>
}

// -----

// CHECK-LABEL: func @repeated
// CHECK-NEXT: %[[R:.*]] = graph.Relu(%arg0)
// CHECK-NEXT: return %[[R]], %arg0
func.func @repeated(%x: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>) {
  %0 = graph.Relu(%x) : (tensor<3xf32>) -> tensor<3xf32>
  %1 = graph.Relu(%0) : (tensor<3xf32>) -> tensor<3xf32>
  %2 = graph.Neg(%x) : (tensor<3xf32>) -> tensor<3xf32>
  %3 = graph.Neg(%2) : (tensor<3xf32>) -> tensor<3xf32>
  return %1, %3 : tensor<3xf32>, tensor<3xf32>
}

// -----

// Of reshapes the last one counts; a slice of all is its input, one that turns it around is not.
// CHECK-LABEL: func @shapes
// CHECK: %[[R:.*]] = graph.Reshape(%arg0, {{.*}} -> tensor<3x4xf32>
// CHECK: %[[S:.*]] = graph.Slice(%arg0
// CHECK: return %[[R]], %arg0, %[[S]]
func.func @shapes(%x: tensor<2x6xf32>) -> (tensor<3x4xf32>, tensor<2x6xf32>, tensor<2x6xf32>) {
  %n = graph.None
  %s = graph.Constant dense<[3, 4]> : tensor<2xi64> as tensor<2xi64>
  %t = graph.Constant dense<[12]> : tensor<1xi64> as tensor<1xi64>
  %zero = graph.Constant dense<0> : tensor<1xi64> as tensor<1xi64>
  %last = graph.Constant dense<-1> : tensor<1xi64> as tensor<1xi64>
  %end = graph.Constant dense<6> : tensor<1xi64> as tensor<1xi64>
  %front = graph.Constant dense<-7> : tensor<1xi64> as tensor<1xi64>
  %one = graph.Constant dense<1> : tensor<1xi64> as tensor<1xi64>
  %0 = graph.Reshape(%x, %t) : (tensor<2x6xf32>, tensor<1xi64>) -> tensor<12xf32>
  %1 = graph.Reshape(%0, %s) : (tensor<12xf32>, tensor<2xi64>) -> tensor<3x4xf32>
  %2 = graph.Slice(%x, %zero, %end, %one, %n) : (tensor<2x6xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, none) -> tensor<2x6xf32>
  %3 = graph.Slice(%x, %last, %front, %one, %last) : (tensor<2x6xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<2x6xf32>
  return %1, %2, %3 : tensor<3x4xf32>, tensor<2x6xf32>, tensor<2x6xf32>
}

// -----

// One over a number that is not normal is no factor of weights: results may be finite all the same.
// CHECK-LABEL: func @huge_factor
// CHECK: graph.MatMul(%arg0
// CHECK-NEXT: graph.Div
func.func @huge_factor(%x: tensor<3x4xf32>) -> tensor<3x4xf32> {
  %w = graph.Constant dense<2.0> : tensor<4x4xf32> as tensor<4x4xf32>
  %d = graph.Constant dense<1.0e-39> : tensor<f32> as tensor<f32>
  %0 = graph.MatMul(%x, %w) : (tensor<3x4xf32>, tensor<4x4xf32>) -> tensor<3x4xf32>
  %1 = graph.Div(%0, %d) : (tensor<3x4xf32>, tensor<f32>) -> tensor<3x4xf32>
  return %1 : tensor<3x4xf32>
}
