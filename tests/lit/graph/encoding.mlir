// The encoding attribute: one spelling per shape, layouts beside it, and what its verifier refuses.
// RUN: fathom-opt %s -split-input-file -verify-diagnostics | FileCheck %s

// CHECK-LABEL: @canonical
// CHECK-SAME: tensor<?x?xf32, #graph.enc<shape = ()[s0, s1] -> (s0 * 2 + 2, s0 * s1)>>
// CHECK-SAME: tensor<?xf32, #graph.enc<shape = ()[s0] -> (s0 floordiv 4 + 1)>>
// CHECK-SAME: tensor<?xf32, #graph.enc<shape = ()[s0] -> (s0 mod 4)>>
func.func private @canonical(tensor<?x?xf32, #graph.enc<shape = ()[s0, s1, s2] -> ((s0 + 1) * 2, s1 * s0)>>,
                             tensor<?xf32, #graph.enc<shape = ()[s0] -> ((s0 floordiv 2 + 2) floordiv 2)>>,
                             tensor<?xf32, #graph.enc<shape = ()[s0] -> (s0 mod 4)>>)

// CHECK-LABEL: @layouts
// CHECK-SAME: tensor<1x64x56x56xf32, #graph.enc<order = [0, 2, 3, 1]>>
// CHECK-SAME: tensor<1x64x56x56xf32, #graph.enc<order = [0, 1, 2, 3, 1], block = 16>>
// CHECK-SAME: tensor<?x64x56x56xf32, #graph.enc<shape = ()[s0] -> (s0, 64, 56, 56), order = [0, 2, 3, 1], halo = [0, 0, 0, 0, 1, 1, 1, 2]>>
func.func private @layouts(tensor<1x64x56x56xf32, #graph.enc<order = [0, 2, 3, 1]>>, tensor<1x64x56x56xf32, #graph.enc<order = [0, 1, 2, 3, 1], block = 16>>,
                           tensor<?x64x56x56xf32, #graph.enc<shape = ()[s0] -> (s0, 64, 56, 56), order = [0, 2, 3, 1], halo = [0, 0, 0, 0, 1, 1, 1, 2]>>)

// Shape functions do not see layouts; ops with layouts verify.
// CHECK-LABEL: @ignored
func.func @ignored(%x: tensor<1x8x4x4xf32, #graph.enc<order = [0, 2, 3, 1]>>, %y: tensor<1x8x4x4xf32>) {
  // CHECK: graph.Add
  %0 = graph.Add(%x, %y) : (tensor<1x8x4x4xf32, #graph.enc<order = [0, 2, 3, 1]>>, tensor<1x8x4x4xf32>) -> tensor<1x8x4x4xf32, #graph.enc<order = [0, 2, 3, 1]>>
  // A constant in a layout holds its elements as they lie in memory.
  // CHECK: graph.Constant
  %1 = graph.Constant dense<1.0> : tensor<1x1x2x2x16xf32> as tensor<1x8x2x2xf32, #graph.enc<order = [0, 1, 2, 3, 1], block = 16>>
  return
}

// -----

// expected-error @below {{an encoding that says nothing must be left out}}
func.func private @empty(tensor<2xf32, #graph.enc<>>)

// -----

// expected-error @below {{order names dimension 2 of 2}}
func.func private @order(tensor<2x2xf32, #graph.enc<order = [0, 2]>>)

// -----

// expected-error @below {{order must name every dimension once}}
func.func private @twice(tensor<2x2xf32, #graph.enc<order = [0, 0]>>)

// -----

// expected-error @below {{order must name every dimension once, the blocked one twice}}
func.func private @blocked(tensor<2x2x2xf32, #graph.enc<order = [0, 0, 1, 1], block = 4>>)

// -----

// expected-error @below {{order is for 1 dimensions, the tensor has 2}}
func.func private @rank(tensor<2x2xf32, #graph.enc<order = [0, 0], block = 4>>)

// -----

// expected-error @below {{block must not be negative, but is -4}}
func.func private @block(tensor<2x2xf32, #graph.enc<order = [0, 1, 0], block = -4>>)

// -----

// expected-error @below {{block needs an order}}
func.func private @blockonly(tensor<2x2xf32, #graph.enc<block = 4>>)

// -----

// expected-error @below {{halo entry -1 is out of range}}
func.func private @negativehalo(tensor<2x2xf32, #graph.enc<halo = [0, 0, -1, 0]>>)

// -----

// expected-error @below {{halo must have 4 entries, but has 2}}
func.func private @halo(tensor<2x2xf32, #graph.enc<halo = [0, 0]>>)

// -----

// expected-error @below {{halo must have a low and a high entry per dimension, but has 3 entries}}
func.func private @oddhalo(tensor<2x2xf32, #graph.enc<halo = [0, 0, 1]>>)

// -----

// expected-error @below {{shape must be given exactly when a size is not static}}
func.func private @static(tensor<2x2xf32, #graph.enc<shape = () -> (2, 2)>>)

// -----

// expected-error @below {{shape must be given exactly when a size is not static}}
func.func private @dynamic(tensor<?x2xf32, #graph.enc<order = [1, 0]>>)

// -----

// expected-error @below {{shape gives 1 sizes, the tensor has 2}}
func.func private @shaperank(tensor<?x2xf32, #graph.enc<shape = ()[s0] -> (s0)>>)

// -----

// expected-error @below {{shape and tensor disagree about size 1}}
func.func private @disagree(tensor<?x2xf32, #graph.enc<shape = ()[s0] -> (s0, 3)>>)

// -----

// expected-error @below {{size 0 is not an expression over symbols that sizes can have}}
func.func private @zero(tensor<?x2xf32, #graph.enc<shape = ()[s0] -> (s0 floordiv 0, 2)>>)

// -----

// expected-error @below {{size 0 is not an expression over symbols that sizes can have}}
func.func private @dims(tensor<?x2xf32, #graph.enc<shape = (d0) -> (d0, 2)>>)

// -----

// expected-error @below {{graph.symbols must hold {name = "...", min = N, max = M} with 0 <= min <= max, not {max = 1 : i64, min = 2 : i64, name = "x"}}}
module attributes {graph.symbols = [{name = "x", min = 2, max = 1}]} {}

// -----

// expected-error @below {{graph.symbols must be a list on a module or a kernel}}
func.func private @symbols() attributes {graph.symbols = 1}

// -----

// CHECK-LABEL: @pieces
// CHECK-SAME: tensor<1x48x7x7xf32, #graph.enc<order = [0, 2, 3, 1], room = [0, 2064, 0, 0]>>
func.func private @pieces(tensor<1x48x7x7xf32, #graph.enc<order = [0, 2, 3, 1], room = [0, 2064, 0, 0]>>)

// -----

// expected-error @+1 {{room must have 2 entries, but has 1}}
func.func private @room_of_another_rank(tensor<2x3xf32, #graph.enc<room = [4]>>)

// -----

// expected-error @+1 {{room entry -1 is negative}}
func.func private @negative_room(tensor<2x3xf32, #graph.enc<room = [0, -1]>>)
