// What the shape functions of ops that move data refuse.
// RUN: fathom-opt %s -split-input-file -verify-diagnostics

func.func @reshape(%x: tensor<2x3xf32>) {
  %s = graph.Constant dense<[4, -1]> : tensor<2xi64> as tensor<2xi64>
  // expected-error @below {{[F1008] Reshape: sizes [2, 3] cannot be reshaped to [4, -1]}}
  %0 = graph.Reshape(%x, %s) : (tensor<2x3xf32>, tensor<2xi64>) -> tensor<4x1xf32>
  return
}

// -----

func.func @twounknown(%x: tensor<2x3xf32>) {
  %s = graph.Constant dense<-1> : tensor<2xi64> as tensor<2xi64>
  // expected-error @below {{[F1008] Reshape: more than one size is -1 in [-1, -1]}}
  %0 = graph.Reshape(%x, %s) : (tensor<2x3xf32>, tensor<2xi64>) -> tensor<6x1xf32>
  return
}

// -----

func.func @negative(%x: tensor<2x3xf32>) {
  %s = graph.Constant dense<[-2, -3]> : tensor<2xi64> as tensor<2xi64>
  // expected-error @below {{[F1008] Reshape: negative size in [-2, -3]}}
  %0 = graph.Reshape(%x, %s) : (tensor<2x3xf32>, tensor<2xi64>) -> tensor<2x3xf32>
  return
}

// -----

func.func @copied(%x: tensor<6xf32>) {
  %s = graph.Constant dense<[6, 0]> : tensor<2xi64> as tensor<2xi64>
  // expected-error @below {{[F1008] Reshape: size 1 is copied from an input of sizes [6]}}
  %0 = graph.Reshape(%x, %s) : (tensor<6xf32>, tensor<2xi64>) -> tensor<6x1xf32>
  return
}

// -----

func.func @emptyunknown(%x: tensor<0x3xf32>) {
  %s = graph.Constant dense<[0, -1]> : tensor<2xi64> as tensor<2xi64>
  // expected-error @below {{[F1008] Reshape: sizes [0, 3] cannot be reshaped to [0, -1]}}
  %0 = graph.Reshape(%x, %s) : (tensor<0x3xf32>, tensor<2xi64>) -> tensor<0x3xf32>
  return
}

// -----

func.func @overflow(%x: tensor<2x3xf32>) {
  %s = graph.Constant dense<4611686018427387904> : tensor<3xi64> as tensor<3xi64>
  // expected-error @below {{[F3004] Reshape: too many elements or too complex sizes in}}
  %0 = graph.Reshape(%x, %s) : (tensor<2x3xf32>, tensor<3xi64>) -> tensor<2x3xf32>
  return
}

// -----

func.func @shapetype(%x: tensor<2x3xf32>, %s: tensor<2xf32>) {
  // expected-error @below {{[F1007] Reshape: shape must hold integers, but holds float32}}
  %0 = graph.Reshape(%x, %s) : (tensor<2x3xf32>, tensor<2xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @shaperank(%x: tensor<2x3xf32>) {
  %s = graph.Constant dense<2> : tensor<1x2xi64> as tensor<1x2xi64>
  // expected-error @below {{[F1008] Reshape: shape must have rank 0 or 1, but has sizes [1, 2]}}
  %0 = graph.Reshape(%x, %s) : (tensor<2x3xf32>, tensor<1x2xi64>) -> tensor<2x3xf32>
  return
}

// -----

func.func @flatten(%x: tensor<2x3xf32>) {
  // expected-error @below {{[F1006] Flatten: axis 3 is out of range for a tensor of rank 2}}
  %0 = graph.Flatten(%x) {axis = 3 : i64} : (tensor<2x3xf32>) -> tensor<6x1xf32>
  return
}

// -----

func.func @squeeze(%x: tensor<2x1xf32>) {
  %a = graph.Constant dense<0> : tensor<1xi64> as tensor<1xi64>
  // expected-error @below {{[F1008] Squeeze: axis 0 has size 2, not 1}}
  %0 = graph.Squeeze(%x, %a) : (tensor<2x1xf32>, tensor<1xi64>) -> tensor<1xf32>
  return
}

// -----

func.func @perm(%x: tensor<2x3xf32>) {
  // expected-error @below {{[F1006] Transpose: axis 1 is given twice}}
  %0 = graph.Transpose(%x) {perm = array<i64: 1, 1>} : (tensor<2x3xf32>) -> tensor<3x3xf32>
  return
}

// -----

func.func @permsize(%x: tensor<2x3xf32>) {
  // expected-error @below {{[F1006] Transpose: perm has 1 entries for a tensor of rank 2}}
  %0 = graph.Transpose(%x) {perm = array<i64: 0>} : (tensor<2x3xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @expand(%x: tensor<2x3xf32>) {
  %s = graph.Constant dense<[4, 1]> : tensor<2xi64> as tensor<2xi64>
  // expected-error @below {{[F1008] Expand: sizes 2 and 4 cannot be broadcast together}}
  %0 = graph.Expand(%x, %s) : (tensor<2x3xf32>, tensor<2xi64>) -> tensor<4x3xf32>
  return
}

// -----

func.func @repeats(%x: tensor<2x3xf32>) {
  %r = graph.Constant dense<[4, -1]> : tensor<2xi64> as tensor<2xi64>
  // expected-error @below {{[F1008] Tile: repeats holds the negative size -1}}
  %0 = graph.Tile(%x, %r) : (tensor<2x3xf32>, tensor<2xi64>) -> tensor<8x3xf32>
  return
}

// -----

func.func @concat(%x: tensor<2x3xf32>, %y: tensor<3x4xf32>) {
  // expected-error @below {{[F1008] Concat: the inputs along dimension 1 must have equal sizes, but have 3 and 4}}
  %0 = graph.Concat(%x, %y) {axis = 0 : i64} : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<5x3xf32>
  return
}

// -----

func.func @nothing() {
  // expected-error @below {{[F1003] Concat: has no inputs}}
  %0 = graph.Concat() {axis = 0 : i64} : () -> tensor<5x3xf32>
  return
}

// -----

func.func @noaxis(%x: tensor<2x3xf32>) {
  // expected-error @below {{requires attribute 'axis'}}
  %0 = graph.Concat(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @step(%x: tensor<2x3xf32>) {
  %none = graph.None
  %0 = graph.Constant dense<0> : tensor<1xi64> as tensor<1xi64>
  // expected-error @below {{[F1006] Slice: step 0 along axis 0}}
  %1 = graph.Slice(%x, %0, %0, %0, %0) : (tensor<2x3xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<2x3xf32>
  return
}

// -----

func.func @slicelengths(%x: tensor<2x3xf32>) {
  %none = graph.None
  %0 = graph.Constant dense<0> : tensor<1xi64> as tensor<1xi64>
  %1 = graph.Constant dense<1> : tensor<2xi64> as tensor<2xi64>
  // expected-error @below {{[F1008] Slice: starts, ends, axes and steps have 1, 2, 1 and 1 elements}}
  %2 = graph.Slice(%x, %0, %1, %none, %none) : (tensor<2x3xf32>, tensor<1xi64>, tensor<2xi64>, none, none) -> tensor<2x3xf32>
  return
}

// -----

func.func @sliceaxes(%x: tensor<2xf32>) {
  %none = graph.None
  %0 = graph.Constant dense<0> : tensor<2xi64> as tensor<2xi64>
  // expected-error @below {{[F1006] Slice: axis 1 is out of range for a tensor of rank 1}}
  %1 = graph.Slice(%x, %0, %0, %none, %none) : (tensor<2xf32>, tensor<2xi64>, tensor<2xi64>, none, none) -> tensor<2xf32>
  return
}

// -----

module attributes {graph.symbols = [{name = "seq", min = 1, max = 2147483647}]} {
func.func @sliceend(%x: tensor<512xf32>, %y: tensor<?xf32, #graph.enc<shape = ()[s0] -> (s0)>>) {
  %none = graph.None
  %0 = graph.Constant dense<0> : tensor<1xi64> as tensor<1xi64>
  %s = graph.Shape(%y) : (tensor<?xf32, #graph.enc<shape = ()[s0] -> (s0)>>) -> tensor<1xi64>
  // expected-error @below {{[F3004] Slice: the slice lies inside its tensor only where -seq + 512 is not negative}}
  // expected-note @below {{hint: declare a range for the symbolic dimension}}
  %1 = graph.Slice(%x, %0, %s, %none, %none) : (tensor<512xf32>, tensor<1xi64>, tensor<1xi64>, none, none) -> tensor<?xf32, #graph.enc<shape = ()[s0] -> (s0)>>
  return
}
}

// -----

func.func @split(%x: tensor<5xf32>) {
  %s = graph.Constant dense<[2, 2]> : tensor<2xi64> as tensor<2xi64>
  // expected-error @below {{[F1008] Split: the sum of split and the axis must have equal sizes, but have 4 and 5}}
  %0:2 = graph.Split(%x, %s) : (tensor<5xf32>, tensor<2xi64>) -> (tensor<2xf32>, tensor<2xf32>)
  return
}

// -----

func.func @splitparts(%x: tensor<5xf32>) {
  %none = graph.None
  // expected-error @below {{[F1008] Split: size 5 cannot be split into 4 parts}}
  %0:4 = graph.Split(%x, %none) {num_outputs = 4 : i64} : (tensor<5xf32>, none) -> (tensor<2xf32>, tensor<2xf32>, tensor<1xf32>, tensor<0xf32>)
  return
}

// -----

func.func @pads(%x: tensor<5xf32>) {
  %none = graph.None
  %p = graph.Constant dense<[-3, -3]> : tensor<2xi64> as tensor<2xi64>
  // expected-error @below {{[F1008] Pad: result would have a negative size: [-1]}}
  %0 = graph.Pad(%x, %p, %none, %none) : (tensor<5xf32>, tensor<2xi64>, none, none) -> tensor<1xf32>
  return
}

// -----

func.func @reflect(%x: tensor<5xf32>) {
  %none = graph.None
  %p = graph.Constant dense<[5, 0]> : tensor<2xi64> as tensor<2xi64>
  // expected-error @below {{[F1008] Pad: reflect pads 5 and 0 do not go with size 5}}
  %0 = graph.Pad(%x, %p, %none, %none) {mode = "reflect"} : (tensor<5xf32>, tensor<2xi64>, none, none) -> tensor<10xf32>
  return
}

// -----

func.func @cropped_away(%x: tensor<5xf32>) {
  %none = graph.None
  %p = graph.Constant dense<[-5, 2]> : tensor<2xi64> as tensor<2xi64>
  // expected-error @below {{[F1008] Pad: edge pads -5 and 2 do not go with size 5}}
  %0 = graph.Pad(%x, %p, %none, %none) {mode = "edge"} : (tensor<5xf32>, tensor<2xi64>, none, none) -> tensor<2xf32>
  return
}

// -----

func.func @wrapped_crop(%x: tensor<5xf32>) {
  %none = graph.None
  %p = graph.Constant dense<[-5, 2]> : tensor<2xi64> as tensor<2xi64>
  // expected-error @below {{[F1008] Pad: wrap pads -5 and 2 do not go with size 5}}
  %0 = graph.Pad(%x, %p, %none, %none) {mode = "wrap"} : (tensor<5xf32>, tensor<2xi64>, none, none) -> tensor<6xf32>
  return
}

// -----

func.func @padcount(%x: tensor<5x5xf32>) {
  %none = graph.None
  %p = graph.Constant dense<[5, 0]> : tensor<2xi64> as tensor<2xi64>
  // expected-error @below {{[F1008] Pad: pads has 2 entries for 2 axes}}
  %0 = graph.Pad(%x, %p, %none, %none) : (tensor<5x5xf32>, tensor<2xi64>, none, none) -> tensor<10x5xf32>
  return
}

// -----

func.func @huge() {
  %s = graph.Constant dense<8388609> : tensor<2xi64> as tensor<2xi64>
  // expected-error @below {{[F1008] ConstantOfShape: result is too large: [8388609, 8388609]}}
  %0 = graph.ConstantOfShape(%s) : (tensor<2xi64>) -> tensor<1x1xf32>
  return
}

// -----

func.func @delta() {
  %0 = graph.Constant dense<0> : tensor<i64> as tensor<i64>
  // expected-error @below {{[F1008] Range: delta must be a constant other than 0, but is 0}}
  %1 = graph.Range(%0, %0, %0) : (tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<0xi64>
  return
}

// -----

func.func @gather(%x: tensor<5xf32>, %i: tensor<2xf32>) {
  // expected-error @below {{[F1007] Gather: indices must hold int32 or int64, but holds float32}}
  %0 = graph.Gather(%x, %i) : (tensor<5xf32>, tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @gathernd(%x: tensor<5xf32>, %i: tensor<2x2xi64>) {
  // expected-error @below {{[F1008] GatherND: the last size of indices is 2, but must be in [1, 1]}}
  %0 = graph.GatherND(%x, %i) : (tensor<5xf32>, tensor<2x2xi64>) -> tensor<2xf32>
  return
}

// -----

func.func @scatter(%x: tensor<5xf32>, %i: tensor<2xi64>, %u: tensor<3xf32>) {
  // expected-error @below {{[F1008] ScatterElements: updates and indices must have equal sizes, but have 3 and 2}}
  %0 = graph.ScatterElements(%x, %i, %u) : (tensor<5xf32>, tensor<2xi64>, tensor<3xf32>) -> tensor<5xf32>
  return
}

// -----

func.func @topk(%x: tensor<5xf32>) {
  %k = graph.Constant dense<6> : tensor<1xi64> as tensor<1xi64>
  // expected-error @below {{[F1008] TopK: k is 6 for an axis of size 5}}
  %0:2 = graph.TopK(%x, %k) : (tensor<5xf32>, tensor<1xi64>) -> (tensor<6xf32>, tensor<6xi64>)
  return
}

// -----

func.func @blocksize(%x: tensor<1x6x4x4xf32>) {
  // expected-error @below {{[F1008] DepthToSpace: blocksize 2 squared does not divide 6 channels}}
  %0 = graph.DepthToSpace(%x) {blocksize = 2 : i64} : (tensor<1x6x4x4xf32>) -> tensor<1x1x8x8xf32>
  return
}

// -----

func.func @resize(%x: tensor<4x4xf32>) {
  %none = graph.None
  // expected-error @below {{[F1003] Resize: needs either scales or sizes}}
  %0 = graph.Resize(%x, %none, %none, %none) : (tensor<4x4xf32>, none, none, none) -> tensor<4x4xf32>
  return
}

// -----

func.func @scales(%x: tensor<4x4xf32>, %s: tensor<2xf32>) {
  %none = graph.None
  // expected-error @below {{[F3004] Resize: scales are only known when the model runs}}
  // expected-note @below {{hint: export the model with constant scales}}
  %0 = graph.Resize(%x, %none, %s, %none) : (tensor<4x4xf32>, none, tensor<2xf32>, none) -> tensor<4x4xf32>
  return
}

// -----

func.func @constant() {
  // expected-error @below {{[F1004] Constant: value of type 'tensor<4xf32>' does not fill a tensor of type}}
  %0 = graph.Constant dense<1.0> : tensor<4xf32> as tensor<3x2xf32, #graph.enc<order = [1, 0]>>
  return
}
