// Shape functions of ops that move data, static and symbolic.
// RUN: fathom-opt %s --mlir-very-unsafe-disable-verifier-on-parsing --infer-shapes | FileCheck %s

!bsc = tensor<?x?x768xf32, #graph.enc<shape = ()[s0, s1] -> (s0, s1, 768)>>
!bs = tensor<?x?xf32, #graph.enc<shape = ()[s0, s1] -> (s0, s1)>>

// CHECK-LABEL: @reshape
func.func @reshape(%x: !bsc, %y: tensor<2x3x4xf32>, %h: tensor<?x?x12x64xf32, #graph.enc<shape = ()[s0, s1] -> (s0, s1, 12, 64)>>, %e: tensor<0x3xf32>,
                   %z: tensor<?x?xf32, #graph.enc<shape = ()[s0, s1] -> (s0 + 1, s1 * 6 + 3)>>) {
  %heads = graph.Constant dense<[0, 0, 12, -1]> : tensor<4xi64> as tensor<4xi64>
  %merge = graph.Constant dense<[0, -1, 768]> : tensor<3xi64> as tensor<3xi64>
  %flat = graph.Constant dense<-1> : tensor<1xi64> as tensor<1xi64>
  %zero = graph.Constant dense<[3, 0]> : tensor<2xi64> as tensor<2xi64>
  %threes = graph.Constant dense<[-1, 3]> : tensor<2xi64> as tensor<2xi64>
  // CHECK: graph.Reshape{{.*}} -> tensor<?x?x12x64xf32, #graph.enc<shape = ()[s0, s1] -> (s0, s1, 12, 64)>>
  %0 = graph.Reshape(%x, %heads) : (!bsc, tensor<4xi64>) -> tensor<f32>
  // CHECK: graph.Reshape{{.*}} -> tensor<?x?x768xf32, #graph.enc<shape = ()[s0, s1] -> (s0, s1, 768)>>
  %1 = graph.Reshape(%h, %merge) : (tensor<?x?x12x64xf32, #graph.enc<shape = ()[s0, s1] -> (s0, s1, 12, 64)>>, tensor<3xi64>) -> tensor<f32>
  // CHECK: graph.Reshape{{.*}} -> tensor<?xf32, #graph.enc<shape = ()[s0, s1] -> ((s0 * s1) * 768)>>
  %2 = graph.Reshape(%x, %flat) : (!bsc, tensor<1xi64>) -> tensor<f32>
  // CHECK: graph.Reshape{{.*}} -> tensor<3x0xf32>
  %3 = graph.Reshape(%e, %zero) {allowzero = 1 : i64} : (tensor<0x3xf32>, tensor<2xi64>) -> tensor<f32>
  // CHECK: graph.Reshape{{.*}} -> tensor<?x3xf32, #graph.enc<shape = ()[s0, s1] -> ((s0 * s1) * 2 + s0 + s1 * 2 + 1, 3)>>
  %4 = graph.Reshape(%z, %threes) : (tensor<?x?xf32, #graph.enc<shape = ()[s0, s1] -> (s0 + 1, s1 * 6 + 3)>>, tensor<2xi64>) -> tensor<f32>
  // CHECK: graph.Flatten{{.*}} -> tensor<?x768xf32, #graph.enc<shape = ()[s0, s1] -> (s0 * s1, 768)>>
  %5 = graph.Flatten(%x) {axis = -1 : i64} : (!bsc) -> tensor<f32>
  // CHECK: graph.Flatten{{.*}} -> tensor<1x24xf32>
  %6 = graph.Flatten(%y) {axis = 0 : i64} : (tensor<2x3x4xf32>) -> tensor<f32>
  return
}

// CHECK-LABEL: @windows
func.func @windows(%x: tensor<?x?x?x4xf32, #graph.enc<shape = ()[s0, s1, s2] -> (s0, s1, s2, 4)>>, %y: tensor<?x?xf32, #graph.enc<shape = ()[s0, s1] -> (s0, s1 floordiv 2)>>) {
  // As if 7 divided the image: that it does is checked when it runs.
  %windows = graph.Sizes affine_map<()[s0, s1, s2] -> (-1, s1 floordiv 7, 7, s2 floordiv 7, 7, 4)> as tensor<6xi64>
  // CHECK: graph.Reshape{{.*}} -> tensor<?x?x7x?x7x4xf32, #graph.enc<shape = ()[s0, s1, s2] -> (s0, s1 floordiv 7, 7, s2 floordiv 7, 7, 4)>>
  %0 = graph.Reshape(%x, %windows) : (tensor<?x?x?x4xf32, #graph.enc<shape = ()[s0, s1, s2] -> (s0, s1, s2, 4)>>, tensor<6xi64>) -> tensor<f32>
  %halves = graph.Sizes affine_map<()[s0, s1] -> (-1, s1 floordiv 14)> as tensor<2xi64>
  // CHECK: graph.Reshape{{.*}} -> tensor<?x?xf32, #graph.enc<shape = ()[s0, s1] -> (s0 * 7, s1 floordiv 14)>>
  %1 = graph.Reshape(%y, %halves) : (tensor<?x?xf32, #graph.enc<shape = ()[s0, s1] -> (s0, s1 floordiv 2)>>, tensor<2xi64>) -> tensor<f32>
  return
}

// CHECK-LABEL: @views
func.func @views(%x: !bsc, %y: tensor<2x1x3x1xf32>) {
  %none = graph.None
  %axes = graph.Constant dense<[-1, 1]> : tensor<2xi64> as tensor<2xi64>
  %tiles = graph.Constant dense<[2, 1, 3]> : tensor<3xi64> as tensor<3xi64>
  %wide = graph.Constant dense<[4, 1, 1, 768]> : tensor<4xi64> as tensor<4xi64>
  // CHECK: graph.Squeeze{{.*}} -> tensor<2x3xf32>
  %0 = graph.Squeeze(%y, %none) : (tensor<2x1x3x1xf32>, none) -> tensor<f32>
  // CHECK: graph.Squeeze{{.*}} -> tensor<2x3xf32>
  %1 = graph.Squeeze(%y, %axes) : (tensor<2x1x3x1xf32>, tensor<2xi64>) -> tensor<f32>
  // CHECK: graph.Unsqueeze{{.*}} -> tensor<?x1x?x768x1xf32, #graph.enc<shape = ()[s0, s1] -> (s0, 1, s1, 768, 1)>>
  %2 = graph.Unsqueeze(%x, %axes) : (!bsc, tensor<2xi64>) -> tensor<f32>
  // CHECK: graph.Transpose{{.*}} -> tensor<768x?x?xf32, #graph.enc<shape = ()[s0, s1] -> (768, s1, s0)>>
  %3 = graph.Transpose(%x) : (!bsc) -> tensor<f32>
  // CHECK: graph.Expand{{.*}} -> tensor<4x?x?x768xf32, #graph.enc<shape = ()[s0, s1] -> (4, s0, s1, 768)>>
  %4 = graph.Expand(%x, %wide) : (!bsc, tensor<4xi64>) -> tensor<f32>
  %other = graph.Sizes affine_map<()[s0, s1, s2] -> (s2, s1, 768)> as tensor<3xi64>
  // A symbolic size is 1 or the one that the shape says.
  // CHECK: graph.Expand{{.*}} -> tensor<?x?x768xf32, #graph.enc<shape = ()[s0, s1, s2] -> (s2, s1, 768)>>
  %6 = graph.Expand(%x, %other) : (!bsc, tensor<3xi64>) -> tensor<f32>
  // The size to which two broadcast is the size itself where they are the same.
  %common = graph.Sizes affine_map<()[s0] -> ((s0 * s0 * 2 + s0 * 2 - 1) floordiv (s0 * 2))> as tensor<1xi64>
  %one = graph.Constant dense<0.0> : tensor<1xf32> as tensor<1xf32>
  %7 = graph.Expand(%one, %common) : (tensor<1xf32>, tensor<1xi64>) -> tensor<f32>
  // CHECK: graph.Concat{{.*}} -> tensor<?xf32, #graph.enc<shape = ()[s0] -> (s0 + 1)>>
  %8 = graph.Concat(%7, %one) {axis = 0 : i64} : (tensor<f32>, tensor<1xf32>) -> tensor<f32>
  // CHECK: graph.Tile{{.*}} -> tensor<?x?x2304xf32, #graph.enc<shape = ()[s0, s1] -> (s0 * 2, s1, 2304)>>
  %5 = graph.Tile(%x, %tiles) : (!bsc, tensor<3xi64>) -> tensor<f32>
  return
}

// CHECK-LABEL: @joined
func.func @joined(%x: !bsc, %y: tensor<?x1x768xf32, #graph.enc<shape = ()[s0] -> (s0, 1, 768)>>, %v: tensor<10xf32>, %w: tensor<?xf32, #graph.enc<shape = ()[s0] -> (s0 * 6)>>) {
  %none = graph.None
  %parts = graph.Constant dense<[7, 0, 3]> : tensor<3xi64> as tensor<3xi64>
  // CHECK: graph.Concat{{.*}} -> tensor<?x?x768xf32, #graph.enc<shape = ()[s0, s1] -> (s0, s1 + 1, 768)>>
  %0 = graph.Concat(%y, %x) {axis = 1 : i64} : (tensor<?x1x768xf32, #graph.enc<shape = ()[s0] -> (s0, 1, 768)>>, !bsc) -> tensor<f32>
  // CHECK: graph.Split{{.*}} -> (tensor<7xf32>, tensor<0xf32>, tensor<3xf32>)
  %1:3 = graph.Split(%v, %parts) : (tensor<10xf32>, tensor<3xi64>) -> (tensor<f32>, tensor<f32>, tensor<f32>)
  // CHECK: graph.Split{{.*}} -> (tensor<4xf32>, tensor<4xf32>, tensor<2xf32>)
  %2:3 = graph.Split(%v, %none) {num_outputs = 3 : i64} : (tensor<10xf32>, none) -> (tensor<f32>, tensor<f32>, tensor<f32>)
  // CHECK: graph.Split{{.*}} -> (tensor<?xf32, #graph.enc<shape = ()[s0] -> (s0 * 3)>>, tensor<?xf32, #graph.enc<shape = ()[s0] -> (s0 * 3)>>)
  %3:2 = graph.Split(%w, %none) {num_outputs = 2 : i64} : (tensor<?xf32, #graph.enc<shape = ()[s0] -> (s0 * 6)>>, none) -> (tensor<f32>, tensor<f32>)
  return
}

// CHECK-LABEL: @padded
func.func @padded(%x: !bs, %y: tensor<4x5xf32>) {
  %none = graph.None
  %pads = graph.Constant dense<[1, -1, 2, 3]> : tensor<4xi64> as tensor<4xi64>
  %last = graph.Constant dense<-1> : tensor<1xi64> as tensor<1xi64>
  %few = graph.Constant dense<[2, 2]> : tensor<2xi64> as tensor<2xi64>
  // CHECK: graph.Pad{{.*}} -> tensor<7x7xf32>
  %0 = graph.Pad(%y, %pads, %none, %none) : (tensor<4x5xf32>, tensor<4xi64>, none, none) -> tensor<f32>
  // CHECK: graph.Pad{{.*}} -> tensor<4x9xf32>
  %1 = graph.Pad(%y, %few, %none, %last) {mode = "reflect"} : (tensor<4x5xf32>, tensor<2xi64>, none, tensor<1xi64>) -> tensor<f32>
  // CHECK: graph.Pad{{.*}} -> tensor<?x?xf32, #graph.enc<shape = ()[s0, s1] -> (s0 + 3, s1 + 2)>>
  %2 = graph.Pad(%x, %pads, %none, %none) : (!bs, tensor<4xi64>, none, none) -> tensor<f32>
  return
}
