// What the shape functions of matrix products, convolutions and pooling refuse.
// RUN: fathom-opt %s -split-input-file -verify-diagnostics

func.func @matmul(%x: tensor<2x3xf32>, %y: tensor<4x5xf32>) {
  // expected-error @below {{[F1008] MatMul: the columns of the left and the rows of the right input must have equal sizes, but have 3 and 4}}
  %0 = graph.MatMul(%x, %y) : (tensor<2x3xf32>, tensor<4x5xf32>) -> tensor<2x5xf32>
  return
}

// -----

func.func @scalar(%x: tensor<f32>, %y: tensor<4x5xf32>) {
  // expected-error @below {{[F1008] MatMul: the left input must have at least rank 1, but has sizes []}}
  %0 = graph.MatMul(%x, %y) : (tensor<f32>, tensor<4x5xf32>) -> tensor<5xf32>
  return
}

// -----

func.func @gemm(%x: tensor<2x3x4xf32>, %y: tensor<4x5xf32>) {
  %none = graph.None
  // expected-error @below {{[F1008] Gemm: the left input must have rank 2, but has sizes [2, 3, 4]}}
  %0 = graph.Gemm(%x, %y, %none) : (tensor<2x3x4xf32>, tensor<4x5xf32>, none) -> tensor<2x5xf32>
  return
}

// -----

func.func @bias(%x: tensor<2x3xf32>, %y: tensor<3x5xf32>, %b: tensor<4xf32>) {
  // expected-error @below {{[F1008] Gemm: sizes 5 and 4 cannot be broadcast together}}
  %0 = graph.Gemm(%x, %y, %b) : (tensor<2x3xf32>, tensor<3x5xf32>, tensor<4xf32>) -> tensor<2x5xf32>
  return
}

// -----

func.func @weightrank(%x: tensor<1x3x8x8xf32>, %w: tensor<4x3x3xf32>) {
  %none = graph.None
  // expected-error @below {{[F1008] Conv: weight must have rank 4, but has sizes [4, 3, 3]}}
  %0 = graph.Conv(%x, %w, %none) : (tensor<1x3x8x8xf32>, tensor<4x3x3xf32>, none) -> tensor<1x4x6x6xf32>
  return
}

// -----

func.func @channels(%x: tensor<1x3x8x8xf32>, %w: tensor<4x2x3x3xf32>) {
  %none = graph.None
  // expected-error @below {{[F1008] Conv: the input's channels and the weight's (times group) must have equal sizes, but have 3 and 2}}
  %0 = graph.Conv(%x, %w, %none) : (tensor<1x3x8x8xf32>, tensor<4x2x3x3xf32>, none) -> tensor<1x4x6x6xf32>
  return
}

// -----

func.func @group(%x: tensor<1x6x8x8xf32>, %w: tensor<4x2x3x3xf32>) {
  %none = graph.None
  // expected-error @below {{[F1006] Conv: group 3 does not divide 4 output channels}}
  %0 = graph.Conv(%x, %w, %none) {group = 3 : i64} : (tensor<1x6x8x8xf32>, tensor<4x2x3x3xf32>, none) -> tensor<1x4x6x6xf32>
  return
}

// -----

func.func @nogroup(%x: tensor<1x6x8x8xf32>, %w: tensor<4x2x3x3xf32>) {
  %none = graph.None
  // expected-error @below {{[F1006] Conv: group 0 is out of range}}
  %0 = graph.Conv(%x, %w, %none) {group = 0 : i64} : (tensor<1x6x8x8xf32>, tensor<4x2x3x3xf32>, none) -> tensor<1x4x6x6xf32>
  return
}

// -----

func.func @kernel(%x: tensor<1x3x8x8xf32>, %w: tensor<4x3x3x3xf32>) {
  %none = graph.None
  // expected-error @below {{[F1006] Conv: kernel_shape says 5 where weight has 3}}
  %0 = graph.Conv(%x, %w, %none) {kernel_shape = array<i64: 3, 5>} : (tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>, none) -> tensor<1x4x6x6xf32>
  return
}

// -----

func.func @strides(%x: tensor<1x3x8x8xf32>, %w: tensor<4x3x3x3xf32>) {
  %none = graph.None
  // expected-error @below {{[F1006] Conv: strides holds 0, which is out of range}}
  %0 = graph.Conv(%x, %w, %none) {strides = array<i64: 0, 1>} : (tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>, none) -> tensor<1x4x6x6xf32>
  return
}

// -----

func.func @padcount(%x: tensor<1x3x8x8xf32>, %w: tensor<4x3x3x3xf32>) {
  %none = graph.None
  // expected-error @below {{[F1006] Conv: pads must have 4 entries, but has 2}}
  %0 = graph.Conv(%x, %w, %none) {pads = array<i64: 1, 1>} : (tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>, none) -> tensor<1x4x6x6xf32>
  return
}

// -----

func.func @negativepad(%x: tensor<1x3x8x8xf32>, %w: tensor<4x3x3x3xf32>) {
  %none = graph.None
  // expected-error @below {{[F1006] Conv: pads holds -1, which is out of range}}
  %0 = graph.Conv(%x, %w, %none) {pads = array<i64: 1, 1, 1, -1>} : (tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>, none) -> tensor<1x4x6x6xf32>
  return
}

// -----

func.func @autopad(%x: tensor<1x3x8x8xf32>, %w: tensor<4x3x3x3xf32>) {
  %none = graph.None
  // expected-error @below {{[F1006] Conv: auto_pad is 'SAME', but must be one of NOTSET, SAME_UPPER, SAME_LOWER, VALID}}
  %0 = graph.Conv(%x, %w, %none) {auto_pad = "SAME"} : (tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>, none) -> tensor<1x4x6x6xf32>
  return
}

// -----

func.func @dilation(%x: tensor<1x3x8x8xf32>, %w: tensor<4x3x3x3xf32>) {
  %none = graph.None
  // expected-error @below {{[F1006] Conv: kernel size 3 with dilation 2147483647 is too large}}
  %0 = graph.Conv(%x, %w, %none) {dilations = array<i64: 1, 2147483647>} : (tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>, none) -> tensor<1x4x6x6xf32>
  return
}

// -----

func.func @fit(%x: tensor<1x3x2x8xf32>, %w: tensor<4x3x3x3xf32>) {
  %none = graph.None
  // expected-error @below {{[F1008] Conv: a window of 3 does not fit into 2 padded elements of spatial dimension 0}}
  %0 = graph.Conv(%x, %w, %none) : (tensor<1x3x2x8xf32>, tensor<4x3x3x3xf32>, none) -> tensor<1x4x0x6xf32>
  return
}

// -----

func.func @spatial(%x: tensor<1x3xf32>) {
  // expected-error @below {{[F1008] MaxPool: the input must have at least rank 3, but has sizes [1, 3]}}
  %0 = graph.MaxPool(%x) {kernel_shape = array<i64: 2>} : (tensor<1x3xf32>) -> tensor<1x3xf32>
  return
}

// -----

func.func @fourdimensions(%x: tensor<1x3x4x4x4x4xf32>) {
  // expected-error @below {{[F3004] MaxPool: more than 3 spatial dimensions: [1, 3, 4, 4, 4, 4]}}
  %0 = graph.MaxPool(%x) {kernel_shape = array<i64: 2, 2, 2, 2>} : (tensor<1x3x4x4x4x4xf32>) -> tensor<1x3x3x3x3x3xf32>
  return
}

// -----

func.func @nokernel(%x: tensor<1x3x4xf32>) {
  // expected-error @below {{[F1006] AveragePool: kernel_shape is missing}}
  %0 = graph.AveragePool(%x) : (tensor<1x3x4xf32>) -> tensor<1x3x4xf32>
  return
}

// -----

func.func @symbolicsame(%x: tensor<1x3x?xf32, #graph.enc<shape = ()[s0] -> (1, 3, s0)>>) {
  // expected-error @below {{[F3004] AveragePool: auto_pad needs constant spatial sizes, but the input has [1, 3, s0]}}
  // expected-note @below {{hint: export the model with explicit pads}}
  %0 = graph.AveragePool(%x) {auto_pad = "SAME_UPPER", kernel_shape = array<i64: 3>, strides = array<i64: 2>} : (tensor<1x3x?xf32, #graph.enc<shape = ()[s0] -> (1, 3, s0)>>) -> tensor<1x3x1xf32>
  return
}

// -----

func.func @p(%x: tensor<1x3x4xf32>) {
  // expected-error @below {{[F1006] GlobalLpPool: p must be positive, but is 0}}
  %0 = graph.GlobalLpPool(%x) {p = 0 : i64} : (tensor<1x3x4xf32>) -> tensor<1x3x1xf32>
  return
}

// -----

func.func @negativeoutput(%x: tensor<1x3x2xf32>, %w: tensor<3x2x1xf32>) {
  %none = graph.None
  // expected-error @below {{[F1008] ConvTranspose: result would have a negative size: [1, 2, -2]}}
  %0 = graph.ConvTranspose(%x, %w, %none) {pads = array<i64: 2, 2>} : (tensor<1x3x2xf32>, tensor<3x2x1xf32>, none) -> tensor<1x2x1xf32>
  return
}

// -----

func.func @outputpadding(%x: tensor<1x3x2xf32>, %w: tensor<3x2x1xf32>) {
  %none = graph.None
  // expected-error @below {{[F1006] ConvTranspose: output_padding must have 1 entries, but has 2}}
  %0 = graph.ConvTranspose(%x, %w, %none) {output_padding = array<i64: 1, 1>} : (tensor<1x3x2xf32>, tensor<3x2x1xf32>, none) -> tensor<1x2x2xf32>
  return
}
