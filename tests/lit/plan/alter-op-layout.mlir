// RUN: fathom-opt --alter-op-layout --target=neoverse-v1 --conv-algorithm=winograd4 --split-input-file %s | FileCheck %s
// RUN: fathom-opt --alter-op-layout --target=neoverse-v1 --conv-algorithm=contract --matmul-algorithm=contract --split-input-file %s | FileCheck --check-prefix=PLAIN %s
// RUN: fathom-opt --alter-op-layout --target=neoverse-v1 --max-weight-growth=400 --split-input-file %s | FileCheck --check-prefix=AUTO %s
// RUN: fathom-opt --alter-op-layout --target=neoverse-v1 --max-weight-growth=10 --split-input-file %s | FileCheck --check-prefix=PLAIN %s
// RUN: fathom-opt --alter-op-layout --target=cortex-a72 --max-weight-growth=400 --fp=fastest --split-input-file %s | FileCheck --check-prefix=CHOSEN %s
// RUN: fathom-opt --alter-op-layout --target=neoverse-v1 --conv-algorithm=strassen --matmul-algorithm=strassen --fp=fastest --split-input-file %s | FileCheck --check-prefix=STRASSEN %s
// example behind decompose-quantized, simplify-inference, canonicalize-ops, name-ops

// The weights are brought into the form of the method by ops over constants, which are folded later.
// CHECK-LABEL: func @windows
// CHECK: %[[W:.*]] = graph.Transpose({{.*}}) {graph.ahead{{.*}}perm = array<i64: 2, 3, 1, 0>}
// CHECK: %[[F:.*]] = graph.Reshape(%[[W]], {{.*}}-> tensor<9x4096xf32>
// CHECK: %[[P:.*]] = graph.MatMul({{.*}}, %[[F]]) {{.*}}-> tensor<36x4096xf32>
// CHECK: %[[U:.*]] = graph.Reshape(%[[P]], {{.*}}-> tensor<36x64x64xf32>
// CHECK: graph.WinogradConv(%arg0, %[[U]], {{.*}}) {graph.name = "y", pads = array<i64: 1, 1, 1, 1>, tile = 4 : i64}
// PLAIN-LABEL: func @windows
// PLAIN: graph.Conv(
// AUTO-LABEL: func @windows
// AUTO: graph.WinogradConv(
func.func @windows(%x: tensor<1x64x56x56xf32>) -> tensor<1x64x56x56xf32> {
  %n = graph.None
  %w = graph.Constant dense<2.0> : tensor<64x64x3x3xf32> as tensor<64x64x3x3xf32>
  %c = graph.Conv(%x, %w, %n) {pads = array<i64: 1, 1, 1, 1>, graph.name = "y"} : (tensor<1x64x56x56xf32>, tensor<64x64x3x3xf32>, none) -> tensor<1x64x56x56xf32>
  return %c : tensor<1x64x56x56xf32>
}

// -----

// Windows that move by two, or whose weights are not constant, are left alone.
// CHECK-LABEL: func @others
// CHECK-NOT: WinogradConv
// PLAIN-LABEL: func @others
// AUTO-LABEL: func @others
// AUTO-NOT: WinogradConv
func.func @others(%x: tensor<1x8x9x9xf32>, %v: tensor<8x8x3x3xf32>) -> (tensor<1x8x4x4xf32>, tensor<1x8x7x7xf32>) {
  %n = graph.None
  %w = graph.Constant dense<2.0> : tensor<8x8x3x3xf32> as tensor<8x8x3x3xf32>
  %0 = graph.Conv(%x, %w, %n) {strides = array<i64: 2, 2>} : (tensor<1x8x9x9xf32>, tensor<8x8x3x3xf32>, none) -> tensor<1x8x4x4xf32>
  %1 = graph.Conv(%x, %v, %n) : (tensor<1x8x9x9xf32>, tensor<8x8x3x3xf32>, none) -> tensor<1x8x7x7xf32>
  return %0, %1 : tensor<1x8x4x4xf32>, tensor<1x8x7x7xf32>
}

// -----

// Groups of few channels are packed by themselves, those of pairs with odd ones' weights swapped; where every channel is one they have a kernel of their own. A forced
// algorithm is noted on all; whether it is possible is seen where the class is chosen.
// CHECK-LABEL: func @groups
// CHECK: graph.WinogradConv({{.*}}group = 16 : i64{{.*}}tensor<36x2x32xf32>
// CHECK: graph.Conv({{.*}}graph.algorithm = "winograd4"
// PLAIN-LABEL: func @groups
// AUTO-LABEL: func @groups
// AUTO: %[[W:.*]] = graph.GatherElements({{.*}}) {axis = 1 : i64, graph.ahead}
// AUTO: graph.Conv(%arg0, %[[W]], {{.*}}graph.algorithm = "grouped_spatial_pack", graph.swapped_pairs, group = 16 : i64
// AUTO: graph.Conv(
// AUTO-NOT: graph.algorithm
func.func @groups(%x: tensor<1x32x20x20xf32>) -> (tensor<1x32x18x18xf32>, tensor<1x32x18x18xf32>) {
  %n = graph.None
  %w = graph.Constant dense<2.0> : tensor<32x2x3x3xf32> as tensor<32x2x3x3xf32>
  %v = graph.Constant dense<2.0> : tensor<32x1x3x3xf32> as tensor<32x1x3x3xf32>
  %0 = graph.Conv(%x, %w, %n) {group = 16 : i64} : (tensor<1x32x20x20xf32>, tensor<32x2x3x3xf32>, none) -> tensor<1x32x18x18xf32>
  %1 = graph.Conv(%x, %v, %n) {group = 32 : i64} : (tensor<1x32x20x20xf32>, tensor<32x1x3x3xf32>, none) -> tensor<1x32x18x18xf32>
  return %0, %1 : tensor<1x32x18x18xf32>, tensor<1x32x18x18xf32>
}

// -----

// Strassen's method halves rows of a known number: the weight's quarters become seven factors. Where all rows are along
// one axis, they may be of different samples, which are not mixed unless that is asked for.
// STRASSEN-LABEL: func @products
// STRASSEN: %[[S:.*]] = graph.Reshape({{.*}}-> tensor<2x384x2x384xf32>
// STRASSEN: %[[T:.*]] = graph.Transpose(%[[S]]) {graph.ahead{{.*}}perm = array<i64: 0, 2, 1, 3>}
// STRASSEN: %[[Q:.*]] = graph.Reshape(%[[T]], {{.*}}-> tensor<4x147456xf32>
// STRASSEN: %[[P:.*]] = graph.MatMul({{.*}}, %[[Q]]) {{.*}}-> tensor<7x147456xf32>
// STRASSEN: %[[F:.*]] = graph.Reshape(%[[P]], {{.*}}-> tensor<7x384x384xf32>
// STRASSEN: graph.Strassen(%arg0, %[[F]], {{.*}}) {axis = 2 : i64
// STRASSEN: graph.Strassen(%arg1, {{.*}}) {axis = 1 : i64
// CHOSEN-LABEL: func @products
// CHOSEN: graph.Strassen(%arg0, {{.*}}) {axis = 2 : i64
// CHOSEN-NOT: graph.Strassen(%arg1
// AUTO-LABEL: func @products
// PLAIN-LABEL: func @products
// PLAIN-NOT: graph.Strassen
func.func @products(%x: tensor<1x128x768xf32>, %y: tensor<128x768xf32>) -> (tensor<1x128x768xf32>, tensor<128x768xf32>) {
  %w = graph.Constant dense<2.0> : tensor<768x768xf32> as tensor<768x768xf32>
  %v = graph.Constant dense<3.0> : tensor<768x768xf32> as tensor<768x768xf32>
  %0 = graph.MatMul(%x, %w) : (tensor<1x128x768xf32>, tensor<768x768xf32>) -> tensor<1x128x768xf32>
  %1 = graph.MatMul(%y, %v) : (tensor<128x768xf32>, tensor<768x768xf32>) -> tensor<128x768xf32>
  return %0, %1 : tensor<1x128x768xf32>, tensor<128x768xf32>
}

// -----

// Windows of one pixel are products of the pixels. An odd depth is left alone.
// STRASSEN-LABEL: func @pixels
// STRASSEN: graph.Strassen({{.*}}) {axis = 1 : i64
// STRASSEN: graph.MatMul(%arg1
func.func @pixels(%x: tensor<1x8x5x5xf32>, %y: tensor<4x9xf32>) -> (tensor<1x6x5x5xf32>, tensor<4x8xf32>) {
  %n = graph.None
  %w = graph.Constant dense<2.0> : tensor<6x8x1x1xf32> as tensor<6x8x1x1xf32>
  %v = graph.Constant dense<3.0> : tensor<9x8xf32> as tensor<9x8xf32>
  %0 = graph.Conv(%x, %w, %n) : (tensor<1x8x5x5xf32>, tensor<6x8x1x1xf32>, none) -> tensor<1x6x5x5xf32>
  %1 = graph.MatMul(%y, %v) : (tensor<4x9xf32>, tensor<9x8xf32>) -> tensor<4x8xf32>
  return %0, %1 : tensor<1x6x5x5xf32>, tensor<4x8xf32>
}
