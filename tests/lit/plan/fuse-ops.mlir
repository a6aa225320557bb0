// RUN: fathom-opt --fuse-ops --target=neoverse-n1 --split-input-file %s | FileCheck %s
// example behind decompose-quantized, simplify-inference, canonicalize-ops, name-ops, convert-layout, store-results

// Swish after a convolution: both uses of the convolution's result are in its kernel.
// CHECK-LABEL: func @swish
// CHECK: graph.Conv({{.*}}graph.kernel = 0
// CHECK: graph.Sigmoid({{.*}}graph.kernel = 0
// CHECK: graph.Mul({{.*}}graph.kernel = 0
func.func @swish(%x: tensor<1x3x5x5xf32>, %w: tensor<4x3x1x1xf32>) -> tensor<1x4x5x5xf32> {
  %n = graph.None
  %c = graph.Conv(%x, %w, %n) : (tensor<1x3x5x5xf32>, tensor<4x3x1x1xf32>, none) -> tensor<1x4x5x5xf32>
  %s = graph.Sigmoid(%c) : (tensor<1x4x5x5xf32>) -> tensor<1x4x5x5xf32>
  %m = graph.Mul(%c, %s) : (tensor<1x4x5x5xf32>, tensor<1x4x5x5xf32>) -> tensor<1x4x5x5xf32>
  return %m : tensor<1x4x5x5xf32>
}

// -----

// A result that is used elsewhere too ends its kernel where that has an anchor.
// CHECK-LABEL: func @used_twice
// CHECK: graph.ReduceSum({{.*}}graph.kernel = 0
// CHECK: graph.Exp({{.*}}graph.kernel = 1
func.func @used_twice(%x: tensor<8x4xf32>) -> (tensor<8x1xf32>, tensor<8x1xf32>) {
  %axes = graph.Constant dense<1> : tensor<1xi64> as tensor<1xi64>
  %a = graph.ReduceSum(%x, %axes) : (tensor<8x4xf32>, tensor<1xi64>) -> tensor<8x1xf32>
  %b = graph.Exp(%a) : (tensor<8x1xf32>) -> tensor<8x1xf32>
  return %a, %b : tensor<8x1xf32>, tensor<8x1xf32>
}

// -----

// A map that goes on with another's elements joins it: both results leave.
// CHECK-LABEL: func @both_leave
// CHECK: graph.Relu({{.*}}graph.kernel = 0
// CHECK: graph.Exp({{.*}}graph.kernel = 0
func.func @both_leave(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %a = graph.Relu(%x) : (tensor<8xf32>) -> tensor<8xf32>
  %b = graph.Exp(%a) : (tensor<8xf32>) -> tensor<8xf32>
  return %a, %b : tensor<8xf32>, tensor<8xf32>
}

// -----

// Not where the elements are read in another order, or where a kernel between the two needs the first result.
// CHECK-LABEL: func @needed_before
// CHECK: graph.Relu({{.*}}graph.kernel = 0
// CHECK: graph.ReduceSum({{.*}}graph.kernel = 1
// CHECK: graph.Mul({{.*}}graph.kernel = 2
// CHECK: graph.Exp({{.*}}graph.kernel = 3
func.func @needed_before(%x: tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>) {
  %axes = graph.Constant dense<1> : tensor<1xi64> as tensor<1xi64>
  %a = graph.Relu(%x) : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %s = graph.ReduceSum(%a, %axes) : (tensor<8x8xf32>, tensor<1xi64>) -> tensor<8x1xf32>
  %b = graph.Mul(%a, %s) : (tensor<8x8xf32>, tensor<8x1xf32>) -> tensor<8x8xf32>
  %t = graph.Transpose(%a) {perm = array<i64: 1, 0>} : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %c = graph.Exp(%t) : (tensor<8x8xf32>) -> tensor<8x8xf32>
  return %a, %b, %c : tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>
}

// -----

// A reduction computes its operand on demand; a product of many rows packs it on the way.
// CHECK-LABEL: func @producers
// CHECK: graph.Mul({{.*}}graph.kernel = 0
// CHECK: graph.ReduceSum({{.*}}graph.kernel = 0
// CHECK: graph.Relu({{.*}}graph.kernel = 1
// CHECK: graph.MatMul({{.*}}graph.kernel = 1
func.func @producers(%x: tensor<16x32xf32>, %w: tensor<32x64xf32>) -> (tensor<16x1xf32>, tensor<16x64xf32>) {
  %axes = graph.Constant dense<1> : tensor<1xi64> as tensor<1xi64>
  %a = graph.Mul(%x, %x) : (tensor<16x32xf32>, tensor<16x32xf32>) -> tensor<16x32xf32>
  %b = graph.ReduceSum(%a, %axes) : (tensor<16x32xf32>, tensor<1xi64>) -> tensor<16x1xf32>
  %c = graph.Relu(%x) : (tensor<16x32xf32>) -> tensor<16x32xf32>
  %d = graph.MatMul(%c, %w) : (tensor<16x32xf32>, tensor<32x64xf32>) -> tensor<16x64xf32>
  return %b, %d : tensor<16x1xf32>, tensor<16x64xf32>
}

// -----

// Attention is one kernel, with what scales its queries, masks its scores and follows its result.
// CHECK-LABEL: func @attention
// CHECK: graph.Mul({{.*}}graph.kernel = 0
// CHECK: graph.MatMul({{.*}}graph.kernel = 0
// CHECK: graph.Add({{.*}}graph.kernel = 0
// CHECK: graph.Softmax({{.*}}graph.kernel = 0
// CHECK: graph.MatMul({{.*}}graph.kernel = 0
// CHECK: graph.Relu({{.*}}graph.kernel = 0
func.func @attention(%q: tensor<2x32x8xf32>, %k: tensor<2x8x40xf32>, %v: tensor<2x40x16xf32>, %scale: tensor<f32>, %mask: tensor<1x40xf32>) -> tensor<2x32x16xf32> {
  %s = graph.Mul(%q, %scale) : (tensor<2x32x8xf32>, tensor<f32>) -> tensor<2x32x8xf32>
  %0 = graph.MatMul(%s, %k) : (tensor<2x32x8xf32>, tensor<2x8x40xf32>) -> tensor<2x32x40xf32>
  %1 = graph.Add(%0, %mask) : (tensor<2x32x40xf32>, tensor<1x40xf32>) -> tensor<2x32x40xf32>
  %2 = graph.Softmax(%1) : (tensor<2x32x40xf32>) -> tensor<2x32x40xf32>
  %3 = graph.MatMul(%2, %v) : (tensor<2x32x40xf32>, tensor<2x40x16xf32>) -> tensor<2x32x16xf32>
  %4 = graph.Relu(%3) : (tensor<2x32x16xf32>) -> tensor<2x32x16xf32>
  return %4 : tensor<2x32x16xf32>
}

// -----

// Scores that leave as well are stored, and so is everything between the kernels.
// CHECK-LABEL: func @scores_leave
// CHECK: graph.MatMul({{.*}}graph.kernel = 0
// CHECK: graph.Softmax({{.*}}graph.kernel = 1
// CHECK: graph.MatMul({{.*}}graph.kernel = 2
func.func @scores_leave(%q: tensor<2x32x8xf32>, %k: tensor<2x8x40xf32>, %v: tensor<2x40x16xf32>) -> (tensor<2x32x16xf32>, tensor<2x32x40xf32>) {
  %0 = graph.MatMul(%q, %k) : (tensor<2x32x8xf32>, tensor<2x8x40xf32>) -> tensor<2x32x40xf32>
  %1 = graph.Softmax(%0) : (tensor<2x32x40xf32>) -> tensor<2x32x40xf32>
  %2 = graph.MatMul(%1, %v) : (tensor<2x32x40xf32>, tensor<2x40x16xf32>) -> tensor<2x32x16xf32>
  return %2, %0 : tensor<2x32x16xf32>, tensor<2x32x40xf32>
}

// -----

// A softmax along another axis combines rows.
// CHECK-LABEL: func @other_axis
// CHECK: graph.MatMul({{.*}}graph.kernel = 0
// CHECK: graph.Softmax({{.*}}graph.kernel = 1
// CHECK: graph.MatMul({{.*}}graph.kernel = 2
func.func @other_axis(%q: tensor<32x8xf32>, %k: tensor<8x40xf32>, %v: tensor<40x16xf32>) -> tensor<32x16xf32> {
  %0 = graph.MatMul(%q, %k) : (tensor<32x8xf32>, tensor<8x40xf32>) -> tensor<32x40xf32>
  %1 = graph.Softmax(%0) {axis = 0 : i64} : (tensor<32x40xf32>) -> tensor<32x40xf32>
  %2 = graph.MatMul(%1, %v) : (tensor<32x40xf32>, tensor<40x16xf32>) -> tensor<32x16xf32>
  return %2 : tensor<32x16xf32>
}

// One kernel is estimated at three cycles here, and its parts at two.
// CHECK-LABEL: func @slower
// CHECK: graph.MatMul({{.*}}graph.kernel = 0
// CHECK: graph.Softmax({{.*}}graph.kernel = 1
// CHECK: graph.MatMul({{.*}}graph.kernel = 2
func.func @slower(%q: tensor<4x8xf32>, %k: tensor<8x40xf32>, %v: tensor<40x16xf32>) -> tensor<4x16xf32> {
  %0 = graph.MatMul(%q, %k) : (tensor<4x8xf32>, tensor<8x40xf32>) -> tensor<4x40xf32>
  %1 = graph.Softmax(%0) : (tensor<4x40xf32>) -> tensor<4x40xf32>
  %2 = graph.MatMul(%1, %v) {graph.attention_cycles = array<i64: 3, 2>} : (tensor<4x40xf32>, tensor<40x16xf32>) -> tensor<4x16xf32>
  return %2 : tensor<4x16xf32>
}
