// RUN: fathom-opt --convert-layout --target=neoverse-n1 --split-input-file %s | FileCheck %s
// example behind decompose-quantized, simplify-inference, canonicalize-ops, name-ops

// A convolution reads channels innermost, with its padding as zeros around the pixels, and packed weights.
// CHECK-LABEL: func @conv
// CHECK: %[[X:.*]] = graph.Relayout(%arg0) {{.*}} tensor<1x3x5x5xf32, #graph.enc<order = [0, 2, 3, 1], halo = [0, 0, 0, 0, 1, 1, 1, 1]>>
// CHECK: %[[W:.*]] = graph.Relayout({{.*}}order = [0, 2, 3, 1, 0], block
// CHECK: graph.Conv(%[[X]], %[[W]], {{.*}}) {{.*}} -> tensor<1x8x5x5xf32, #graph.enc<order = [0, 2, 3, 1]>>
// CHECK: graph.Relayout({{.*}}) {{.*}} -> tensor<1x8x5x5xf32>
func.func @conv(%x: tensor<1x3x5x5xf32>) -> tensor<1x8x5x5xf32> {
  %n = graph.None
  %w = graph.Constant dense<2.0> : tensor<8x3x3x3xf32> as tensor<8x3x3x3xf32>
  %c = graph.Conv(%x, %w, %n) {pads = array<i64: 1, 1, 1, 1>, graph.name = "y"} : (tensor<1x3x5x5xf32>, tensor<8x3x3x3xf32>, none) -> tensor<1x8x5x5xf32>
  return %c : tensor<1x8x5x5xf32>
}

// -----

// One of single channels leaves out what lies outside of the image.
// CHECK-LABEL: func @depthwise
// CHECK: %[[X:.*]] = graph.Relayout(%arg0) {{.*}} tensor<1x8x5x5xf32, #graph.enc<order = [0, 2, 3, 1]>>
// CHECK: graph.Conv(%[[X]],
func.func @depthwise(%x: tensor<1x8x5x5xf32>) -> tensor<1x8x5x5xf32> {
  %n = graph.None
  %w = graph.Constant dense<2.0> : tensor<8x1x3x3xf32> as tensor<8x1x3x3xf32>
  %c = graph.Conv(%x, %w, %n) {group = 8 : i64, pads = array<i64: 1, 1, 1, 1>, graph.name = "y"} : (tensor<1x8x5x5xf32>, tensor<8x1x3x3xf32>, none) -> tensor<1x8x5x5xf32>
  return %c : tensor<1x8x5x5xf32>
}

// -----

// Where a row ends must be known for that: zeros lie at the ends of the others.
// CHECK-LABEL: func @depthwise_of_any_size
// CHECK: graph.Relayout(%arg0) {{.*}} #graph.enc<shape = ()[s0, s1] -> (1, 8, s0, s1), order = [0, 2, 3, 1], halo = [0, 0, 0, 0, 0, 0, 1, 1]>>
func.func @depthwise_of_any_size(%x: tensor<1x8x?x?xf32, #graph.enc<shape = ()[s0, s1] -> (1, 8, s0, s1)>>) -> tensor<1x8x?x?xf32, #graph.enc<shape = ()[s0, s1] -> (1, 8, s0, s1)>> {
  %n = graph.None
  %w = graph.Constant dense<2.0> : tensor<8x1x3x3xf32> as tensor<8x1x3x3xf32>
  %c = graph.Conv(%x, %w, %n) {group = 8 : i64, pads = array<i64: 1, 1, 1, 1>, graph.name = "y"} : (tensor<1x8x?x?xf32, #graph.enc<shape = ()[s0, s1] -> (1, 8, s0, s1)>>, tensor<8x1x3x3xf32>, none) -> tensor<1x8x?x?xf32, #graph.enc<shape = ()[s0, s1] -> (1, 8, s0, s1)>>
  return %c : tensor<1x8x?x?xf32, #graph.enc<shape = ()[s0, s1] -> (1, 8, s0, s1)>>
}

// -----

// A product that is only seen transposed is stored the way its reader wants it: the transpose is a view of row-major data.
// CHECK-LABEL: func @transposed_product
// CHECK: graph.MatMul({{.*}}) {{.*}} -> tensor<2x3x5x8xf32, #graph.enc<order = [0, 2, 1, 3]>>
// CHECK: graph.Transpose({{.*}}) {{.*}} -> tensor<2x5x3x8xf32>
// CHECK-NEXT: return
func.func @transposed_product(%a: tensor<2x3x5x4xf32>, %b: tensor<2x3x4x8xf32>) -> tensor<2x5x3x8xf32> {
  %0 = graph.MatMul(%a, %b) {graph.name = "p"} : (tensor<2x3x5x4xf32>, tensor<2x3x4x8xf32>) -> tensor<2x3x5x8xf32>
  %1 = graph.Transpose(%0) {perm = array<i64: 0, 2, 1, 3>} : (tensor<2x3x5x8xf32>) -> tensor<2x5x3x8xf32>
  return %1 : tensor<2x5x3x8xf32>
}

// -----

// What only a convolution reads is written channels innermost by the op that computes it: nothing is copied.
// CHECK-LABEL: func @scaled_input
// CHECK-NOT: graph.Relayout(%arg0)
// CHECK: %[[S:.*]] = graph.Mul(%arg0, {{.*}}) {{.*}} -> tensor<1x3x5x5xf32, #graph.enc<order = [0, 2, 3, 1], halo = [0, 0, 0, 0, 1, 1, 1, 1]>>
// CHECK: graph.Conv(%[[S]],
func.func @scaled_input(%x: tensor<1x3x5x5xf32>) -> tensor<1x8x5x5xf32> {
  %n = graph.None
  %w = graph.Constant dense<2.0> : tensor<8x3x3x3xf32> as tensor<8x3x3x3xf32>
  %k = graph.Constant dense<0.5> : tensor<1xf32> as tensor<1xf32>
  %s = graph.Mul(%x, %k) {graph.name = "s"} : (tensor<1x3x5x5xf32>, tensor<1xf32>) -> tensor<1x3x5x5xf32>
  %c = graph.Conv(%s, %w, %n) {pads = array<i64: 1, 1, 1, 1>, graph.name = "y"} : (tensor<1x3x5x5xf32>, tensor<8x3x3x3xf32>, none) -> tensor<1x8x5x5xf32>
  return %c : tensor<1x8x5x5xf32>
}

// -----

// Two inputs that are rows and a result that must be outweigh one convolution: the sums stay rows.
// CHECK-LABEL: func @mostly_rows
// CHECK: graph.Add({{.*}}) {graph.name = "a"} : {{.*}} -> tensor<1x8x5x5xf32>
// CHECK: graph.Add({{.*}}) {graph.name = "b"} : {{.*}} -> tensor<1x8x5x5xf32>
// CHECK-NEXT: return
func.func @mostly_rows(%x: tensor<1x3x5x5xf32>, %y: tensor<1x8x5x5xf32>, %z: tensor<1x8x5x5xf32>) -> tensor<1x8x5x5xf32> {
  %n = graph.None
  %w = graph.Constant dense<2.0> : tensor<8x3x3x3xf32> as tensor<8x3x3x3xf32>
  %c = graph.Conv(%x, %w, %n) {pads = array<i64: 1, 1, 1, 1>, graph.name = "c"} : (tensor<1x3x5x5xf32>, tensor<8x3x3x3xf32>, none) -> tensor<1x8x5x5xf32>
  %a = graph.Add(%c, %y) {graph.name = "a"} : (tensor<1x8x5x5xf32>, tensor<1x8x5x5xf32>) -> tensor<1x8x5x5xf32>
  %b = graph.Add(%a, %z) {graph.name = "b"} : (tensor<1x8x5x5xf32>, tensor<1x8x5x5xf32>) -> tensor<1x8x5x5xf32>
  return %b : tensor<1x8x5x5xf32>
}

// -----

// Where no convolution is near, nothing is channels innermost.
// CHECK-LABEL: func @no_convolution
// CHECK: graph.Add({{.*}}) {graph.name = "s"} : {{.*}} -> tensor<2x3x5x5xf32>
func.func @no_convolution(%x: tensor<2x1x1x5xf32>, %y: tensor<1x3x5x1xf32>) -> tensor<2x3x5x5xf32> {
  %s = graph.Add(%x, %y) {graph.name = "s"} : (tensor<2x1x1x5xf32>, tensor<1x3x5x1xf32>) -> tensor<2x3x5x5xf32>
  return %s : tensor<2x3x5x5xf32>
}

// -----

// A transposed convolution reads as many zeros around the pixels as taps of its phases reach outside, and panels of its
// output channels.
// CHECK-LABEL: func @transposed
// CHECK: %[[X:.*]] = graph.Relayout(%arg0) {{.*}} tensor<1x8x5x6xf32, #graph.enc<order = [0, 2, 3, 1], halo = [0, 0, 0, 0, 1, 1, 1, 1]>>
// CHECK: %[[W:.*]] = graph.Relayout({{.*}}order = [1, 2, 3, 0, 1], block
// CHECK: graph.ConvTranspose(%[[X]], %[[W]], {{.*}}) {{.*}} -> tensor<1x16x10x13xf32, #graph.enc<order = [0, 2, 3, 1]>>
func.func @transposed(%x: tensor<1x8x5x6xf32>) -> tensor<1x16x10x13xf32> {
  %n = graph.None
  %w = graph.Constant dense<2.0> : tensor<8x16x4x3xf32> as tensor<8x16x4x3xf32>
  %c = graph.ConvTranspose(%x, %w, %n) {pads = array<i64: 1, 0, 1, 0>, strides = array<i64: 2, 2>, graph.name = "y"} : (tensor<1x8x5x6xf32>, tensor<8x16x4x3xf32>, none) -> tensor<1x16x10x13xf32>
  return %c : tensor<1x16x10x13xf32>
}

// -----

// Of single channels, all lie side by side for every tap.
// CHECK-LABEL: func @transposed_depthwise
// CHECK: graph.Relayout({{.*}}-> tensor<8x1x4x4xf32, #graph.enc<order = [2, 3, 0, 1]>>
func.func @transposed_depthwise(%x: tensor<1x8x5x5xf32>) -> tensor<1x8x10x10xf32> {
  %n = graph.None
  %w = graph.Constant dense<2.0> : tensor<8x1x4x4xf32> as tensor<8x1x4x4xf32>
  %c = graph.ConvTranspose(%x, %w, %n) {group = 8 : i64, pads = array<i64: 1, 1, 1, 1>, strides = array<i64: 2, 2>, graph.name = "y"} : (tensor<1x8x5x5xf32>, tensor<8x1x4x4xf32>, none) -> tensor<1x8x10x10xf32>
  return %c : tensor<1x8x10x10xf32>
}

// -----

// Pixels in one row, and transposed to tokens, are views of what a convolution wrote: nothing changes its order.
// CHECK-LABEL: func @tokens
// CHECK: %[[C:.*]] = graph.Conv(
// CHECK-NEXT: %[[FLAT:.*]] = graph.Reshape(%[[C]], {{.*}} -> tensor<2x8x35xf32, #graph.enc<order = [0, 2, 1]>>
// CHECK-NEXT: %[[TOKENS:.*]] = graph.Transpose(%[[FLAT]]) {{.*}} -> tensor<2x35x8xf32>
// CHECK-NEXT: return %[[TOKENS]]
func.func @tokens(%x: tensor<2x3x5x7xf32>) -> tensor<2x35x8xf32> {
  %n = graph.None
  %s = graph.Constant dense<[2, 8, 35]> : tensor<3xi64> as tensor<3xi64>
  %w = graph.Constant dense<2.0> : tensor<8x3x1x1xf32> as tensor<8x3x1x1xf32>
  %c = graph.Conv(%x, %w, %n) {graph.name = "c"} : (tensor<2x3x5x7xf32>, tensor<8x3x1x1xf32>, none) -> tensor<2x8x5x7xf32>
  %f = graph.Reshape(%c, %s) {graph.name = "f"} : (tensor<2x8x5x7xf32>, tensor<3xi64>) -> tensor<2x8x35xf32>
  %t = graph.Transpose(%f) {graph.name = "t", perm = array<i64: 0, 2, 1>} : (tensor<2x8x35xf32>) -> tensor<2x35x8xf32>
  return %t : tensor<2x35x8xf32>
}

// -----

// Channels that are merged with rows of pixels do not follow each other in memory.
// CHECK-LABEL: func @merged
// CHECK: %[[C:.*]] = graph.Conv(
// CHECK-NEXT: %[[ROWS:.*]] = graph.Relayout(%[[C]]) {{.*}} -> tensor<2x8x5x7xf32>
// CHECK-NEXT: graph.Reshape(%[[ROWS]],
func.func @merged(%x: tensor<2x3x5x7xf32>) -> tensor<2x40x7xf32> {
  %n = graph.None
  %s = graph.Constant dense<[2, 40, 7]> : tensor<3xi64> as tensor<3xi64>
  %w = graph.Constant dense<2.0> : tensor<8x3x1x1xf32> as tensor<8x3x1x1xf32>
  %c = graph.Conv(%x, %w, %n) {graph.name = "c"} : (tensor<2x3x5x7xf32>, tensor<8x3x1x1xf32>, none) -> tensor<2x8x5x7xf32>
  %f = graph.Reshape(%c, %s) {graph.name = "f"} : (tensor<2x8x5x7xf32>, tensor<3xi64>) -> tensor<2x40x7xf32>
  return %f : tensor<2x40x7xf32>
}

// -----

// A product's rows are the pixels of an image with its channels innermost.
// CHECK-LABEL: func @image
// CHECK: %[[M:.*]] = graph.MatMul({{.*}} -> tensor<2x35x8xf32>
// CHECK-NEXT: %[[T:.*]] = graph.Transpose(%[[M]]) {{.*}} -> tensor<2x8x35xf32, #graph.enc<order = [0, 2, 1]>>
// CHECK-NEXT: %[[I:.*]] = graph.Reshape(%[[T]], {{.*}} -> tensor<2x8x5x7xf32, #graph.enc<order = [0, 2, 3, 1]>>
// CHECK-NEXT: %[[R:.*]] = graph.Relu(%[[I]]) {{.*}} -> tensor<2x8x5x7xf32, #graph.enc<order = [0, 2, 3, 1]>>
// CHECK: graph.Conv(%[[R]],
func.func @image(%x: tensor<2x35x6xf32>) -> tensor<2x9x5x7xf32> {
  %n = graph.None
  %s = graph.Constant dense<[2, 8, 5, 7]> : tensor<4xi64> as tensor<4xi64>
  %a = graph.Constant dense<2.0> : tensor<6x8xf32> as tensor<6x8xf32>
  %w = graph.Constant dense<2.0> : tensor<9x8x1x1xf32> as tensor<9x8x1x1xf32>
  %m = graph.MatMul(%x, %a) {graph.name = "m"} : (tensor<2x35x6xf32>, tensor<6x8xf32>) -> tensor<2x35x8xf32>
  %t = graph.Transpose(%m) {graph.name = "t", perm = array<i64: 0, 2, 1>} : (tensor<2x35x8xf32>) -> tensor<2x8x35xf32>
  %i = graph.Reshape(%t, %s) {graph.name = "i"} : (tensor<2x8x35xf32>, tensor<4xi64>) -> tensor<2x8x5x7xf32>
  %r = graph.Relu(%i) {graph.name = "r"} : (tensor<2x8x5x7xf32>) -> tensor<2x8x5x7xf32>
  %c = graph.Conv(%r, %w, %n) {graph.name = "c"} : (tensor<2x8x5x7xf32>, tensor<9x8x1x1xf32>, none) -> tensor<2x9x5x7xf32>
  return %c : tensor<2x9x5x7xf32>
}

// -----

// The next weight leaves the model as it came, in rows, whatever the order of its gradient is.
// CHECK-LABEL: func @step_of_training
// CHECK: %[[G:.*]] = graph.Transpose({{.*}} -> tensor<8x4x3xf32, #graph.enc<order = [1, 2, 0]>>
// CHECK: %[[S:.*]] = graph.Mul(%[[G]], {{.*}} -> tensor<8x4x3xf32, #graph.enc<order = [1, 2, 0]>>
// CHECK: graph.Sub(%arg1, %[[S]]) {{.*}} -> tensor<8x4x3xf32>
func.func @step_of_training(%g: tensor<4x3x8xf32>, %w: tensor<8x4x3xf32>) -> tensor<8x4x3xf32> {
  %rate = graph.Constant dense<0.5> : tensor<f32> as tensor<f32>
  %t = graph.Transpose(%g) {perm = array<i64: 2, 0, 1>, graph.name = "t"} : (tensor<4x3x8xf32>) -> tensor<8x4x3xf32>
  %s = graph.Mul(%t, %rate) {graph.name = "s"} : (tensor<8x4x3xf32>, tensor<f32>) -> tensor<8x4x3xf32>
  %y = graph.Sub(%w, %s) {graph.name = "y"} : (tensor<8x4x3xf32>, tensor<8x4x3xf32>) -> tensor<8x4x3xf32>
  return %y : tensor<8x4x3xf32>
}

// -----

// Filters that only the run knows are turned in squares before panels are made of them; 1x1 filters need not.
// CHECK-LABEL: func @filters_of_the_run
// CHECK: %[[T:.*]] = graph.Relayout(%arg1) {{.*}} -> tensor<8x3x3x3xf32, #graph.enc<order = [1, 2, 3, 0]>>
// CHECK: graph.Relayout(%[[T]]) {{.*}}order = [0, 2, 3, 1, 0], block
// CHECK: graph.Relayout(%arg2) {{.*}}order = [0, 2, 3, 1, 0], block
func.func @filters_of_the_run(%x: tensor<1x3x5x5xf32>, %w: tensor<8x3x3x3xf32>, %v: tensor<8x8x1x1xf32>) -> tensor<1x8x5x5xf32> {
  %n = graph.None
  %c = graph.Conv(%x, %w, %n) {pads = array<i64: 1, 1, 1, 1>, graph.name = "c"} : (tensor<1x3x5x5xf32>, tensor<8x3x3x3xf32>, none) -> tensor<1x8x5x5xf32>
  %d = graph.Conv(%c, %v, %n) {graph.name = "d"} : (tensor<1x8x5x5xf32>, tensor<8x8x1x1xf32>, none) -> tensor<1x8x5x5xf32>
  return %d : tensor<1x8x5x5xf32>
}
