// Arithmetic on sizes: what the elements are shows in the type of a ConstantOfShape.
// RUN: fathom-opt %s --mlir-very-unsafe-disable-verifier-on-parsing --infer-shapes | FileCheck %s

!bs = tensor<?x?xf32, #graph.enc<shape = ()[s0, s1] -> (s0, s1)>>

// CHECK-LABEL: @arithmetic
func.func @arithmetic(%x: !bs) {
  %c = graph.Constant dense<[7, 3]> : tensor<2xi64> as tensor<2xi64>
  %m = graph.Constant dense<[-2, 4]> : tensor<2xi64> as tensor<2xi64>
  %four = graph.Constant dense<4> : tensor<i64> as tensor<i64>
  %s = graph.Shape(%x) : (!bs) -> tensor<2xi64>
  %0 = graph.Add(%s, %c) : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi64>
  // CHECK: graph.ConstantOfShape{{.*}} (s0 + 7, s1 + 3)>>
  %a = graph.ConstantOfShape(%0) : (tensor<2xi64>) -> tensor<f32>
  %1 = graph.Mul(%0, %four) : (tensor<2xi64>, tensor<i64>) -> tensor<2xi64>
  // CHECK: graph.ConstantOfShape{{.*}} (s0 * 4 + 28, s1 * 4 + 12)>>
  %b = graph.ConstantOfShape(%1) : (tensor<2xi64>) -> tensor<f32>
  %2 = graph.Div(%1, %four) : (tensor<2xi64>, tensor<i64>) -> tensor<2xi64>
  // CHECK: graph.ConstantOfShape{{.*}} (s0 + 7, s1 + 3)>>
  %d = graph.ConstantOfShape(%2) : (tensor<2xi64>) -> tensor<f32>
  %3 = graph.Div(%s, %four) : (tensor<2xi64>, tensor<i64>) -> tensor<2xi64>
  // CHECK: graph.ConstantOfShape{{.*}} (s0 floordiv 4, s1 floordiv 4)>>
  %e = graph.ConstantOfShape(%3) : (tensor<2xi64>) -> tensor<f32>
  %4 = graph.Mod(%s, %four) : (tensor<2xi64>, tensor<i64>) -> tensor<2xi64>
  // CHECK: graph.ConstantOfShape{{.*}} (s0 mod 4, s1 mod 4)>>
  %f = graph.ConstantOfShape(%4) : (tensor<2xi64>) -> tensor<f32>
  // Division rounds towards zero: -2 / 7 is 0.
  %5 = graph.Div(%m, %c) : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi64>
  // CHECK: graph.ConstantOfShape{{.*}} tensor<0x1xf32>
  %g = graph.ConstantOfShape(%5) : (tensor<2xi64>) -> tensor<f32>
  // The remainder has the sign of the divisor: -2 mod 7 is 5.
  %6 = graph.Mod(%m, %c) : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi64>
  // CHECK: graph.ConstantOfShape{{.*}} tensor<5x1xf32>
  %h = graph.ConstantOfShape(%6) : (tensor<2xi64>) -> tensor<f32>
  %7 = graph.Max(%m, %c) : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi64>
  // CHECK: graph.ConstantOfShape{{.*}} tensor<7x4xf32>
  %i = graph.ConstantOfShape(%7) : (tensor<2xi64>) -> tensor<f32>
  %minus = graph.Sub(%s, %s) : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi64>
  // CHECK: graph.ConstantOfShape{{.*}} tensor<0x0xf32>
  %j = graph.ConstantOfShape(%minus) : (tensor<2xi64>) -> tensor<f32>
  %8 = graph.Size(%x) : (!bs) -> tensor<i64>
  // CHECK: graph.ConstantOfShape{{.*}} (s0 * s1)>>
  %k = graph.ConstantOfShape(%8) : (tensor<i64>) -> tensor<f32>
  %none = graph.None
  %9 = graph.ReduceProd(%0, %none) : (tensor<2xi64>, none) -> tensor<1xi64>
  // CHECK: graph.ConstantOfShape{{.*}} (s0 * s1 + s0 * 3 + s1 * 7 + 21)>>
  %l = graph.ConstantOfShape(%9) : (tensor<1xi64>) -> tensor<f32>
  return
}

// Exporters write "-1 keeps the size" as Equal and Where; the comparison is decided because a size is never negative.
// CHECK-LABEL: @decided
func.func @decided(%x: !bs, %y: tensor<1x1xf32>) {
  %minus = graph.Constant dense<[-1, 5]> : tensor<2xi64> as tensor<2xi64>
  %ones = graph.Constant dense<1> : tensor<2xi64> as tensor<2xi64>
  %s = graph.Shape(%x) : (!bs) -> tensor<2xi64>
  %negative = graph.Constant dense<-1> : tensor<2xi64> as tensor<2xi64>
  %0 = graph.Equal(%s, %negative) : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi1>
  %1 = graph.Where(%0, %ones, %s) : (tensor<2xi1>, tensor<2xi64>, tensor<2xi64>) -> tensor<2xi64>
  // CHECK: graph.Expand{{.*}} -> tensor<?x?xf32, #graph.enc<shape = ()[s0, s1] -> (s0, s1)>>
  %a = graph.Expand(%y, %1) : (tensor<1x1xf32>, tensor<2xi64>) -> tensor<f32>
  %2 = graph.GreaterOrEqual(%s, %ones) : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi1>
  %3 = graph.Cast(%2) {to = i64} : (tensor<2xi1>) -> tensor<2xi64>
  // CHECK: graph.ConstantOfShape{{.*}} tensor<1x1xf32>
  %b = graph.ConstantOfShape(%3) : (tensor<2xi64>) -> tensor<f32>
  %4 = graph.Less(%minus, %ones) : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi1>
  %5 = graph.Where(%4, %s, %minus) : (tensor<2xi1>, tensor<2xi64>, tensor<2xi64>) -> tensor<2xi64>
  // CHECK: graph.ConstantOfShape{{.*}} (s0, 5)>>
  %c = graph.ConstantOfShape(%5) : (tensor<2xi64>) -> tensor<f32>
  %6 = graph.Min(%s, %ones) : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi64>
  // CHECK: graph.ConstantOfShape{{.*}} tensor<1x1xf32>
  %d = graph.ConstantOfShape(%6) : (tensor<2xi64>) -> tensor<f32>
  return
}

// CHECK-LABEL: @moved
func.func @moved(%x: tensor<?x12x?x64xf32, #graph.enc<shape = ()[s0, s1] -> (s0, 12, s1, 64)>>) {
  %none = graph.None
  %i0 = graph.Constant dense<0> : tensor<i64> as tensor<i64>
  %i2 = graph.Constant dense<-2> : tensor<i64> as tensor<i64>
  %axis = graph.Constant dense<0> : tensor<1xi64> as tensor<1xi64>
  %two = graph.Constant dense<2> : tensor<1xi64> as tensor<1xi64>
  %last = graph.Constant dense<-1> : tensor<1xi64> as tensor<1xi64>
  %max = graph.Constant dense<9223372036854775807> : tensor<1xi64> as tensor<1xi64>
  %min = graph.Constant dense<-9223372036854775807> : tensor<1xi64> as tensor<1xi64>
  %s = graph.Shape(%x) : (tensor<?x12x?x64xf32, #graph.enc<shape = ()[s0, s1] -> (s0, 12, s1, 64)>>) -> tensor<4xi64>
  %b = graph.Gather(%s, %i0) : (tensor<4xi64>, tensor<i64>) -> tensor<i64>
  %q = graph.Gather(%s, %i2) : (tensor<4xi64>, tensor<i64>) -> tensor<i64>
  %b1 = graph.Unsqueeze(%b, %axis) : (tensor<i64>, tensor<1xi64>) -> tensor<1xi64>
  %q1 = graph.Reshape(%q, %last) : (tensor<i64>, tensor<1xi64>) -> tensor<1xi64>
  %768 = graph.Constant dense<768> : tensor<1xi64> as tensor<1xi64>
  %joined = graph.Concat(%b1, %q1, %768) {axis = 0 : i64} : (tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<3xi64>
  // CHECK: graph.Reshape{{.*}} -> tensor<?x?x768xf32, #graph.enc<shape = ()[s0, s1] -> (s0, s1, 768)>>
  %0 = graph.Reshape(%x, %joined) : (tensor<?x12x?x64xf32, #graph.enc<shape = ()[s0, s1] -> (s0, 12, s1, 64)>>, tensor<3xi64>) -> tensor<f32>
  %tail = graph.Slice(%s, %two, %max, %axis, %none) : (tensor<4xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, none) -> tensor<2xi64>
  // CHECK: graph.ConstantOfShape{{.*}} (s1, 64)>>
  %1 = graph.ConstantOfShape(%tail) : (tensor<2xi64>) -> tensor<f32>
  %back = graph.Slice(%s, %last, %min, %axis, %last) : (tensor<4xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<4xi64>
  // CHECK: graph.ConstantOfShape{{.*}} (64, s1, 12, s0)>>
  %2 = graph.ConstantOfShape(%back) : (tensor<4xi64>) -> tensor<f32>
  %scalar = graph.Squeeze(%b1, %none) : (tensor<1xi64>, none) -> tensor<i64>
  %twice = graph.Expand(%scalar, %two) : (tensor<i64>, tensor<1xi64>) -> tensor<2xi64>
  // CHECK: graph.ConstantOfShape{{.*}} (s0, s0)>>
  %3 = graph.ConstantOfShape(%twice) : (tensor<2xi64>) -> tensor<f32>
  %threes = graph.ConstantOfShape(%two) {value = dense<3> : tensor<1xi64>} : (tensor<1xi64>) -> tensor<2xi64>
  // CHECK: graph.ConstantOfShape{{.*}} -> tensor<3x3xf32>
  %4 = graph.ConstantOfShape(%threes) : (tensor<2xi64>) -> tensor<f32>
  return
}

// PyTorch lists pads from the last dimension on; its exporter turns them around in two dimensions.
// CHECK-LABEL: @pads
func.func @pads(%x: tensor<1x128x4xf32>) {
  %none = graph.None
  %pads = graph.Constant dense<[0, 0, 0, 1, 0, 2]> : tensor<6xi64> as tensor<6xi64>
  %pairs = graph.Constant dense<[-1, 2]> : tensor<2xi64> as tensor<2xi64>
  %zero = graph.Constant dense<0> : tensor<1xi64> as tensor<1xi64>
  %last = graph.Constant dense<-1> : tensor<1xi64> as tensor<1xi64>
  %min = graph.Constant dense<-9223372036854775807> : tensor<1xi64> as tensor<1xi64>
  %0 = graph.Reshape(%pads, %pairs) : (tensor<6xi64>, tensor<2xi64>) -> tensor<3x2xi64>
  %1 = graph.Slice(%0, %last, %min, %zero, %last) : (tensor<3x2xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<3x2xi64>
  %2 = graph.Transpose(%1) {perm = array<i64: 1, 0>} : (tensor<3x2xi64>) -> tensor<2x3xi64>
  %3 = graph.Reshape(%2, %last) : (tensor<2x3xi64>, tensor<1xi64>) -> tensor<6xi64>
  // CHECK: graph.Pad{{.*}} -> tensor<3x129x4xf32>
  %4 = graph.Pad(%x, %3, %none, %none) : (tensor<1x128x4xf32>, tensor<6xi64>, none, none) -> tensor<f32>
  %column = graph.Constant dense<[[2], [3]]> : tensor<2x1xi64> as tensor<2x1xi64>
  %two = graph.Constant dense<2> : tensor<1xi64> as tensor<1xi64>
  %5 = graph.Expand(%column, %two) : (tensor<2x1xi64>, tensor<1xi64>) -> tensor<2x2xi64>
  %6 = graph.Reshape(%5, %last) : (tensor<2x2xi64>, tensor<1xi64>) -> tensor<4xi64>
  // CHECK: graph.ConstantOfShape{{.*}} -> tensor<2x2x3x3xf32>
  %7 = graph.ConstantOfShape(%6) : (tensor<4xi64>) -> tensor<f32>
  return
}

// Constants in resources and arithmetic in floating point, as older exporters write the sizes of a Resize.
// CHECK-LABEL: @floats
func.func @floats(%x: tensor<1x3x10x20xf32>) {
  %none = graph.None
  %start = graph.Constant dense<2> : tensor<1xi64> as tensor<1xi64>
  %end = graph.Constant dense<4> : tensor<1xi64> as tensor<1xi64>
  %scale = graph.Constant dense<[1.5, 1.5]> : tensor<2xf32> as tensor<2xf32>
  %s = graph.Shape(%x) : (tensor<1x3x10x20xf32>) -> tensor<4xi64>
  %hw = graph.Slice(%s, %start, %end, %none, %none) : (tensor<4xi64>, tensor<1xi64>, tensor<1xi64>, none, none) -> tensor<2xi64>
  %f = graph.Cast(%hw) {to = f32} : (tensor<2xi64>) -> tensor<2xf32>
  %m = graph.Mul(%f, %scale) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %r = graph.Floor(%m) : (tensor<2xf32>) -> tensor<2xf32>
  %i = graph.Cast(%r) {to = i64} : (tensor<2xf32>) -> tensor<2xi64>
  %front = graph.Constant dense_resource<sizes> : tensor<2xi64> as tensor<2xi64>
  %sizes = graph.Concat(%front, %i) {axis = 0 : i64} : (tensor<2xi64>, tensor<2xi64>) -> tensor<4xi64>
  // CHECK: graph.Resize{{.*}} -> tensor<1x3x15x30xf32>
  %0 = graph.Resize(%x, %none, %none, %sizes) : (tensor<1x3x10x20xf32>, none, none, tensor<4xi64>) -> tensor<f32>
  return
}

{-#
  dialect_resources: {
    builtin: {
      sizes: "0x0800000001000000000000000300000000000000"
    }
  }
#-}
