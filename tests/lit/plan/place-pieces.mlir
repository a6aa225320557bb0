// RUN: fathom-opt --place-pieces --target=neoverse-n1 --split-input-file %s | FileCheck %s

!last = tensor<2x16x4x4xf32, #graph.enc<order = [0, 2, 3, 1]>>
!haloed = tensor<2x16x4x4xf32, #graph.enc<order = [0, 2, 3, 1], halo = [0, 0, 0, 0, 1, 1, 1, 1]>>
!both = tensor<2x32x4x4xf32, #graph.enc<order = [0, 2, 3, 1]>>
!three = tensor<2x48x4x4xf32, #graph.enc<order = [0, 2, 3, 1]>>

// Pieces of pieces have room for all, and the zeros that one of them needs.
// CHECK-LABEL: func @nested
// CHECK: graph.Exp({{.*}}halo = [0, 0, 0, 0, 1, 1, 1, 1], room = [0, 32, 0, 0]>>
// CHECK: graph.Neg({{.*}}halo = [0, 0, 0, 0, 1, 1, 1, 1], room = [0, 32, 0, 0]>>
// CHECK: graph.Concat({{.*}}graph.in_place{{.*}} -> tensor<2x32x4x4xf32, {{.*}}halo = [0, 0, 0, 0, 1, 1, 1, 1], room = [0, 16, 0, 0]>>
// CHECK: graph.Concat({{.*}}graph.in_place{{.*}} -> tensor<2x48x4x4xf32, #graph.enc<order = [0, 2, 3, 1], halo = [0, 0, 0, 0, 1, 1, 1, 1]>>
// CHECK: graph.Tanh
func.func @nested(%x: !last) -> !three {
  %a = graph.Exp(%x) {graph.name = "a"} : (!last) -> !haloed
  %b = graph.Neg(%x) {graph.name = "b"} : (!last) -> !last
  %ab = graph.Concat(%a, %b) {axis = 1, graph.name = "ab"} : (!haloed, !last) -> !both
  %c = graph.Relu(%x) {graph.name = "c"} : (!last) -> !last
  %abc = graph.Concat(%ab, %c) {axis = 1, graph.name = "abc"} : (!both, !last) -> !three
  %y = graph.Tanh(%abc) {graph.name = "y"} : (!three) -> !three
  return %y : !three
}

// -----

!last = tensor<2x16x4x4xf32, #graph.enc<order = [0, 2, 3, 1]>>
!three = tensor<2x48x4x4xf32, #graph.enc<order = [0, 2, 3, 1]>>

// What no kernel writes is copied into its part, and so is what is there twice.
// CHECK-LABEL: func @copied
// CHECK: %[[A:.*]] = graph.Exp({{.*}}room = [0, 32, 0, 0]>>
// CHECK: %[[B:.*]] = graph.Neg({{.*}}room = [0, 32, 0, 0]>>
// CHECK: %[[X:.*]] = graph.Relayout(%arg0) {graph.name = "c.part1", graph.output} {{.*}}room = [0, 32, 0, 0]>>
// CHECK: graph.Concat(%[[A]], %[[X]], %[[B]]) {axis = 1 : i64, graph.in_place
func.func @copied(%x: !last) -> (!three, !last) {
  %a = graph.Exp(%x) {graph.name = "a"} : (!last) -> !last
  %b = graph.Neg(%x) {graph.name = "b"} : (!last) -> !last
  %c = graph.Concat(%a, %x, %b) {axis = 1, graph.name = "c"} : (!last, !last, !last) -> !three
  %e = graph.Relu(%b) {graph.name = "e"} : (!last) -> !last
  return %c, %e : !three, !last
}

// -----

// Behind the outermost dimension that has more than one position, pieces need no room: also seen through views.
// CHECK-LABEL: func @outermost
// CHECK: graph.Exp({{.*}}) {{.*}} -> tensor<6x4xf32>
// CHECK: graph.Concat({{.*}}graph.in_place{{.*}} -> tensor<1x5x2x4xf32>
func.func @outermost(%x: tensor<6x4xf32>, %z: tensor<1x2x2x4xf32>, %shape: tensor<4xi64>) -> tensor<1x5x2x4xf32> {
  %n = graph.Constant dense<[1, 3, 2, 4]> : tensor<4xi64> as tensor<4xi64>
  %a = graph.Exp(%x) {graph.name = "a"} : (tensor<6x4xf32>) -> tensor<6x4xf32>
  %r = graph.Reshape(%a, %n) : (tensor<6x4xf32>, tensor<4xi64>) -> tensor<1x3x2x4xf32>
  %b = graph.Neg(%z) {graph.name = "b"} : (tensor<1x2x2x4xf32>) -> tensor<1x2x2x4xf32>
  %c = graph.Concat(%r, %b) {axis = 1, graph.name = "c"} : (tensor<1x3x2x4xf32>, tensor<1x2x2x4xf32>) -> tensor<1x5x2x4xf32>
  return %c : tensor<1x5x2x4xf32>
}

// -----

// A kernel stays one: where an operand leaves the model, where a view needs it in one piece, where runs are short, and where copying would
// cost more than the kernel that reads the result.
// CHECK-LABEL: func @kernels
// CHECK-NOT: graph.in_place
func.func @kernels(%x: tensor<2x16xf32>, %z: tensor<2x3xf32>) -> (tensor<2x16xf32>, tensor<2x32xf32>, tensor<2x6xf32>, tensor<2x32xf32>, tensor<32xf32>) {
  %n = graph.Constant dense<32> : tensor<1xi64> as tensor<1xi64>
  %a = graph.Exp(%x) {graph.name = "a"} : (tensor<2x16xf32>) -> tensor<2x16xf32>
  %c = graph.Concat(%a, %x) {axis = 1, graph.name = "c"} : (tensor<2x16xf32>, tensor<2x16xf32>) -> tensor<2x32xf32>
  %s = graph.Exp(%z) {graph.name = "s"} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %t = graph.Neg(%z) {graph.name = "t"} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %d = graph.Concat(%s, %t) {axis = 1, graph.name = "d"} : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x6xf32>
  %b = graph.Neg(%x) {graph.name = "b"} : (tensor<2x16xf32>) -> tensor<2x16xf32>
  %r = graph.Reshape(%b, %n) : (tensor<2x16xf32>, tensor<1xi64>) -> tensor<32xf32>
  %f = graph.Concat(%b, %x) {axis = 1, graph.name = "f"} : (tensor<2x16xf32>, tensor<2x16xf32>) -> tensor<2x32xf32>
  %g = graph.Relu(%f) {graph.name = "g"} : (tensor<2x32xf32>) -> tensor<2x32xf32>
  %h = graph.Exp(%r) {graph.name = "h"} : (tensor<32xf32>) -> tensor<32xf32>
  return %a, %c, %d, %g, %h : tensor<2x16xf32>, tensor<2x32xf32>, tensor<2x6xf32>, tensor<2x32xf32>, tensor<32xf32>
}

// -----

!last = tensor<2x32x4x4xf32, #graph.enc<order = [0, 2, 3, 1]>>
!part = tensor<2x16x4x4xf32, #graph.enc<order = [0, 2, 3, 1], halo = [0, 0, 0, 0, 1, 1, 1, 1]>>
!result = tensor<2x16x4x4xf32, #graph.enc<order = [0, 2, 3, 1]>>

// A slice is read where its input has it; the zeros that are needed around it are written around the input.
// CHECK-LABEL: func @sliced
// CHECK: graph.Exp({{.*}} -> tensor<2x32x4x4xf32, {{.*}}halo = [0, 0, 0, 0, 1, 1, 1, 1]>>
// CHECK: graph.Slice({{.*}}graph.in_place{{.*}} -> tensor<2x16x4x4xf32, {{.*}}halo = [0, 0, 0, 0, 1, 1, 1, 1], room = [0, 16, 0, 0]>>
func.func @sliced(%x: !last) -> !result {
  %n = graph.None
  %low = graph.Constant dense<16> : tensor<1xi64> as tensor<1xi64>
  %high = graph.Constant dense<32> : tensor<1xi64> as tensor<1xi64>
  %axis = graph.Constant dense<1> : tensor<1xi64> as tensor<1xi64>
  %a = graph.Exp(%x) {graph.name = "a"} : (!last) -> !last
  %s = graph.Slice(%a, %low, %high, %axis, %n) {graph.name = "s"} : (!last, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, none) -> !part
  %y = graph.Neg(%s) {graph.name = "y"} : (!part) -> !result
  return %y : !result
}

// -----

// A stretch of the memory of an input can be seen through views; what leaves the model, steps or has runs shorter than a cache line is copied.
// CHECK-LABEL: func @copied_slices
// CHECK-DAG: graph.Slice({{.*}}graph.in_place{{.*}}graph.name = "a"
// CHECK-DAG: graph.Slice({{.*}}) {graph.name = "b"}
// CHECK-DAG: graph.Slice({{.*}}) {graph.name = "c"}
// CHECK-DAG: graph.Slice({{.*}}) {graph.name = "d"}
func.func @copied_slices(%x: tensor<4x6xf32>) -> (tensor<6xf32>, tensor<2x6xf32>, tensor<2x6xf32>, tensor<4x1xf32>) {
  %n = graph.None
  %0 = graph.Constant dense<0> : tensor<1xi64> as tensor<1xi64>
  %1 = graph.Constant dense<1> : tensor<1xi64> as tensor<1xi64>
  %2 = graph.Constant dense<2> : tensor<1xi64> as tensor<1xi64>
  %4 = graph.Constant dense<4> : tensor<1xi64> as tensor<1xi64>
  %a = graph.Slice(%x, %1, %2, %0, %n) {graph.name = "a"} : (tensor<4x6xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, none) -> tensor<1x6xf32>
  %r = graph.Squeeze(%a, %0) : (tensor<1x6xf32>, tensor<1xi64>) -> tensor<6xf32>
  %y = graph.Exp(%r) {graph.name = "y"} : (tensor<6xf32>) -> tensor<6xf32>
  %b = graph.Slice(%x, %2, %4, %0, %n) {graph.name = "b"} : (tensor<4x6xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, none) -> tensor<2x6xf32>
  %c = graph.Slice(%x, %0, %4, %0, %2) {graph.name = "c"} : (tensor<4x6xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<2x6xf32>
  %z = graph.Exp(%c) {graph.name = "z"} : (tensor<2x6xf32>) -> tensor<2x6xf32>
  %d = graph.Slice(%x, %1, %2, %1, %n) {graph.name = "d"} : (tensor<4x6xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, none) -> tensor<4x1xf32>
  %w = graph.Exp(%d) {graph.name = "w"} : (tensor<4x1xf32>) -> tensor<4x1xf32>
  return %y, %b, %z, %w : tensor<6xf32>, tensor<2x6xf32>, tensor<2x6xf32>, tensor<4x1xf32>
}
