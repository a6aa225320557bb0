// What shape functions and verifiers refuse, with the code of each error.
// RUN: fathom-opt %s -split-input-file -verify-diagnostics

func.func @wrongresult(%x: tensor<2x3xf32>) {
  // expected-error @below {{[F7001] Relu: result 0 has type 'tensor<3x2xf32>' where the operands give 'tensor<2x3xf32>'}}
  %0 = graph.Relu(%x) : (tensor<2x3xf32>) -> tensor<3x2xf32>
  return
}

// -----

func.func @wrongcount(%x: tensor<2x3xf32>) {
  %none = graph.None
  // expected-error @below {{[F1006] Split: num_outputs is 2 where 1 results are taken}}
  %0 = graph.Split(%x, %none) {num_outputs = 2 : i64} : (tensor<2x3xf32>, none) -> tensor<2x3xf32>
  return
}

// -----

func.func @resultcount(%x: tensor<2x3x4xf32>, %c: tensor<3xf32>) {
  // expected-error @below {{[F1003] BatchNormalization: gives 3 results, but 1 are taken}}
  %0 = graph.BatchNormalization(%x, %c, %c, %c, %c) {training_mode = 1 : i64} : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3x4xf32>
  return
}

// -----

func.func @elementtype(%x: tensor<2xcomplex<f32>>) {
  // expected-error @below {{operand #0 must be ranked tensor of a supported element type and size}}
  %0 = graph.Neg(%x) : (tensor<2xcomplex<f32>>) -> tensor<2xcomplex<f32>>
  return
}

// -----

func.func @nosymbol(%x: tensor<?xf32>) {
  // expected-error @below {{operand #0 must be ranked tensor of a supported element type and size}}
  %0 = graph.Neg(%x) : (tensor<?xf32>) -> tensor<?xf32>
  return
}

// -----

func.func @toomany(%x: tensor<8388608x8388609xf32>) {
  // expected-error @below {{operand #0 must be ranked tensor of a supported element type and size}}
  %0 = graph.Neg(%x) : (tensor<8388608x8388609xf32>) -> tensor<8388608x8388609xf32>
  return
}

// -----

func.func @resultbytes(%x: tensor<1048576xf64>, %y: tensor<8193x1xf64>) {
  // expected-error @below {{[F1013] Add: result [8193, 1048576] has 68727865344 bytes, the limit is 68719476736}}
  // expected-note @below {{hint: no tensor of a model that can be run is that large}}
  %0 = graph.Add(%x, %y) : (tensor<1048576xf64>, tensor<8193x1xf64>) -> tensor<f64>
  return
}

// -----

func.func @resultsize(%x: tensor<8388608x8388608xf32>, %z: tensor<2x1x1xf32>) {
  // expected-error @below {{[F1008] Add: result is too large: [2, 8388608, 8388608]}}
  %1 = graph.Add(%x, %z) : (tensor<8388608x8388608xf32>, tensor<2x1x1xf32>) -> tensor<f32>
  return
}

// -----

func.func @notranked(%x: tensor<*xf32>) {
  // expected-error @below {{operand #0 must be ranked tensor}}
  %0 = graph.Neg(%x) : (tensor<*xf32>) -> tensor<*xf32>
  return
}

// -----

func.func @missing() {
  %none = graph.None
  // expected-error @below {{operand #0 must be ranked tensor}}
  %0 = graph.Neg(%none) : (none) -> tensor<f32>
  return
}

// -----

func.func @order() {
  // expected-error @below {{uses a value before its definition}}
  %0 = graph.Reshape(%1, %1) : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
  %1 = graph.Reshape(%0, %0) : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
  return
}

// -----

func.func @broadcast(%x: tensor<2x3xf32>, %y: tensor<2xf32>) {
  // expected-error @below {{[F1008] Add: sizes 3 and 2 cannot be broadcast together}}
  %0 = graph.Add(%x, %y) : (tensor<2x3xf32>, tensor<2xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @mixed(%x: tensor<2xf32>, %y: tensor<2xf64>) {
  // expected-error @below {{[F1007] Mul: inputs must have one element type, but have float32 and float64}}
  %0 = graph.Mul(%x, %y) : (tensor<2xf32>, tensor<2xf64>) -> tensor<2xf32>
  return
}

// -----

func.func @kind(%x: tensor<2xi32>) {
  // expected-error @below {{[F1007] Sqrt: the input must hold floats, but holds int32}}
  %0 = graph.Sqrt(%x) : (tensor<2xi32>) -> tensor<2xi32>
  return
}

// -----

func.func @unsignedneg(%x: tensor<2xui8>) {
  // expected-error @below {{[F1007] Neg: the input must hold floats or signed integers, but holds uint8}}
  %0 = graph.Neg(%x) : (tensor<2xui8>) -> tensor<2xui8>
  return
}

// -----

func.func @fmod(%x: tensor<2xf32>) {
  // expected-error @below {{[F1006] Mod: fmod must be 0 or 1, but is 2}}
  %0 = graph.Mod(%x, %x) {fmod = 2 : i64} : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @direction(%x: tensor<2xui8>) {
  // expected-error @below {{[F1006] BitShift: direction is 'UP', but must be one of LEFT, RIGHT}}
  %0 = graph.BitShift(%x, %x) {direction = "UP"} : (tensor<2xui8>, tensor<2xui8>) -> tensor<2xui8>
  return
}

// -----

func.func @slope(%x: tensor<2x3xf32>, %s: tensor<4x2x3xf32>) {
  // expected-error @below {{[F1008] PRelu: slope with sizes [4, 2, 3] cannot be broadcast to [2, 3]}}
  %0 = graph.PRelu(%x, %s) : (tensor<2x3xf32>, tensor<4x2x3xf32>) -> tensor<4x2x3xf32>
  return
}

// -----

func.func @condition(%c: tensor<2xi32>, %x: tensor<2xf32>) {
  // expected-error @below {{[F1007] Where: the condition must hold bools, but holds int32}}
  %0 = graph.Where(%c, %x, %x) : (tensor<2xi32>, tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @castto(%x: tensor<2xf32>) {
  // expected-error @below {{[F3003] Cast: cannot cast to 'i4'}}
  %0 = graph.Cast(%x) {to = i4} : (tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @axis_of_a_number(%x: tensor<f32>) {
  // expected-error @below {{[F1006] Softmax: axis -1 is out of range for a tensor of rank 0}}
  %0 = graph.Softmax(%x) : (tensor<f32>) -> tensor<f32>
  return
}

// -----

func.func @axis(%x: tensor<2x3xf32>) {
  // expected-error @below {{[F1006] Softmax: axis 2 is out of range for a tensor of rank 2}}
  %0 = graph.Softmax(%x) {axis = 2 : i64} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @axes(%x: tensor<2x3xf32>) {
  %a = graph.Constant dense<[0, -2]> : tensor<2xi64> as tensor<2xi64>
  // expected-error @below {{[F1006] ReduceSum: axis -2 is given twice}}
  %0 = graph.ReduceSum(%x, %a) : (tensor<2x3xf32>, tensor<2xi64>) -> tensor<1x1xf32>
  return
}

// -----

func.func @datadependent(%x: tensor<2x3xf32>, %a: tensor<1xi64>) {
  // expected-error @below {{[F3004] ReduceSum: axes decides about sizes but is only known when the model runs}}
  // expected-note @below {{hint: only values computed from constants and from the sizes of tensors are known at compile time}}
  %0 = graph.ReduceSum(%x, %a) : (tensor<2x3xf32>, tensor<1xi64>) -> tensor<1x3xf32>
  return
}

// -----

func.func @scale(%x: tensor<2x3xf32>, %s: tensor<2x1xf32>) {
  %none = graph.None
  // expected-error @below {{[F1008] LayerNormalization: scale with sizes [2, 1] cannot be broadcast to [3]}}
  %0:3 = graph.LayerNormalization(%x, %s, %none) : (tensor<2x3xf32>, tensor<2x1xf32>, none) -> (tensor<2x3xf32>, tensor<2x1xf32>, tensor<2x1xf32>)
  return
}

// -----

func.func @channels(%x: tensor<2x3x4xf32>, %c: tensor<4xf32>) {
  // expected-error @below {{[F1008] InstanceNormalization: the channels and scale must have equal sizes, but have 3 and 4}}
  %0 = graph.InstanceNormalization(%x, %c, %c) : (tensor<2x3x4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<2x3x4xf32>
  return
}

// -----

func.func @groups(%x: tensor<2x3x4xf32>, %c: tensor<3xf32>) {
  // expected-error @below {{[F1006] GroupNormalization: num_groups 2 does not divide 3 channels}}
  %0 = graph.GroupNormalization(%x, %c, %c) {num_groups = 2 : i64} : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3x4xf32>
  return
}

// -----

func.func @otherbits(%x: tensor<2xf32>) {
  // expected-error @below {{the bits of float32 are not those of int64}}
  %0 = graph.BitCast(%x) {to = i64} : (tensor<2xf32>) -> tensor<2xi64>
  return
}
